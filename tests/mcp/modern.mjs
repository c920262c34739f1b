// modern - peers of revision 2026-07-28: no handshake, all in _meta.
import assert from 'node:assert/strict';
import { MODERN, meta } from './peer.mjs';

const { equal, ok, deepEqual } = assert;
const META = 'io.modelcontextprotocol/';

const error = (m, code) => {
	ok(m.error, JSON.stringify(m));
	equal(m.error.code, code);
	return m.error;
};

export async function discover(w) {
	const p = w.peer();
	const { result: r } = await p.modern('server/discover');
	ok(r.supportedVersions.includes(MODERN));
	equal(r.resultType, 'complete');
	equal(r._meta[`${META}serverInfo`].name, 'cadre');
	ok(r.ttlMs >= 0 && r.cacheScope === 'private');
	equal(r.capabilities.resources.subscribe, true);
	equal(await p.end(), 0);
}

export async function envelope(w) {
	const p = w.peer();
	error(await p.ask('tools/list', {}), -32602);
	error(await p.ask('tools/list', { _meta: {} }), -32602);
	error(await p.ask('tools/list'), -32602);
	const version = `${META}protocolVersion`, capabilities = `${META}clientCapabilities`;
	error(await p.ask('tools/list', { _meta: { [version]: MODERN } }), -32602);
	error(await p.ask('tools/list', { _meta: { [version]: 5, [capabilities]: {} } }), -32602);
	for (const method of ['tools/list', 'server/discover', 'no/such', 'initialize']) {
		const e = error(await p.ask(method, { _meta: meta({ [version]: '2099-01-01' }) }), -32022);
		deepEqual(e.data, { supported: [MODERN], requested: '2099-01-01' });
	}
	for (const method of ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe',
		'resources/unsubscribe', 'unknown/method'])
		error(await p.modern(method), -32601);
	equal((await p.modern('tools/list', {}, 'text')).id, 'text');
	await p.end();
}

export async function everything(w) {
	const p = w.peer('bob');
	const complete = async (method, params, cached) => {
		const { result: r } = await p.modern(method, params);
		ok(r, method);
		equal(r.resultType, 'complete');
		equal(r._meta[`${META}serverInfo`].name, 'cadre');
		equal('ttlMs' in r, cached, method);
		return r;
	};
	ok((await complete('tools/list', {}, true)).tools.length);
	await complete('resources/list', {}, true);
	await complete('resources/templates/list', {}, true);
	await complete('resources/read', { uri: 'cadre://team/alpha' }, true);
	await complete('prompts/list', {}, true);
	await complete('prompts/get', { name: 'start-session' }, false);
	await complete('completion/complete', { ref: { type: 'ref/prompt', name: 'start-session' },
		argument: { name: 'agent', value: 'b' } }, false);
	const r = await complete('tools/call', { name: 'task', arguments: { action: 'show', task: '99' } }, false);
	equal(r.isError, true);
	equal(JSON.parse(r.content[0].text).code, 'not_found');
	const uri = 'cadre://task/alpha/9999';
	equal(error(await p.modern('resources/read', { uri }), -32602).data.uri, uri);
	error(await p.modern('tools/call', { name: 'nothing' }), -32602);
	await p.end();
}

export async function pages(w) {
	for (let i = 0; i < 60; i++)
		await w.operator.tool('team', { action: 'create', name: `page-${i}`, max_vms: 0 });
	const p = w.peer();
	const uris = [];
	let cursor, n = 0;
	do {
		const { result: r } = await p.modern('resources/list', cursor ? { cursor } : {});
		uris.push(...r.resources.map((x) => x.uri));
		cursor = r.nextCursor;
		n++;
	} while (cursor);
	equal(n, 2);
	equal(new Set(uris).size, uris.length);
	equal(uris.filter((u) => u.startsWith('cadre://team/page-')).length, 60);
	error(await p.modern('resources/list', { cursor: 'x' }), -32602);
	for (let i = 0; i < 60; i++)
		await w.operator.tool('team', { action: 'destroy', name: `page-${i}` });
	await p.end();
}

export async function logLevel(w) {
	const p = w.peer('bob');
	const call = (more) => p.modern('tools/call', { name: 'task', arguments: { action: 'list' } }, undefined, more);
	await call();
	equal(p.messages.length, 1);
	await call({ [`${META}logLevel`]: 'debug' });
	ok(p.messages.some((m) => m.method === 'notifications/message'));
	const n = p.messages.length;
	await call();
	equal(p.messages.length, n + 1);
	error(await call({ [`${META}logLevel`]: 'loud' }), -32602);
	await p.end();
}

export async function listen(w) {
	const p = w.peer('bob');
	const id = await w.task('to be listened to');
	const uris = ['cadre://board/alpha', `cadre://task/alpha/${id}`];
	const ask = (rid, filter) => p.send({ jsonrpc: '2.0', id: rid, method: 'subscriptions/listen',
		params: { notifications: filter, _meta: meta() } });
	const about = (rid, method) => (m) => m.method === `notifications/${method}` &&
		m.params._meta[`${META}subscriptionId`] === rid;
	ask(42, { resourceSubscriptions: [...uris, 'cadre://team/nowhere', 'what', 'cadre://inbox/alpha/carol'],
		toolsListChanged: true });
	const ack = await p.wait(about(42, 'subscriptions/acknowledged'));
	deepEqual(ack.params.notifications.resourceSubscriptions.sort(), uris);
	ok(!('toolsListChanged' in ack.params.notifications));
	ok(!('resourcesListChanged' in ack.params.notifications));
	ask('s', { resourceSubscriptions: ['cadre://inbox/alpha/bob'] });
	await p.wait(about('s', 'subscriptions/acknowledged'));
	ask('none', {});
	await p.wait(about('none', 'subscriptions/acknowledged'));
	await w.operator.tool('task', { action: 'note', team: 'alpha', task: id, text: 'x' });
	await p.wait((m) => about(42, 'resources/updated')(m) && m.params.uri === uris[1]);
	ok(!p.messages.some(about('s', 'resources/updated')));
	await w.operator.tool('team_message', { team: 'alpha', to: ['bob'], content: 'x' });
	await p.wait(about('s', 'resources/updated'));
	p.note('notifications/cancelled', { requestId: 42, _meta: meta() });
	await p.modern('tools/list');
	const n = p.messages.filter(about(42, 'resources/updated')).length;
	await w.operator.tool('task', { action: 'note', team: 'alpha', task: id, text: 'y' });
	await new Promise((r) => setTimeout(r, 600));
	equal(p.messages.filter(about(42, 'resources/updated')).length, n);
	error(await p.modern('subscriptions/listen', {}), -32602);
	const operator = w.peer();
	operator.send({ jsonrpc: '2.0', id: 7, method: 'subscriptions/listen',
		params: { notifications: { resourcesListChanged: true }, _meta: meta() } });
	const lists = await operator.wait(about(7, 'subscriptions/acknowledged'));
	deepEqual(lists.params.notifications, { resourceSubscriptions: [], resourcesListChanged: true });
	await w.operator.tool('team', { action: 'create', name: 'heard-of' });
	await operator.wait(about(7, 'resources/list_changed'));
	equal(await operator.end(), 0);
	equal(await p.end(), 0); // ends what is open gracefully
	ok(!p.messages.some((m) => m.id === 42 && !m.method));
	const last = p.messages.find((m) => m.id === 's' && m.result);
	equal(last.result._meta[`${META}subscriptionId`], 's');
}

export async function bothEras(w) {
	const p = await w.legacy('bob');
	const legacy = (await p.ask('tools/list')).result;
	const modern = (await p.modern('tools/list')).result;
	equal(legacy.resultType, undefined);
	equal(modern.resultType, 'complete');
	deepEqual(legacy.tools, modern.tools);
	deepEqual((await p.ask('ping')).result, {});
	await p.end();
}
