// families - the tools of earlier systems, called as their documents write it: over stdio, and
// where there is a host over HTTP as well.  What they answer is compared whole.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MODERN, meta, scale } from './peer.mjs';
import { World } from './world.mjs';

const { equal, ok, deepEqual, match, rejects } = assert;
const sets = 'core,workspace,tabs,teammates';

// Calls a tool over HTTP, each in a request that needs no session.
function overHttp(w, agent) {
	let id = 1;
	return async (name, args) => {
		const url = `${readFileSync(`${w.home}/state/endpoint`, 'utf8').trim()}/mcp?toolsets=${sets}`;
		const r = await fetch(url, { method: 'POST',
			headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream',
				authorization: `Bearer ${w.tokens[agent]}`, 'mcp-protocol-version': MODERN,
				'mcp-method': 'tools/call', 'mcp-name': name },
			body: JSON.stringify({ jsonrpc: '2.0', id: id++, method: 'tools/call',
				params: { name, arguments: args, _meta: meta() } }) });
		const text = await r.text();
		const data = text.split('\n').filter((l) => l.startsWith('data: ')).pop()?.slice(6) ?? text;
		const { result } = JSON.parse(data);
		if (!result) throw new Error(`no tool ${name}`);
		return { said: JSON.parse(result.content[0].text), isError: !!result.isError };
	};
}

async function overStdio(w, agent) {
	const p = await w.legacy(agent, '2025-11-25', ['--toolsets', sets]);
	return async (name, args) => {
		const r = await p.tool(name, args);
		if (!r) throw new Error(`no tool ${name}`);
		return { said: r.said, isError: !!r.isError };
	};
}

// Runs a story in a state of its own for each way to call; `call[agent](tool, arguments)`.
const each = (agents, more, story) => async (w) => {
	for (const way of w.hosted ? ['stdio', 'HTTP'] : ['stdio']) {
		const home = mkdtempSync(join(tmpdir(), 'mcp.'));
		const own = new World(w.command, home, more);
		try {
			await own.make();
			own.operator.child.stdin.end();
			own.tokens.operator = way === 'HTTP' ? own.operatorToken() : '';
			own.operator = way === 'HTTP' ? overHttp(own, 'operator') : await overStdio(own);
			const call = {};
			for (const agent of agents)
				call[agent] = way === 'HTTP' ? overHttp(own, agent) : await overStdio(own, agent);
			await story(own, call);
		} catch (e) {
			e.message = `${way}: ${e.message}`;
			throw e;
		} finally {
			own.end();
			rmSync(home, { recursive: true, force: true });
		}
	}
};

const fails = (r, code, said) => {
	deepEqual(r, { said: { ...said, code }, isError: true });
};
const inbox = async (call) => (await call('inbox', { action: 'receive' })).said.messages ?? [];
const rest = (ms) => new Promise((done) => setTimeout(done, ms * scale));

// Teammates: a message to one, to all, with an answer, and each thing that can go wrong.
export const teammates = each(['bob', 'carol'], {}, async (w, { bob, carol }) => {
	const one = await bob('teammate_message', { teamId: 'alpha', to: 'carol', message: 'first' });
	match(one.said.messageId, /^[0-9a-f-]{36}$/);
	deepEqual(one.said, { messageId: one.said.messageId, delivered: true });
	await bob('teammate_message', { teamId: 'alpha', to: 'carol', message: 'second', priority: 'urgent' });
	deepEqual((await inbox(carol)).map((m) => [m.from, m.content]), [['bob', 'second'], ['bob', 'first']]);
	// The lead is one of them, under that name.
	deepEqual((await bob('teammate_message', { teamId: 'alpha', to: 'lead', message: 'hello' })).said.delivered, true);
	const all = await bob('teammate_broadcast', { teamId: 'alpha', message: 'to all' });
	deepEqual(all.said, { messageId: all.said.messageId, deliveredTo: ['carol', 'dave', 'erin', 'lead'] });
	deepEqual(await inbox(bob), []);
	const me = await bob('teammate_broadcast', { teamId: 'alpha', message: 'me too', excludeSelf: false });
	deepEqual(me.said.deliveredTo, ['bob', 'carol', 'dave', 'erin', 'lead']);
	deepEqual((await inbox(bob)).map((m) => m.content), ['me too']);

	fails(await bob('teammate_message', { teamId: 'alpha', to: 'nobody', message: 'x' }), 'not_found',
		{ status: 'error', error: 'Teammate "nobody" not found.' });
	fails(await bob('teammate_message', { teamId: 'alpha', to: '*', message: 'x' }), 'not_found',
		{ status: 'error', error: 'Teammate "*" not found.' });
	fails(await bob('teammate_message', { teamId: 'beta', to: 'carol', message: 'x' }), 'denied',
		{ status: 'error', error: 'You are not a member of this team.' });
	fails(await w.operator('teammate_message', { teamId: 'beta', to: 'carol', message: 'x' }), 'not_found',
		{ status: 'error', error: 'Team not found.' });
	const bad = await bob('teammate_message', { to: 'carol', message: 'x' });
	deepEqual([bad.said.status, bad.said.error, bad.said.code], ['error', 'teamId: is required', 'invalid']);
	// Any word but urgent is normal, and a number of any kind is a time to wait.
	const odd = await bob('teammate_message', { teamId: 'alpha', to: 'carol', message: 'x', priority: 'high', timeoutSeconds: 1e9 });
	const came = (await inbox(carol)).find((m) => m.content === 'x');
	deepEqual([odd.said.delivered, came.priority ?? 'normal'], [true, 'normal']);

	// waitForReply waits for the answer, and says it.
	const began = Date.now();
	const none = await bob('teammate_message',
		{ teamId: 'alpha', to: 'carol', message: 'quick?', waitForReply: true, timeoutSeconds: 0.5 });
	deepEqual(Object.keys(none.said), ['messageId', 'delivered', 'hint']);
	match(none.said.hint, /inbox/);
	ok(Date.now() - began >= 900);
	const asked = bob('teammate_message',
		{ teamId: 'alpha', to: 'carol', message: 'ready?', waitForReply: true, timeoutSeconds: 20 });
	let got;
	for (let i = 0; !got && i < 100; i++) {
		got = (await inbox(carol)).find((m) => m.content === 'ready?');
		await rest(20);
	}
	await carol('inbox', { action: 'reply', message_id: got.seq, text: 'yes' });
	deepEqual({ ...(await asked).said, messageId: '' }, { messageId: '', delivered: true, reply: 'yes' });
});

// Tabs: two agents find each other, speak, take names and make a third.
export const tabs = each(['bob', 'carol'], {}, async (w, { bob, carol }) => {
	const named = (names) => names.map((name) => ({ name, status: 'ready', project: null }));
	deepEqual((await bob('list_agents', {})).said,
		{ agents: named(['bob', 'carol', 'dave', 'erin', 'lead']), self: 'bob' });
	deepEqual(await bob('send_to_agent', { target: 'carol', message: 'I added a feature' }),
		{ said: { delivered: true, target: 'carol' }, isError: false });
	deepEqual((await inbox(carol)).map((m) => [m.from, m.content]), [['bob', 'I added a feature']]);
	for (const target of ['puppet-dev', '*', '', ' ', 'no name', 'carol,dave']) {
		fails(await bob('send_to_agent', { target, message: 'x' }), 'not_found',
			{ delivered: false, error: 'Agent not found', available: ['carol', 'dave', 'erin', 'lead'] });
	}
	deepEqual((await bob('broadcast', { message: 'hear me' })).said,
		{ delivered_to: ['carol', 'dave', 'erin', 'lead'], failed: [] });
	deepEqual((await bob('set_tab_name', { name: 'puppet-dev' })).said,
		{ success: true, previous_name: 'bob', new_name: 'puppet-dev' });
	// Under the new name it is found; its session goes on.
	deepEqual((await carol('send_to_agent', { target: 'puppet-dev', message: 'thanks' })).said,
		{ delivered: true, target: 'puppet-dev' });
	deepEqual((await inbox(bob)).map((m) => m.content), ['thanks']);
	equal((await bob('list_agents', {})).said.self, 'puppet-dev');
	const taken = await bob('set_tab_name', { name: 'carol' });
	deepEqual([taken.isError, taken.said.success, taken.said.code], [true, false, 'conflict']);
	deepEqual((await carol('spawn_agent', { name: 'helper', project: '/srv/shop', role: 'reviewer', message: 'look at it' })).said,
		{ success: true, name: 'helper', status: 'ready', project: '/srv/shop' });
	deepEqual((await carol('list_agents', {})).said.agents.find((a) => a.name === 'helper'),
		{ name: 'helper', status: 'ready', project: '/srv/shop' });
	const twice = await carol('spawn_agent', { name: 'helper' });
	deepEqual([twice.isError, twice.said.success, twice.said.code], [true, false, 'conflict']);
	// The operator's place in the team is no tab that could be named.
	const operator = await w.operator('set_tab_name', { name: 'mine', team: 'alpha' });
	deepEqual([operator.isError, operator.said.code], [true, 'invalid']);
	const wrong = await carol('send_to_agent', { target: 'dave', massage: 'x' });
	deepEqual([wrong.isError, wrong.said.delivered, wrong.said.code], [true, false, 'invalid']);
});

// Two agents that speak too fast are told when they may again; a broadcast counts for each.
export const pace = each(['bob', 'carol'], { CADRE_LIMITS_ENABLED: 'true' },
	async (w, { bob, carol }) => {
		equal((await bob('send_to_agent', { target: 'carol', message: '1' })).said.delivered, true);
		const soon = await bob('send_to_agent', { target: 'carol', message: '2' });
		const { retry_after_ms: wait } = soon.said;
		fails(soon, 'rate_limited', { delivered: false, error: 'Rate limited', retry_after_ms: wait });
		ok(wait > 0 && wait <= 2000, `${wait}`);
		deepEqual((await bob('broadcast', { message: 'all' })).said,
			{ delivered_to: ['dave', 'erin', 'lead'], failed: ['carol'] });
		// The other direction is another pair.
		equal((await carol('send_to_agent', { target: 'bob', message: 'a' })).said.delivered, true);
		await new Promise((done) => setTimeout(done, wait + 50));
		equal((await bob('send_to_agent', { target: 'carol', message: '2' })).said.delivered, true);
		deepEqual((await inbox(carol)).map((m) => [m.content, m.priority]), [['1', 'urgent'], ['2', 'urgent']]);
		// Messages of other tools, which start no turn, keep no pace.
		for (const content of ['3', '4'])
			equal((await bob('team_message', { to: 'carol', content })).isError, false);
	});

// A team's messages, sent and received as actions of the tool that makes teams.
export const messages = each([], {}, async (w) => {
	const team = (args) => w.operator('team', args);
	ok((await team({ action: 'create', name: 'test-team', roles: [{ name: 'worker-1', role: 'executor' },
		{ name: 'worker-2', role: 'executor' }], max_vms: 2 })).said.team_id);
	const sent = await team({ action: 'message', name: 'test-team', agent: 'worker-1', to: 'worker-2',
		content: 'hello from worker-1', message_type: 'text' });
	match(sent.said.message_id, /^[0-9a-f-]{36}$/);
	equal(sent.said.status, 'queued');
	const got = await team({ action: 'receive', name: 'test-team', agent: 'worker-2', limit: 10 });
	equal(got.said.count, 1);
	deepEqual([got.said.messages[0].from, got.said.messages[0].content], ['worker-1', 'hello from worker-1']);
	const all = await team({ action: 'message', name: 'test-team', agent: 'worker-1', to: '*',
		content: 'broadcast to all', message_type: 'text' });
	deepEqual([all.said.status, all.said.recipients], ['queued', 2]);
	equal((await team({ action: 'status', name: 'test-team' })).said.state, 'ready');
	ok((await team({ action: 'list' })).said.teams.some((t) => t.name === 'test-team'));
	// The same by names of their own.
	equal((await w.operator('team_status', { team_id: 'test-team' })).said.name, 'test-team');
	equal((await w.operator('team_create', { name: 'second', roles: [{ name: 'a', skills: ['c'] }] })).said.name, 'second');
	ok((await w.operator('team_message', { team_id: 'second', to: 'a', content: 'hi', message_type: 'request' })).said.seq);
	const task = (await w.operator('task', { action: 'create', team: 'second', title: 'do it' })).said.task.id;
	equal((await w.operator('team_assign', { team_id: 'second', task_id: task, agent_name: 'a' })).said.task.assignee, 'a');
	equal((await w.operator('team_destroy', { team_id: 'second', confirm: true })).said.state, 'destroyed');
	const none = await w.operator('team', { action: 'nothing' });
	match(JSON.stringify(none.said), /Use one of: budget, create, destroy, list, status, usage, message, receive\./);
	await rejects(w.operator('team_nothing', {}), /no tool team_nothing/);
});

// A team with the plan of its work: roles in VMs, and tasks by id that wait for each other.
export const plans = each([], {}, async (w) => {
	const role = (name, image, skills, count) =>
		`[[team.roles]]\nname = "${name}"\nimage = "${image}"\nskills = ${JSON.stringify(skills)}\ncount = ${count}\n`;
	const task = (id, name, to, after) => `[[team.tasks]]\nid = "${id}"\nname = "${name}"\nassign_to = "${to}"\ndepends_on = ${JSON.stringify(after)}\n`;
	const plan = ['[team]\nname = "feature-sprint"\nmax_vms = 10\n', role('lead', 'alpine-dev', ['planning', 'code-review'], 1),
		role('backend', 'rust-toolchain', ['rust', 'api', 'database'], 3), role('frontend', 'node-toolchain', ['typescript', 'react'], 2),
		task('001', 'design-api', 'lead', []), task('002', 'implement-endpoints', 'backend', ['001']),
		task('003', 'build-ui', 'frontend', ['001']), task('004', 'integration-test', 'lead', ['002', '003'])].join('\n');
	const roles = [{ name: 'tester', role: 'qa', skills: ['tests'], image: 'alpine-dev', resources: { vcpus: 2, memory_mb: 512 } }];
	const made = await w.operator('team_create', { name: 'feature-sprint', roles, plan });
	if (!w.hosted) { // VMs need a host
		deepEqual([made.isError, made.said.code, made.said.where], [true, 'unavailable', '/roles']);
		return;
	}
	deepEqual([made.isError, made.said.tasks], [false, 4], JSON.stringify(made.said));
	deepEqual(made.said.members.map((m) => [m.name, m.role]), [['tester', 'qa'], ['lead', 'lead'], ['backend-1', 'backend'],
		['backend-2', 'backend'], ['backend-3', 'backend'], ['frontend-1', 'frontend'], ['frontend-2', 'frontend']]);
	const board = (await w.operator('task', { action: 'list', team: 'feature-sprint' })).said.tasks;
	deepEqual(board.map((t) => [t.id, t.title, t.assignee, t.blocked_by ?? []]), [['001', 'design-api', 'lead', []],
		['002', 'implement-endpoints', 'backend-1', ['001']], ['003', 'build-ui', 'frontend-1', ['001']],
		['004', 'integration-test', 'lead', ['002', '003']]]);
	const wrong = await w.operator('team', { action: 'create', name: 'other', plan: '[team]\n[[team.roles]]\nname = "a"\ncuont = 2\n' });
	deepEqual([wrong.said.where, wrong.said.text, wrong.said.hint],
		['/plan', "plan:4:1: team.roles.0.cuont: 'cuont' is not known here", "Did you mean 'count'?"]);
});

// The daemon's loop: a team with a workspace for each, a command as a message, its result.
export const daemon = async (w) => {
	if (!w.hosted) return;
	await each([], { CADRE_TEAM_WORKSPACES: 'true' }, async (own) => {
		const team = (args) => own.operator('team', args);
		const made = await team({ action: 'create', name: 'daemon-test', roles: [{ name: 'worker', role: 'executor' }], max_vms: 1 });
		equal(made.isError, false, JSON.stringify(made.said));
		const work = JSON.stringify({ task_id: 'test-001', command: 'echo daemon-works && date', env: {}, timeout_secs: 30 });
		const sent = await team({ action: 'message', team: 'daemon-test', from: 'lead', to: 'worker', content: work, message_type: 'task_assignment' });
		equal(sent.isError, false, JSON.stringify(sent.said));
		let got;
		for (let i = 0; i < 200 * scale && !got?.said.results?.length; i++) {
			await rest(50);
			got = await team({ action: 'receive', team: 'daemon-test', agent: 'worker', limit: 10 });
		}
		match(JSON.stringify(got.said), /daemon-works/);
		equal(got.said.results[0].exit_code, 0);
		const info = await own.operator('workspace_list', { team: 'daemon-test' });
		equal(info.said.workspaces.length, 1);
		equal((await team({ action: 'destroy', name: 'daemon-test' })).said.state, 'destroyed');
	})(w);
};
