// clients - the official TypeScript clients, v1 and v2 in both eras.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { MODERN } from './peer.mjs';
import { tapped, tour } from './tour.mjs';

const { equal, ok, deepEqual } = assert;
const me = { name: 'tests', version: '1' };

export async function version1(w) {
	const transport = tapped(new StdioClientTransport({ command: w.command, args: w.args(), env: w.env('bob') }), '2025-11-25');
	const client = new Client(me);
	await client.connect(transport);
	equal(client.getServerVersion().name, 'cadre');
	ok(client.getInstructions());
	await client.ping();
	const logs = [];
	client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => { logs.push(n.params.level); });
	await client.setLoggingLevel('debug');
	await tour(w, client, (f) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, f), async (uri) => {
		await client.subscribeResource({ uri });
		return () => client.unsubscribeResource({ uri });
	});
	ok(logs.includes('debug'));
	await client.close();
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

export async function version2Legacy(w) {
	const client = new Client2(me);
	await client.connect(tapped(new Stdio2({ command: w.command, args: w.args(), env: w.env('bob') }), '2025-11-25'));
	await tour(w, client, (f) => client.setNotificationHandler('notifications/resources/updated', f), async (uri) => {
		await client.subscribeResource({ uri });
		return () => client.unsubscribeResource({ uri });
	});
	await client.close();
}

async function modern(w, mode) {
	const client = new Client2(me, { versionNegotiation: { mode } });
	await client.connect(tapped(new Stdio2({ command: w.command, args: w.args(), env: w.env('bob') }), MODERN));
	equal(client.getNegotiatedProtocolVersion?.() ?? MODERN, MODERN);
	await tour(w, client, (f) => client.setNotificationHandler('notifications/resources/updated', f), async (uri) => {
		const s = await client.listen({ resourceSubscriptions: [uri] });
		deepEqual(s.honoredFilter.resourceSubscriptions, [uri]);
		return () => s.close();
	});
	await client.close();
}

export const version2Modern = (w) => modern(w, { pin: MODERN });
export const version2Auto = (w) => modern(w, 'auto');
