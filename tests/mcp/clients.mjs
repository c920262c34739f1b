// clients - the official TypeScript clients, v1 and v2 in both eras.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { MODERN } from './peer.mjs';
import { tapped, tour1, tour2Legacy, tour2Modern } from './tour.mjs';

const { equal, ok } = assert;
const me = { name: 'tests', version: '1' };

const stdio = (w) => new StdioClientTransport({ command: w.command, args: w.args(), env: w.env('bob') });
const stdio2 = (w) => new Stdio2({ command: w.command, args: w.args(), env: w.env('bob') });

export async function version1(w) {
	await (await tour1(w, stdio(w))).close();
}

export async function version1OutputSchemas(w) {
	const client = new Client(me);
	await client.connect(tapped(new StdioClientTransport({ command: w.command,
		args: w.args(['--output-schemas', '--toolsets', 'all']), env: w.env('bob') }), '2025-11-25'));
	await client.listTools(); // from now on it holds every result to its schema
	for (const [name, args] of [['team', { action: 'status' }], ['task', { action: 'list' }], ['task', {}],
		['agents', { action: 'list' }], ['inbox', { action: 'peek' }], ['events', {}],
		['team_message', { to: ['carol'], content: 'x' }], ['task', { action: 'create', title: 'y' }]])
		ok((await client.callTool({ name, arguments: args })).structuredContent, name);
	await client.close();
}

export async function slowVersion1Progress(w) {
	const client = new Client(me);
	await client.connect(tapped(new StdioClientTransport({ command: w.command, args: w.args(), env: w.env('dave') }), '2025-11-25'));
	const told = [];
	const r = await client.callTool({ name: 'inbox', arguments: { action: 'receive', wait_seconds: 6, keep: true } },
		undefined, { onprogress: (p) => told.push(p.progress), resetTimeoutOnProgress: true });
	ok(r.content[0].text);
	equal(told.length, 1);
	await client.close();
}

export const version2Legacy = (w) => tour2Legacy(w, stdio2(w));
export const version2Modern = (w) => tour2Modern(w, stdio2(w), { pin: MODERN });
export const version2Auto = (w) => tour2Modern(w, stdio2(w), 'auto');
