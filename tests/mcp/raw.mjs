// raw - legacy peers, line by line.
import assert from 'node:assert/strict';
import Ajv2020 from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { scale } from './peer.mjs';

const { equal, ok, match, deepEqual } = assert;

const error = (m, code) => {
	ok(m.error, JSON.stringify(m));
	equal(m.error.code, code);
	return m.error;
};

export async function handshake(w) {
	for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
		const p = w.peer();
		const r = await p.start(version);
		equal(r.protocolVersion, version);
		equal(r.serverInfo.name, 'cadre');
		ok(r.instructions.length > 100);
		deepEqual((await p.ask('ping')).result, {});
		ok((await p.ask('tools/list')).result.tools.length);
		equal(await p.end(), 0);
	}
	const p = w.peer();
	equal((await p.start('1999-01-01')).protocolVersion, '2025-11-25');
	error(await p.ask('initialize', {}), -32602);
	await p.end();
}

export async function malformed(w) {
	const p = await w.legacy();
	const refused = async (text, code, id) => {
		const n = p.messages.length;
		p.raw(text);
		const m = await p.wait((x) => p.messages.indexOf(x) >= n);
		error(m, code);
		deepEqual(m.id, id);
	};
	await refused('{"jsonrpc":"2.0","id":1\n', -32700, undefined);
	await refused(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}\n', 'latin1'), -32700, 1);
	// A client that cuts a text in the middle of an emoji, or nests too deep, hears of it all the same.
	await refused('{"params":{"id":3,"a":"\\"id\\":4","b":"id","c":"cut \\ud83d"},"id" : "q\\u00e9" ,"jsonrpc":"2.0"}\n', -32700, 'q\u00e9');
	await refused(`{"jsonrpc":"2.0","id":-6,"params":${'['.repeat(5000)}${']'.repeat(5000)}}\n`, -32700, -6);
	await refused('{"jsonrpc":"2.0","params":{"id":3,"title":"\\ud83d"}}\n', -32700, undefined);
	await refused('{"jsonrpc":"2.0","id":1.5,"title":"\\ud83d"}\n', -32700, undefined);
	await refused('{"id":{"id":3},"title":"\\ud83d"}\n', -32700, undefined);
	await refused('[{"id":3,"title":"\\ud83d"}]\n', -32700, undefined);
	await refused('{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600, undefined);
	await refused('{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n', -32600, undefined);
	await refused('{"jsonrpc":"1.0","id":"x","method":"ping"}\n', -32600, 'x');
	await refused('{"jsonrpc":"2.0","id":7}\n', -32600, 7);
	await refused('{"jsonrpc":"2.0","id":8,"method":"ping","params":[]}\n', -32602, 8);
	await refused('[{"jsonrpc":"2.0","id":9,"method":"ping"}]\n', -32600, undefined);
	await refused('17\n', -32600, undefined);
	await refused(`{"jsonrpc":"2.0","id":10,"method":"${'x'.repeat(9 << 20)}"}\n`, -32600, undefined);
	// Answers and notifications that we do not know are passed over.
	const answers = p.messages.length;
	p.raw('{"jsonrpc":"2.0","id":5,"result":{}}\n{"jsonrpc":"2.0","method":"notifications/what"}\n');
	p.raw('{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}\n');
	p.raw('{"jsonrpc":"2.0","method":"tools/list","params":7}\n'); // without an id
	p.raw('\n \r\n{"jsonrpc":"2.0","id":"\\u00e9\\ud83d\\ude00\\n","method":"ping"}\r\n');
	p.checker.sent({ id: 'é😀\n', method: 'ping' });
	await p.wait((m) => m.id === 'é😀\n');
	equal(p.messages.length, answers + 1);
	deepEqual((await p.ask('ping', {}, -9007199254740991)).id, -9007199254740991);
	deepEqual((await p.ask('ping', {}, '1')).id, '1');
	error(await p.ask('no/such', {}), -32601);
	equal(p.stderr, '');
	await p.end();
}

export async function batches(w) {
	const p = await w.legacy(null, '2025-03-26');
	p.send([{ jsonrpc: '2.0', id: 'a', method: 'ping' }, { jsonrpc: '2.0', method: 'notifications/x' },
		{ jsonrpc: '2.0', id: 'b', method: 'tools/call',
			params: { name: 'team', arguments: { action: 'status', team: 'alpha' } } }, 3]);
	const m = await p.wait((x) => Array.isArray(x));
	deepEqual(m.map((x) => x.id).sort(), ['a', 'b', undefined]);
	p.raw('[]\n');
	error(await p.wait((x) => x.error && !Array.isArray(x)), -32600);
	await p.end();
}

export async function endOfInput(w) {
	const p = w.peer();
	p.raw('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n');
	p.checker.sent({ id: 1, method: 'initialize' });
	const call = (id, args) => {
		const m = { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'inbox', arguments: args } };
		p.checker.sent(m);
		p.raw(JSON.stringify(m) + (id === 4 ? '' : '\n'));
	};
	call(2, { action: 'receive', team: 'alpha', agent: 'carol', wait_seconds: 30 });
	call(4, { action: 'peek', team: 'alpha', agent: 'carol' }); // no newline behind it
	equal(await p.end(), 0);
	deepEqual(p.messages.map((m) => m.id).sort(), [1, 4]);
}

export async function toolList(w) {
	const p = await w.legacy();
	const { result } = await p.ask('tools/list');
	const bytes = Buffer.byteLength(JSON.stringify(result));
	console.log(`     ${result.tools.length} tools, ${Math.ceil(bytes / 4)} tokens (${bytes} bytes)`);
	ok(result.tools.length <= 15, `${result.tools.length} tools`);
	ok(bytes / 4 <= 3000, `${bytes / 4} tokens`);
	const by = Object.fromEntries(result.tools.map((t) => [t.name, t]));
	equal(by.search.annotations.readOnlyHint, true);
	equal(by.team.annotations.destructiveHint, undefined); // true is what clients assume
	equal(by.team_message.annotations.destructiveHint, false);
	for (const t of result.tools) {
		match(t.name, /^[A-Za-z0-9_.-]{1,64}$/);
		ok(t.description.length > 10);
		equal(t.annotations.openWorldHint, false);
		new Ajv2020({ strict: false }).compile(t.inputSchema);
	}
	error(await p.ask('tools/list', { cursor: '' }), -32602);
	error(await p.ask('tools/list', { cursor: 'x' }), -32602);
	await p.end();
	const all = await w.legacy(null, '2025-11-25', ['--toolsets', 'core,workspace', '--output-schemas']);
	const tools = (await all.ask('tools/list')).result.tools;
	ok(tools.some((t) => t.name === 'exec'));
	const ajv = new Ajv2020({ strict: false });
	formats(ajv);
	const check = ajv.compile(tools.find((t) => t.name === 'team').outputSchema);
	for (const args of [{ action: 'status', team: 'alpha' }, { action: 'status', team: 'none' }, {}]) {
		const r = await all.tool('team', args);
		ok(check(r.structuredContent), ajv.errorsText(check.errors));
	}
	await all.end();
	const none = w.peer(null, ['--toolsets', 'nonsense']);
	equal(await none.exited, 2);
	match(none.stderr, /nonsense/);
}

export async function toolCalls(w) {
	const p = await w.legacy('bob');
	error(await p.ask('tools/call', { name: 'nothing' }), -32602);
	error(await p.ask('tools/call', { name: 'exec' }), -32602); // a tool that is not in the default set
	error(await p.ask('tools/call', {}), -32602);
	error(await p.ask('tools/call', { name: 'task', arguments: [] }), -32602);
	const fault = async (name, args, code, where) => {
		const r = await p.tool(name, args);
		equal(r.isError, true, JSON.stringify(r));
		equal(r.said.code, code);
		equal(r.said.where, where);
		ok(r.said.hint);
		equal(r.structuredContent, undefined); // only for a client that asks
	};
	await fault('task', undefined, 'invalid', '/action');
	await fault('task', { action: 'clam' }, 'invalid', '/action');
	await fault('task', { action: 'create' }, 'invalid', '/title');
	await fault('task', { action: 'create', title: 'a\u0000b' }, 'invalid', '/title');
	await fault('task', { action: 'create', title: 'x', tilte: 'y' }, 'invalid', '/tilte');
	await fault('task', { action: 'show', task: '999' }, 'not_found', '/task');
	await fault('team_message', { to: ['nobody'], content: 'x' }, 'not_found', '/to');
	const key = `key-${Date.now()}`;
	const args = { action: 'create', title: 'write "quotes" and ünïcode', idempotency_key: key };
	const made = await p.tool('task', args);
	equal((await p.tool('task', { action: 'show', task: made.said.task.id })).said.task.title, args.title);
	const again = await p.tool('task', args);
	equal(again.said.replayed, true);
	equal(again.said.task.id, made.said.task.id);
	const task = made.said.task.id;
	const claim = await p.tool('task', { action: 'claim', task });
	const epoch = claim.said.epoch;
	ok(epoch > 0);
	const done = await p.tool('task', { action: 'complete', task, epoch, result: 'ok' });
	equal(done.said.task.status, 'completed');
	await p.end();
}

export async function resources(w) {
	const p = await w.legacy('bob');
	const { resources: list } = (await p.ask('resources/list')).result;
	deepEqual(list.map((r) => r.uri).sort(), ['cadre://board/alpha', 'cadre://inbox/alpha/bob', 'cadre://team/alpha']);
	const templates = (await p.ask('resources/templates/list')).result.resourceTemplates;
	deepEqual(templates.map((t) => t.uriTemplate).sort(), ['cadre://board/{team}',
		'cadre://inbox/{team}/{agent}', 'cadre://task/{team}/{id}', 'cadre://team/{name}']);
	const id = await w.task('to be read');
	const read = async (uri) => {
		const { contents } = (await p.ask('resources/read', { uri })).result;
		equal(contents[0].uri, uri);
		equal(contents[0].mimeType, 'application/json');
		return JSON.parse(contents[0].text);
	};
	equal((await read('cadre://team/alpha')).name, 'alpha');
	equal((await read(`cadre://task/alpha/${id}`)).task.title, 'to be read');
	ok((await read('cadre://board/alpha')).tasks.length);
	ok(Array.isArray((await read('cadre://inbox/alpha/bob')).messages));
	for (const uri of ['cadre://team/nowhere', 'cadre://task/alpha/9999', 'cadre://team/a/b', 'cadre://team/',
		'file:///etc/passwd', 'cadre://team/../alpha', ''])
		equal(error(await p.ask('resources/read', { uri }), -32002).data.uri, uri);
	error(await p.ask('resources/read', {}), -32602);
	error(await p.ask('resources/list', { cursor: 'bm9uc2Vuc2U=' }), -32602);
	error(await p.ask('resources/list', { cursor: 5 }), -32602);
	await p.end();
}

export async function prompts(w) {
	const p = await w.legacy('bob');
	const list = (await p.ask('prompts/list')).result.prompts;
	deepEqual(list.map((x) => x.name), ['start-session', 'plan-team']);
	const start = (await p.ask('prompts/get', { name: 'start-session' })).result;
	match(start.messages[0].content.text, /agent `bob` of team `alpha`/);
	const plan = (await p.ask('prompts/get', { name: 'plan-team', arguments: { goal: 'fly "high"' } })).result;
	match(plan.messages[0].content.text, /fly "high"/);
	error(await p.ask('prompts/get', { name: 'plan-team' }), -32602);
	error(await p.ask('prompts/get', { name: 'plan-team', arguments: { goal: 'x', aim: 'y' } }), -32602);
	error(await p.ask('prompts/get', { name: 'what' }), -32602);
	error(await p.ask('prompts/get', {}), -32602);
	error(await p.ask('prompts/get', { name: 'start-session', arguments: ['bob'] }), -32602);
	await p.end();
}

export async function completion(w) {
	const p = await w.legacy();
	const id = await w.task('to be completed');
	const values = async (ref, name, value, args) => (await p.ask('completion/complete',
		{ ref, argument: { name, value }, context: args && { arguments: args } })).result.completion;
	const prompt = { type: 'ref/prompt', name: 'start-session' };
	const inbox = { type: 'ref/resource', uri: 'cadre://inbox/{team}/{agent}' };
	const task = { type: 'ref/resource', uri: 'cadre://task/{team}/{id}' };
	deepEqual((await values(prompt, 'team', 'al')).values, ['alpha']);
	deepEqual((await values(prompt, 'agent', 'b', { team: 'alpha' })).values, ['bob']);
	deepEqual((await values(inbox, 'agent', 'ca', { team: 'alpha' })).values, ['carol']);
	deepEqual((await values(inbox, 'agent', '', { team: 'none' })), { values: [], total: 0, hasMore: false });
	ok((await values(task, 'id', id, { team: 'alpha' })).values.includes(id));
	deepEqual((await values({ type: 'ref/prompt', name: 'plan-team' }, 'goal', 'x')).values, []);
	const bad = (params) => p.ask('completion/complete', params).then((m) => error(m, -32602));
	await bad({ ref: prompt, argument: { name: 'what', value: '' } });
	await bad({ ref: { type: 'ref/prompt', name: 'none' }, argument: { name: 'team', value: '' } });
	await bad({ ref: { type: 'ref/resource', uri: 'x:{y}' }, argument: { name: 'team', value: '' } });
	await bad({ ref: prompt, argument: { name: 'team' } });
	await bad({});
	await p.end();
}

export async function logging(w) {
	const p = await w.legacy('bob');
	await p.tool('task', { action: 'list' });
	equal(p.messages.filter((m) => m.method === 'notifications/message').length, 0);
	error(await p.ask('logging/setLevel', { level: 'loud' }), -32602);
	deepEqual((await p.ask('logging/setLevel', { level: 'debug' })).result, {});
	await p.tool('task', { action: 'list' });
	ok(p.messages.some((m) => m.method === 'notifications/message' && m.params.level === 'debug'));
	await p.end();
}

export async function subscriptions(w) {
	const p = await w.legacy('bob');
	const id = await w.task('to be watched');
	const updated = (uri) => (m) => m.method === 'notifications/resources/updated' && m.params.uri === uri;
	for (const uri of ['cadre://inbox/alpha/bob', 'cadre://board/alpha', `cadre://task/alpha/${id}`])
		deepEqual((await p.ask('resources/subscribe', { uri })).result, {});
	equal(error(await p.ask('resources/subscribe', { uri: 'cadre://team/nowhere' }), -32002).data.uri, 'cadre://team/nowhere');
	error(await p.ask('resources/subscribe', { uri: 'what' }), -32002);
	for (const uri of ['cadre://inbox/alpha/erin', 'cadre://task/alpha/9999', 'cadre://inbox/alpha/nobody'])
		deepEqual(error(await p.ask('resources/subscribe', { uri }), -32002), // another's, or none
			error(await p.ask('resources/read', { uri }), -32002));
	await w.operator.tool('team_message', { team: 'alpha', to: ['erin'], content: 'not for bob' });
	await w.operator.tool('team_message', { team: 'alpha', to: ['bob'], content: 'hello' });
	await p.wait(updated('cadre://inbox/alpha/bob'));
	ok(!p.messages.some(updated('cadre://board/alpha')));
	await w.operator.tool('task', { action: 'note', team: 'alpha', task: id, text: 'seen' });
	await p.wait(updated(`cadre://task/alpha/${id}`));
	await p.wait(updated('cadre://board/alpha'));
	deepEqual((await p.ask('resources/unsubscribe', { uri: 'cadre://inbox/alpha/bob' })).result, {});
	const before = p.messages.filter(updated('cadre://inbox/alpha/bob')).length;
	await w.operator.tool('team_message', { team: 'alpha', to: ['bob'], content: 'again' });
	await w.operator.tool('task', { action: 'note', team: 'alpha', task: id, text: 'seen again' });
	await new Promise((r) => setTimeout(r, 600));
	equal(p.messages.filter(updated('cadre://inbox/alpha/bob')).length, before);
	ok(!p.messages.some(updated('cadre://inbox/alpha/erin')));
	equal(await p.end(), 0);
}

export async function listChanges(w) {
	const p = await w.legacy(), bob = await w.legacy('bob'), deaf = await w.legacy();
	const changes = (peer) => peer.messages.filter((m) => m.method === 'notifications/resources/list_changed').length;
	const list = async (peer) => (await peer.ask('resources/list')).result.resources.map((r) => r.uri);
	const change = async (args) => {
		const n = changes(p);
		await w.operator.tool('team', args);
		await p.wait(() => changes(p) > n);
	};
	ok(!(await list(p)).includes('cadre://team/passing'));
	await list(bob); // a caller who sees one team and no other
	await change({ action: 'create', name: 'passing' });
	ok((await list(p)).includes('cadre://team/passing'));
	equal(changes(bob), 0);
	await w.task('a board is not the list');
	w.cadre('gc', '--keep-days', '0', '--yes'); // updates that were not read are gone
	await change({ action: 'destroy', team: 'passing' });
	ok(!(await list(p)).includes('cadre://team/passing'));
	equal(changes(p), 2);
	equal(changes(deaf), 0); // never had a list that could be wrong
	for (const one of [p, bob, deaf]) equal(await one.end(), 0);
}

export async function waitsAndCancel(w) {
	const p = await w.legacy('carol');
	p.send({ jsonrpc: '2.0', id: 'w', method: 'tools/call', params: { name: 'inbox',
		arguments: { action: 'receive', wait_seconds: 30 } } });
	deepEqual((await p.ask('ping')).result, {}); // goes on meanwhile
	await w.operator.tool('team_message', { team: 'alpha', to: ['carol'], content: 'wake up' });
	const got = await p.wait((m) => m.id === 'w');
	equal(JSON.parse(got.result.content[0].text).messages[0].content, 'wake up');
	p.send({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name: 'inbox',
		arguments: { action: 'receive', wait_seconds: 30 } } });
	for (const requestId of ['nothing', 77, null, 'x'])
		p.note('notifications/cancelled', { requestId });
	await p.ask('ping'); // behind which they are read
	await w.operator.tool('team_message', { team: 'alpha', to: ['carol'], content: 'still there' });
	const next = await p.tool('inbox', { action: 'receive' });
	equal(next.said.messages[0].content, 'still there');
	ok(!p.messages.some((m) => m.id === 'x'));
	await p.end();
}

// Clients on the first SDK cancel each request of a turn when the turn ends, though they
// have its answer: what it gave stays theirs.
export async function cancelsBehindAnswers(w) {
	const p = await w.legacy('carol');
	const cancelled = async (name, args) => {
		const requestId = p.next, { said } = await p.tool(name, args);
		await new Promise((done) => setTimeout(done, 100 * scale)); // a turn goes on
		p.note('notifications/cancelled', { requestId, reason: 'AbortError: The operation was aborted.' });
		await p.ask('ping');
		return said;
	};
	await w.operator.tool('team_message', { team: 'alpha', to: ['carol'], content: 'read once' });
	await w.operator.tool('task', { action: 'create', team: 'alpha', title: 'for a client that cancels' });
	const mail = await cancelled('inbox', { action: 'receive' });
	equal(mail.messages[0].content, 'read once');
	const { task, epoch } = await cancelled('task', { action: 'claim' });
	equal((await p.tool('task', { action: 'note', text: 'goes on', epoch })).said.task.id, task.id);
	deepEqual((await p.tool('inbox', { action: 'receive' })).said.messages, []);
	await p.tool('task', { action: 'release', task: task.id, epoch });
	await p.end();
}

export async function slowProgress(w) {
	const p = await w.legacy('lead');
	const m = { jsonrpc: '2.0', id: 'w', method: 'tools/call', params: { name: 'inbox',
		arguments: { action: 'receive', wait_seconds: 11, keep: true }, _meta: { progressToken: 'tok' } } };
	p.send(m);
	await p.wait((x) => x.id === 'w');
	const told = p.messages.filter((x) => x.method === 'notifications/progress').map((x) => x.params);
	equal(told.length, 2);
	ok(told[0].progress < told[1].progress && told[1].progress < told[1].total);
	ok(told.every((x) => x.progressToken === 'tok' && x.total === 11));
	// A wait of a client that sees it go on is not cut.
	p.send({ ...m, id: 'long', params: { ...m.params, arguments: { ...m.params.arguments, wait_seconds: 300 },
		_meta: { progressToken: 'long' } } });
	equal((await p.wait((x) => x.params?.progressToken === 'long')).params.total, 300);
	await p.end();
}

export async function waitIsCut(w) {
	const p = await w.legacy('lead');
	await p.ask('logging/setLevel', { level: 'info' });
	p.send({ jsonrpc: '2.0', id: 'w', method: 'tools/call', params: { name: 'inbox',
		arguments: { action: 'receive', wait_seconds: 300 } } });
	const m = await p.wait((x) => x.method === 'notifications/message');
	match(m.params.data, /cut to 50/);
	equal(await p.end(), 0);
}

export async function pipelined(w) {
	const p = await w.legacy('bob');
	const ids = Array.from({ length: 500 }, (_, i) => `p${i}`);
	const all = Promise.all(ids.map((id) => p.wait((m) => m.id === id)));
	for (const id of ids)
		p.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'task',
			arguments: id.endsWith('0') ? { action: 'note', task: '001', text: id } : { action: 'list' } } });
	for (const m of await all) ok(m.result.content, JSON.stringify(m));
	await p.end();
}

export async function slowKeep(w) {
	const task = await w.task('to be kept');
	const p = await w.legacy('dave');
	const claim = await p.tool('task', { action: 'claim', task, lease_seconds: 10 * scale });
	ok(claim.said.epoch);
	const stands = async () => (await w.operator.tool('task', { action: 'show', team: 'alpha', task }))
		.said.task;
	await new Promise((r) => setTimeout(r, 12000 * scale));
	equal((await stands()).owner, 'dave'); // as long as the process lives
	await p.end();
	await new Promise((r) => setTimeout(r, 10500 * scale));
	const after = await stands();
	ok(after.owner !== 'dave' || Date.parse(after.lease_until) < Date.now());
}
