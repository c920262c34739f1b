// http - the official TypeScript clients over Streamable HTTP, and what happens to their sessions
// when the host is killed.  Needs a host.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { MODERN, meta, scale } from './peer.mjs';
import { tour1, tour2Legacy, tour2Modern } from './tour.mjs';

const { equal, ok, deepEqual, rejects } = assert;
const me = { name: 'tests', version: '1' };
const FOLLOWERS = process.env.FULL ? 200 : 16;

const url = (w, query = '') => new URL(`${readFileSync(`${w.home}/state/endpoint`, 'utf8').trim()}/mcp${query}`);
const headers = (w, agent) => ({ authorization: `Bearer ${w.tokens[agent]}` });
const options = (w, agent) => ({ requestInit: { headers: headers(w, agent) } });

async function until(is, why) {
	for (let i = 0; i < 100 * scale; i++) {
		if (await is()) return;
		await new Promise((done) => setTimeout(done, 50));
	}
	throw new Error(typeof why === 'string' ? why : why());
}

const rest = (ms) => new Promise((done) => setTimeout(done, ms * scale));

// A request by hand.
async function post(w, message, more = {}, query) {
	const r = await fetch(url(w, query), { method: 'POST', body: typeof message === 'string' ? message : JSON.stringify(message),
		headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers(w, 'bob'), ...more } });
	const text = await r.text();
	return { status: r.status, headers: r.headers, text, json: () => JSON.parse(text) };
}

const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize',
	params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: me } };

export async function httpVersion1(w) {
	const client = await tour1(w, new StreamableHTTPClientTransport(url(w), options(w, 'bob')));
	await client.transport.terminateSession();
	await client.close();
}

export const httpVersion2Legacy = (w) => tour2Legacy(w, new Http2(url(w), options(w, 'bob')));
export const httpVersion2Modern = (w) => tour2Modern(w, new Http2(url(w), options(w, 'bob')), { pin: MODERN });

// The same toolsets as over stdio, by a query or a header.
export async function httpToolsets(w) {
	const names = async (more, query) => {
		const r = await post(w, { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta() } },
			{ 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/list', ...more }, query);
		return r.status === 200 ? r.json().result.tools.map((t) => t.name) : r.status;
	};
	const core = await names({});
	ok(core.includes('task') && !core.includes('exec'));
	ok((await names({}, '?toolsets=core,workspace')).includes('exec'));
	ok((await names({ 'cadre-toolsets': 'all' })).includes('exec'));
	equal(await names({}, '?toolsets=nothing'), 400);
}

// A message that is of no session, and none of a client without, changes nothing.
export async function httpRefusals(w) {
	const modern = { 'mcp-protocol-version': MODERN };
	const ping = { jsonrpc: '2.0', id: 7, method: 'ping' };
	equal((await post(w, '{"jsonrpc":')).status, 400);
	equal((await post(w, '{"jsonrpc":')).json().error.code, -32700);
	equal((await post(w, initialize, { authorization: 'Bearer nothing' })).status, 401);
	equal((await post(w, initialize, { 'content-type': 'text/plain' })).status, 415);
	equal((await post(w, initialize, { origin: 'http://evil.example' })).status, 403);
	equal((await post(w, ping, { 'mcp-protocol-version': '2025-11-25' })).status, 400);
	equal((await post(w, ping, { 'mcp-session-id': 'no such' })).status, 404);
	equal((await post(w, ping, { 'mcp-protocol-version': '1999-01-01' })).status, 400);
	equal((await post(w, { ...ping, params: { _meta: meta() } }, { ...modern, 'mcp-method': 'ping' })).status, 404);
	const list = { jsonrpc: '2.0', id: 'x', method: 'tools/list', params: { _meta: meta() } };
	for (const wrong of [{}, { 'mcp-method': 'Tools/List' }, { 'mcp-method': 'tools/call' }]) {
		const r = await post(w, list, { ...modern, ...wrong });
		deepEqual([r.status, r.json().error.code, r.json().id], [400, -32020, 'x']);
	}
	const method = (method, more) => fetch(url(w), { method, headers: { ...headers(w, 'bob'), ...more } });
	equal((await method('GET', modern)).status, 405);
	equal((await method('DELETE', {})).status, 405);
	equal((await method('PUT', {})).status, 405);
	equal((await method('GET', { 'mcp-session-id': 'no such' })).status, 404);
	// A session is for the token that began it.
	const begun = await post(w, initialize);
	const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') };
	ok(/^[0-9a-f]{64}$/.test(session['mcp-session-id']));
	equal((await post(w, ping, { ...session, ...headers(w, 'carol') })).status, 404);
	equal((await post(w, ping, session)).status, 200);
	equal((await post(w, { jsonrpc: '2.0', method: 'notifications/initialized' }, session)).status, 202);
	equal((await method('DELETE', session)).status, 204);
	equal((await post(w, ping, session)).status, 404);
}

// A message that a client received over a connection that was lost comes again.
export async function httpLostAnswer(w) {
	const begun = await post(w, initialize, headers(w, 'erin'));
	const session = { ...headers(w, 'erin'), 'mcp-session-id': begun.headers.get('mcp-session-id') };
	const call = (args) => ({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'inbox', arguments: args } });
	await post(w, call({ action: 'receive', lease_seconds: 0, limit: 100 }), session); // so that the next one waits
	await rest(1500); // the token has to be looked at again
	const abort = new AbortController();
	const waits = fetch(url(w), { method: 'POST', signal: abort.signal, body: JSON.stringify(call({ action: 'receive', wait_seconds: 20 })),
		headers: { 'content-type': 'application/json', ...session } });
	await rest(300);
	abort.abort();
	await rejects(waits);
	await rest(200);
	await w.operator.tool('team_message', { team: 'alpha', to: ['erin'], content: 'not to be lost' });
	await until(async () => (await post(w, call({ action: 'receive' }), session)).text.includes('not to be lost'), 'the message is lost');
}

// A client of today cancels a call by leaving; one whose session ends has no calls any more.
export async function httpLeaving(w) {
	const call = (args, more) => fetch(url(w), { method: 'POST', signal: more.signal,
		body: JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'inbox', arguments: args, ...more.params } }),
		headers: { 'content-type': 'application/json', ...headers(w, 'erin'), ...more.headers } });
	const modern = { params: { _meta: meta() }, headers: { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': 'inbox' } };
	const said = async (r) => JSON.parse((await r.json()).result.content[0].text);
	await call({ action: 'receive', lease_seconds: 0, limit: 100 }, modern);
	await rest(1500);
	const abort = new AbortController();
	const waits = call({ action: 'receive', wait_seconds: 20 }, { ...modern, signal: abort.signal });
	await rest(300);
	abort.abort();
	await rejects(waits);
	const begun = await post(w, initialize, headers(w, 'erin'));
	const session = { headers: { 'mcp-session-id': begun.headers.get('mcp-session-id') } };
	const ended = call({ action: 'receive', wait_seconds: 20 }, session);
	await rest(300);
	equal((await fetch(url(w), { method: 'DELETE', headers: { ...headers(w, 'erin'), ...session.headers } })).status, 204);
	equal(await (await ended).text(), '');
	await w.operator.tool('team_message', { team: 'alpha', to: ['erin'], content: 'for nobody who left' });
	await rest(300);
	const { events } = (await w.operator.tool('events', { team: 'alpha', kind: 'message', limit: 1 })).said;
	equal(events[0].event, 'message.sent', 'a call fetches for a client that left');
	const got = await said(await call({ action: 'receive' }, modern));
	deepEqual(got.messages.map((m) => m.content), ['for nobody who left']);
}

// A stream says at its beginning where its client is: one that ends before anything happens leaves
// a place to come back to.  A client of a revision that knows no empty events is told none.
export async function httpPlaces(w) {
	const id = await w.task('followed by hand');
	const begin = async (protocolVersion) => {
		const begun = await post(w, { ...initialize, params: { ...initialize.params, protocolVersion } });
		const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') };
		equal((await post(w, { jsonrpc: '2.0', id: 2, method: 'resources/subscribe', params: { uri: `cadre://task/alpha/${id}` } }, session)).status, 200);
		return session;
	};
	// The text of a stream of the session, by the time that `is` finds it there.
	const heard = async (session, is) => {
		const abort = new AbortController();
		const stream = await fetch(url(w), { signal: abort.signal, headers: { accept: 'text/event-stream', ...headers(w, 'bob'), ...session } });
		let text = '';
		for await (const piece of stream.body.pipeThrough(new TextDecoderStream())) {
			text += piece;
			if (is.test(text)) break;
		}
		return text;
	};
	const session = await begin('2025-11-25');
	const place = /^id: (alpha=\d+)\ndata: \n\n/m.exec(await heard(session, /data: \n\n/))[1];
	w.cadre('note', id, 'while nobody listens', '--team', 'alpha');
	const told = await heard({ ...session, 'last-event-id': place }, /updated/);
	ok(told.includes(`id: ${place}\ndata: \n\n`), `another place than ${place}: ${told}`);
	ok(told.indexOf(place) < told.indexOf('updated'), told);
	const older = await begin('2025-06-18');
	w.cadre('note', id, 'for the other one', '--team', 'alpha');
	ok(!/^data: $/m.test(await heard(older, /updated/)), 'an empty event');
}

// Sessions and streams of a host that is killed go on with the next one, under fifty clients of MCP and
// many followers of the event log, while others write: each change is told once, and no event is
// lost or comes twice.
export async function httpKilled(w) {
	const clients = [], agents = ['bob', 'carol', 'dave', 'erin'], seen = `${w.home}/seen`;
	const first = w.newest();
	const followers = spawn('python3', ['tests/peers/followers.py', `${w.home}/state`, w.looker(), '', `${FOLLOWERS}`, seen],
		{ stdio: ['ignore', 'inherit', 'inherit'], env: { ...w.env(), FIRST: `${first}` } });
	const left = once(followers, 'exit');
	try {
		for (let i = 0; i < 50; i++) {
			const client = new Client(me), told = [];
			client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => { told.push(n.params.uri); });
			await client.connect(new StreamableHTTPClientTransport(url(w), { ...options(w, agents[i % 4]),
				reconnectionOptions: { initialReconnectionDelay: 200, maxReconnectionDelay: 500, reconnectionDelayGrowFactor: 1, maxRetries: 100 } }));
			const id = await w.task(`followed by ${i}`);
			await client.subscribeResource({ uri: `cadre://task/alpha/${id}` });
			clients.push({ client, told, id, uri: `cadre://task/alpha/${id}` });
		}
		const following = () => readdirSync(w.home).filter((f) => /^seen\.\d+\.on$/.test(f)).length;
		await until(() => following() === FOLLOWERS, () => `only ${following()} follow`);
		const note = (id, text) => w.cadre('note', id, text, '--team', 'alpha');
		const all = (n) => () => clients.every((c) => c.told.length >= n);
		const counts = () => clients.map((c) => c.told.length);
		for (const { id } of clients) note(id, 'one');
		await until(all(1), 'not told before');
		const writing = writeOn(w);
		const kill = (meanwhile = () => {}) => {
			process.kill(Number(readFileSync(`${w.home}/state/host.lock`, 'utf8').split(' ')[0]), 'SIGKILL');
			meanwhile();
			w.host('up');
		};
		kill(() => {
			for (const { id } of clients) w.direct('note', id, 'while nobody serves', '--team', 'alpha');
		});
		await until(all(2), () => `not told after, at ${url(w)}: ${counts()}`);
		for (const { id } of clients) note(id, 'three');
		await until(all(3), () => `not told at the end: ${counts()}`);
		await rest(300);
		deepEqual(counts(), clients.map(() => 3));
		// Another host in whose time nothing of theirs happens tells nothing, and the next is as good.
		kill();
		await rest(1500);
		deepEqual(counts(), clients.map(() => 3), 'told again');
		kill();
		for (const { id } of clients) note(id, 'four');
		await until(all(4), () => `not told by the last host, at ${url(w)}: ${counts()}`);
		ok(await writing() > 20, 'nobody wrote meanwhile');
		await rest(300);
		deepEqual(clients.map((c) => c.told), clients.map((c) => Array(4).fill(c.uri)));
		for (const { client } of clients) {
			equal((await client.callTool({ name: 'task', arguments: { action: 'list' } })).isError, undefined);
		}
		writeFileSync(`${seen}.new`, `${w.newest()}`);
	} finally {
		for (const { client } of clients) await client.close();
		writeFileSync(`${seen}.new`, '', { flag: 'a' });
		renameSync(`${seen}.new`, `${seen}.stop`);
		await left;
	}
	judgeFollowers(w.log(first), seen);
}

// Somebody who sends again and again, with a host and without; the function that it returns ends it, and
// tells how many messages there are.
function writeOn(w) {
	let sent = 0, over = false;
	const loop = (async () => {
		while (!over) {
			const child = spawn(w.command, ['send', 'carol', `message ${sent}`, '--team', 'alpha'], { env: w.env(), stdio: 'ignore' });
			sent += (await once(child, 'exit'))[0] === 0;
			await rest(30);
		}
	})();
	return async () => {
		over = true;
		await loop;
		return sent;
	};
}

// Each follower has every event from the first that it saw on, once and in order; half of them have all
// behind where they began.
function judgeFollowers(log, seen) {
	let back = 0;
	for (let i = 0; i < FOLLOWERS; i++) {
		const [line, times] = readFileSync(`${seen}.${i}`, 'utf8').split('\n');
		const numbers = line.split(' ').map(Number);
		const wanted = i % 2 ? log.slice(log.indexOf(numbers[0])) : log, n = numbers.findIndex((seq, k) => seq !== wanted[k]);
		ok(n < 0 && numbers.length === wanted.length, `follower ${i} saw ${numbers.length} of ${wanted.length}, ${numbers.slice(n - 3, n + 5)} and not ${wanted.slice(n - 3, n + 5)}`);
		back += Number(times);
	}
	ok(back >= 2 * FOLLOWERS, `followers came back ${back} times`);
	console.log(`${FOLLOWERS} followers of ${log.length} events came back ${back} times`);
}
