// tour - calls that all clients have to get answered by a server, over any transport.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2 } from '@modelcontextprotocol/client';
import { MODERN, newChecker, scale } from './peer.mjs';

const { equal, ok, deepEqual, rejects } = assert;

// A transport whose messages are held to the schemas on their way.
export function tapped(transport, version) {
	const checker = newChecker();
	const send = transport.send.bind(transport);
	let inner;
	checker.version = version;
	transport.send = (message, ...more) => {
		checker.sent(message);
		return send(message, ...more);
	};
	Object.defineProperty(transport, 'onmessage', {
		configurable: true,
		get: () => inner && ((message, ...more) => {
			checker.received(message);
			return inner(message, ...more);
		}),
		set: (f) => { inner = f; },
	});
	return transport;
}

// All clients have to get these from a server.  `on` hangs up a handler for a
// notification, `subscribe` asks for updates of a URI.
export async function tour(w, client, on, subscribe) {
	const { tools } = await client.listTools();
	ok(tools.length && tools.length <= 15);
	const call = (name, args, ...more) => client.callTool({ name, arguments: args }, ...more);
	const made = await call('task', { action: 'create', title: 'by a client' });
	const { id } = JSON.parse(made.content[0].text).task;
	equal((await call('task', { action: 'show', task: '9999' })).isError, true);
	await rejects(call('nothing', {}), /no tool/);
	const { resources } = await client.listResources();
	ok(resources.some((r) => r.uri === 'cadre://team/alpha'));
	equal((await client.listResourceTemplates()).resourceTemplates.length, 4);
	const read = await client.readResource({ uri: `cadre://task/alpha/${id}` });
	equal(JSON.parse(read.contents[0].text).task.id, id);
	await rejects(client.readResource({ uri: 'cadre://task/alpha/9999' }));
	equal((await client.listPrompts()).prompts.length, 2);
	const prompt = await client.getPrompt({ name: 'plan-team', arguments: { goal: 'a test' } });
	ok(prompt.messages[0].content.text.includes('a test'));
	const { completion } = await client.complete({ ref: { type: 'ref/resource', uri: 'cadre://inbox/{team}/{agent}' },
		argument: { name: 'agent', value: 'ca' }, context: { arguments: { team: 'alpha' } } });
	deepEqual(completion.values, ['carol']);
	const updates = [];
	let wake;
	const updated = new Promise((r) => { wake = r; });
	on((n) => { updates.push(n.params.uri); wake(); });
	const stop = await subscribe(`cadre://task/alpha/${id}`);
	await w.operator.tool('task', { action: 'note', team: 'alpha', task: id, text: 'told' });
	await Promise.race([updated, new Promise((_, no) => setTimeout(() => no(new Error('not told')), 60000 * scale))]);
	deepEqual([...new Set(updates)], [`cadre://task/alpha/${id}`]);
	await stop();
	await call('inbox', { action: 'receive', lease_seconds: 0, limit: 100 }); // so that the next one waits
	const abort = new AbortController();
	setTimeout(() => abort.abort(), 200);
	await rejects(client.callTool({ name: 'inbox', arguments: { action: 'receive', wait_seconds: 30, keep: true } },
		...(client instanceof Client ? [undefined] : []), { signal: abort.signal }));
	await call('task', { action: 'list' });
}

const me = { name: 'tests', version: '1' };

// A client of version 1, who is bob.  It is returned connected.
export async function tour1(w, transport) {
	const client = new Client(me);
	await client.connect(tapped(transport, '2025-11-25'));
	equal(client.getServerVersion().name, 'cadre');
	ok(client.getInstructions().includes('agent `bob`'));
	await client.ping();
	const logs = [];
	client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => { logs.push(n.params.level); });
	await client.setLoggingLevel('debug');
	await tour(w, client, (f) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, f), async (uri) => {
		await client.subscribeResource({ uri });
		return () => client.unsubscribeResource({ uri });
	});
	ok(logs.includes('debug'));
	return client;
}

export async function tour2Legacy(w, transport) {
	const client = new Client2(me);
	await client.connect(tapped(transport, '2025-11-25'));
	await tour(w, client, (f) => client.setNotificationHandler('notifications/resources/updated', f), async (uri) => {
		await client.subscribeResource({ uri });
		return () => client.unsubscribeResource({ uri });
	});
	await client.close();
}

// `mode` says how the client finds out the revision.
export async function tour2Modern(w, transport, mode) {
	const client = new Client2(me, { versionNegotiation: { mode } });
	await client.connect(tapped(transport, MODERN));
	equal(client.getNegotiatedProtocolVersion?.() ?? MODERN, MODERN);
	await tour(w, client, (f) => client.setNotificationHandler('notifications/resources/updated', f), async (uri) => {
		const s = await client.listen({ resourceSubscriptions: [uri] });
		deepEqual(s.honoredFilter.resourceSubscriptions, [uri]);
		return () => s.close();
	});
	await client.close();
}
