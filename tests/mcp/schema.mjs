// schema - the official schema files, as the conformance package carries them,
// and what a server may say under each.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

const require = createRequire(import.meta.url);

// Where the object literal that begins at `from` ends.
function literal(source, from) {
	let depth = 0, quote = null;
	for (let i = from; i < source.length; i++) {
		const c = source[i];
		if (quote) {
			if (c === '\\') i++;
			else if (c === quote) quote = null;
		} else if ('`"\''.includes(c)) quote = c;
		else if (c === '{') depth++;
		else if (c === '}' && --depth === 0) return source.slice(from, i + 1);
	}
	throw new Error('no end of the schema');
}

// {"2025-11-25": schema, ...}: the package holds them as constants in its bundle
// and a table {"2025-03-26":A,...} that names them.
function load() {
	const root = require.resolve('@modelcontextprotocol/conformance/package.json')
		.replace(/package\.json$/, '');
	const source = fs.readFileSync(`${root}dist/index.js`, 'utf8');
	const table = source.match(/=\{"2025-03-26":(\w+),"2025-06-18":(\w+),"2025-11-25":(\w+),\[\w+\]:(\w+)\}/);
	const names = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];
	const out = {};
	names.forEach((version, i) => {
		const at = source.search(new RegExp(`[ ,;]${table[i + 1]}=\\{\\$schema:`));
		const text = literal(source, source.indexOf('{', at));
		out[version] = (0, eval)(`(${text})`); // a literal of a pinned package
	});
	return out;
}

const schemas = load();

function compile(version) {
	const schema = schemas[version];
	const modern = schema.$schema.includes('2020-12');
	const ajv = new (modern ? Ajv2020 : Ajv)({ strict: false, allErrors: true });
	formats(ajv);
	for (const f of ['byte', 'uri-template']) ajv.addFormat(f, true);
	ajv.addSchema(schema, 'mcp');
	const defs = modern ? '$defs' : 'definitions';
	return {
		has: (name) => name in schema[defs],
		check(name, value) {
			const validate = ajv.getSchema(`mcp#/${defs}/${name}`);
			if (!validate) throw new Error(`${version} has no ${name}`);
			return validate(value) ? null : ajv.errorsText(validate.errors);
		},
	};
}

const compiled = {};
const rules = (version) => {
	const key = version === '2024-11-05' ? '2025-03-26' : version;
	return (compiled[key] ??= compile(key));
};

const results = {
	'initialize': 'InitializeResult',
	'ping': 'EmptyResult',
	'server/discover': 'DiscoverResult',
	'tools/list': 'ListToolsResult',
	'tools/call': 'CallToolResult',
	'resources/list': 'ListResourcesResult',
	'resources/templates/list': 'ListResourceTemplatesResult',
	'resources/read': 'ReadResourceResult',
	'resources/subscribe': 'EmptyResult',
	'resources/unsubscribe': 'EmptyResult',
	'prompts/list': 'ListPromptsResult',
	'prompts/get': 'GetPromptResult',
	'completion/complete': 'CompleteResult',
	'logging/setLevel': 'EmptyResult',
	'subscriptions/listen': 'SubscriptionsListenResult',
};

const notifications = {
	'notifications/progress': 'ProgressNotification',
	'notifications/message': 'LoggingMessageNotification',
	'notifications/resources/updated': 'ResourceUpdatedNotification',
	'notifications/resources/list_changed': 'ResourceListChangedNotification',
	'notifications/subscriptions/acknowledged': 'SubscriptionsAcknowledgedNotification',
};

const errors = { '-32022': 'UnsupportedProtocolVersionError', '-32602': 'InvalidParamsError',
	'-32601': 'MethodNotFoundError' };

// The fault of a message from the server, or null.  `method` is that of
// the request it answers.
export function fault(version, message, method) {
	const r = rules(version);
	if (message.method) {
		if ('id' in message) return 'a request from the server';
		const name = notifications[message.method];
		return name ? r.check(name, message) : `no notification ${message.method}`;
	}
	if (message.error) {
		const whole = r.has('JSONRPCErrorResponse') ? 'JSONRPCErrorResponse' : 'JSONRPCError';
		// The older files still want an id that could not be read.
		if (!('id' in message) && whole === 'JSONRPCError') return null;
		const name = errors[message.error.code];
		return r.check(whole, message) ??
			(name && r.has(name) && version === '2026-07-28' ? errorFault(r, name, message) : null);
	}
	const whole = r.has('JSONRPCResultResponse') ? 'JSONRPCResultResponse' : 'JSONRPCResponse';
	return r.check(whole, message) ?? (results[method] ? r.check(results[method], message.result)
		: `an answer to ${method}`);
}

// Some of these describe the whole message, some its error member.
function errorFault(r, name, message) {
	return r.check(name, message) && r.check(name, message.error);
}
