// setup - real clients read what `cadre setup` wrote, and no more of it when it is removed.
//
//	setup.mjs CACHE CLIENT...
//
// For each client, in a project and in the user's files: its list of servers has cadre then,
// in a turn its model is offered cadre's tools, and it runs the hooks; after the removal the
// list is empty, and the files are as before.
//
// Then `cadre agent run NAME --worktree -- CLIENT` starts the client in a worktree that lacks
// the files of setup, since nobody has committed them: its model sees the mail that waits, has
// cadre's tools, and a hook that the project has committed runs once.
//
// Then this client and the next of those named work at the same time, as the README shows: each
// claims a task, tells the other, hears the other, and completes its task.
//
// ONLY=project, ONLY=user, ONLY=start or ONLY=pair plays that part alone.
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Model } from './model.mjs';

const scale = Number(process.env.TEST_SCALE ?? 1);
const cadre = process.env.CADRE;
const [cache, ...names] = process.argv.slice(2);

const put = (path, text) => {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, text);
};

const own = (event, out, timeout) => JSON.stringify({ hooks: { [event]: [{ hooks: [{ type: 'command', command: `echo own >>'${out}'`, timeout }] }] } });

// Each has `person`, who writes what a person would: where the model is, and that the project
// is trusted; `listed`, what its list says of a server; `turn`, the words of one; `events`,
// those at which it runs hooks in that turn; `own`, a file of a project's own hook, which writes
// a line into `out`.
const clients = {
	claude: {
		env: (base) => ({ ANTHROPIC_BASE_URL: base, ANTHROPIC_API_KEY: 'none', DISABLE_AUTOUPDATER: '1', ENABLE_TOOL_SEARCH: 'false',
			CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' }),
		person: ({ home, work }) => put(`${home}/.claude.json`, JSON.stringify({ projects: { [work]: {
			enabledMcpjsonServers: ['cadre'], hasTrustDialogAccepted: true } } })),
		listed: /cadre: cadre mcp - ✔ Connected/,
		turn: ['-p', 'Begin.', '--allowedTools', 'mcp__cadre'],
		events: ['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'Stop'],
		own: (out) => ['.claude/settings.json', own('SessionStart', out, 10)],
	},
	codex: {
		env: () => ({ NO_KEY: 'none' }),
		person: ({ home, work, base }) => put(`${home}/.codex/config.toml`, `# mine
model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "${base}/v1"
wire_api = "responses"
env_key = "NO_KEY"
[projects."${work}"]
trust_level = "trusted"`),
		listed: /^cadre +cadre +mcp .* enabled/m,
		turn: ['exec', '--skip-git-repo-check', '--dangerously-bypass-hook-trust', '-c',
			'mcp_servers.cadre.default_tools_approval_mode="approve"', 'Begin.'],
		events: ['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'Stop'],
		own: (out) => ['.codex/hooks.json', own('SessionStart', out, 10)],
	},
	gemini: {
		env: (base) => ({ GOOGLE_GEMINI_BASE_URL: base, GEMINI_API_KEY: 'none' }),
		person: ({ home, work }) => {
			put(`${home}/.gemini/settings.json`, `{
	// mine
	"security": { "auth": { "selectedType": "gemini-api-key" } },
	"privacy": { "usageStatisticsEnabled": false }
}`);
			put(`${home}/.gemini/trustedFolders.json`, JSON.stringify({ [work]: 'TRUST_FOLDER' }));
		},
		listed: /✓ cadre: cadre mcp \(stdio\) - Connected/,
		turn: ['--yolo', '-m', 'gemini-2.5-flash', '-p', 'Begin.'],
		events: ['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent'],
		own: (out) => ['.gemini/settings.json', own('SessionStart', out, 10000)],
	},
	opencode: {
		env: () => ({ OPENCODE_DISABLE_MODELS_FETCH: '1' }),
		person: ({ home, base }) => put(`${home}/.config/opencode/opencode.jsonc`, `{
	"$schema": "https://opencode.ai/config.json", // mine
	"autoupdate": false,
	"provider": { "scripted": { "npm": "@ai-sdk/openai-compatible", "name": "scripted",
		"options": { "baseURL": "${base}/v1", "apiKey": "none" }, "models": { "m": { "name": "m" } } } },
}`),
		listed: /✓ cadre .*connected/,
		turn: ['run', '-m', 'scripted/m', 'Begin.'],
		// A plugin asks in words of its own.
		events: ['session.start', 'tool.execute.before', 'tool.execute.after', 'session.idle'],
		own: (out) => ['.opencode/plugins/own.js', `import { appendFileSync } from 'node:fs';
export const Own = async () => (appendFileSync('${out}', 'own\\n'), {});
`],
	},
};

// Files of a person and of setup, by their paths, and none that a client has for itself.
function filesOf(folder, out = {}) {
	for (const e of existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []) {
		const path = join(folder, e.name);
		if (e.isDirectory() && !/^(\.git|\.cadre|\.cache|\.local|node_modules|tmp|sessions|log|cache|skills)$/.test(e.name))
			filesOf(path, out);
		else if (e.isFile() && /\.(json|jsonc|toml|md|js)$/.test(e.name) && e.name !== 'trusted_hooks.json')
			out[path] = readFileSync(path, 'utf8');
	}
	return out;
}

class World {
	constructor(name) {
		this.name = name;
		this.client = clients[name];
		// Gemini CLI reads no settings below a folder that others may write in.
		this.home = mkdtempSync(join(dirname(cache), `setup-${name}-`));
		this.work = `${this.home}/work`;
		this.faults = [];
		this.env = { HOME: this.home, TERM: 'dumb', NO_COLOR: '1', LC_ALL: 'C.UTF-8', TMPDIR: this.home,
			PATH: `${this.home}/bin:${cache}/node_modules/.bin:${process.env.PATH}`,
			ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? '', UBSAN_OPTIONS: process.env.UBSAN_OPTIONS ?? '' };
		mkdirSync(this.work);
		mkdirSync(`${this.home}/bin`);
		execFileSync('git', ['init', '-q', this.work]);
		this.real();
		this.cadre('init');
		this.cadre('team', 'create', 'crew', '--roles', '[{"name":"lead"}]');
	}
	must(is, text) {
		if (!is)
			this.faults.push(text);
	}
	cadre(...args) {
		return execFileSync(`${this.home}/bin/cadre`, args, { env: this.env, cwd: this.work, encoding: 'utf8', timeout: 60000,
			stdio: ['ignore', 'pipe', 'pipe'] });
	}
	real() {
		rmSync(`${this.home}/bin/cadre`, { force: true });
		symlinkSync(cadre, `${this.home}/bin/cadre`);
	}
	// From here on each hook that a client runs is noted, and says nothing.
	spy() {
		rmSync(`${this.home}/bin/cadre`);
		put(`${this.home}/bin/cadre`, `#!/bin/sh
[ "$1" = hook ] || exec '${cadre}' "$@"
{ cat; echo; } >>'${this.home}/hooks'
`);
		chmodSync(`${this.home}/bin/cadre`, 0o755);
	}
	events() {
		const text = existsSync(`${this.home}/hooks`) ? readFileSync(`${this.home}/hooks`, 'utf8') : '';
		return [...text.matchAll(/"hook_event_name":\s*"([^"]+)"/g)].map((m) => m[1]);
	}
	run(words, base = 'http://127.0.0.1:9', before = [], seconds = 90, name = this.name) {
		return new Promise((done) => {
			const [program, ...rest] = [...before, name, ...words];
			const child = spawn(program, rest, { cwd: this.work, env: { ...this.env, ...clients[name].env(base) },
				detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
			const said = [];
			const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), seconds * 1000 * scale);
			child.stdout.on('data', (d) => said.push(d));
			child.stderr.on('data', (d) => said.push(d));
			child.on('error', (e) => said.push(Buffer.from(e.message)));
			child.on('close', (status) => {
				clearTimeout(timer);
				done({ status, said: Buffer.concat(said).toString() });
			});
		});
	}
}

function* register() {
	yield { tool: 'agents', input: { action: 'register', name: 'worker' } };
	return 'Done.';
}

async function play(name, scope) {
	const world = new World(name), { client } = world, model = new Model(register());
	const hasHook = (() => {
		try {
			return !!world.cadre('hook', 'opencode', '--plugin');
		} catch {
			return false;
		}
	})();
	await model.start();
	client.person({ home: world.home, work: world.work, base: model.base });
	const before = filesOf(world.home);
	let list = await world.run(['mcp', 'list']);
	world.must(!/cadre/.test(list.said.replaceAll(world.home, '')), `it knows cadre already: ${list.said}`);
	const told = world.cadre('setup', name, `--${scope}`);
	world.must(/^changed \d files? in/m.test(told), `setup: ${told}`);
	world.spy();
	list = await world.run(['mcp', 'list']);
	world.must(client.listed.test(list.said), `its list: ${list.said}`);
	rmSync(`${world.home}/hooks`, { force: true });
	const turn = await world.run(client.turn, model.base);
	model.stop();
	world.must(turn.status === 0 && model.isOver, `a turn ended with ${turn.status}: ${turn.said.slice(-800)}`);
	world.must(model.requests.some((r) => r.tools.length), 'its model is offered no tool of cadre');
	const events = world.events();
	for (const event of name === 'opencode' && !hasHook ? [] : client.events)
		world.must(events.includes(event), `it ran no hook at ${event}, but at ${events}`);
	world.real();
	world.must(/^nothing to do/m.test(world.cadre('setup', name, `--${scope}`)), 'a second run does something');
	world.must(/^ok /.test(world.cadre('setup', '--check', `--${scope}`)), 'the check finds something');
	world.cadre('setup', '--remove', `--${scope}`);
	list = await world.run(['mcp', 'list']);
	world.must(!/cadre/.test(list.said.replaceAll(world.home, '')), `it still knows cadre: ${list.said}`);
	const after = filesOf(world.home);
	for (const [path, text] of Object.entries(before))
		world.must(after[path] === text || path.endsWith('.claude.json'), `${path} is now:\n${after[path]}`);
	for (const [path, text] of Object.entries(after))
		world.must(path.endsWith('.claude.json') ? !/"command"/.test(text) : !/cadre mcp|hook|"mcp"/.test(text) || path in before,
			`${path} holds something of cadre's:\n${text}`);
	return end(world, model, events);
}

function* work(world, model) {
	world.must(model.requests[0].body.includes('first-message'), 'the mail that waits is not in the first request');
	yield { tool: 'task', input: { action: 'claim' } };
	yield { tool: 'task', input: { action: 'complete', result: 'seen' } };
	return 'Done.';
}

async function start(name) {
	const world = new World(name), { client, home } = world, out = `${home}/own`;
	const git = (...words) => execFileSync('git', ['-C', world.work, '-c', 'user.name=a', '-c', 'user.email=a@h', ...words], { encoding: 'utf8' });
	const model = new Model((function* () { return yield* work(world, model); })());
	const [path, text] = client.own(out), tree = `${world.work}/.cadre/worktrees/crew.ann`;
	await model.start();
	put(`${world.work}/${path}`, text);
	git('add', path);
	git('commit', '-qm', 'hook');
	client.person({ home, work: tree, base: model.base });
	world.cadre('setup', name);
	world.cadre('task', 'create', 'Look');
	world.cadre('agent', 'register', 'ann', '--team', 'crew');
	world.cadre('send', 'ann', 'first-message');
	const turn = await world.run(client.turn, model.base, ['cadre', 'agent', 'run', 'ann', '--worktree', '--']);
	model.stop();
	world.must(turn.status === 0 && model.isOver, `a turn ended with ${turn.status}: ${turn.said.slice(-1500)}`);
	world.must(existsSync(out) && readFileSync(out, 'utf8') === 'own\n', `the project's own hook ran: ${existsSync(out) && readFileSync(out, 'utf8')}`);
	world.must(/acked/.test(world.cadre('receipt', '#1')), `the message: ${world.cadre('receipt', '#1')}`);
	world.must(/completed/.test(world.cadre('task', 'list', '--all')), 'its task is not completed');
	world.must(git('-C', tree, 'status', '--porcelain') === '', `the worktree has changes: ${git('-C', tree, 'status', '--porcelain')}`);
	return end(world, model);
}

// The turn of one of two: it claims a task, tells the other what it holds, waits until the other
// has told the same, and completes its task. Mail comes by a hook, or by the tool.
function* share(world, model, me, other) {
	const [, mine] = (yield { tool: 'task', input: { action: 'claim' } }).match(/"id\\*":\\*"(\d+)/);
	yield { tool: 'team_message', input: { to: [other], text: `${me} holds ${mine}` } };
	for (let n = 0; n < 6 && !model.requests.at(-1).body.includes(`${other} holds`); n++)
		yield { tool: 'inbox', input: { action: 'receive', wait_seconds: 10 } };
	world.must(new RegExp(`${other} holds (?!${mine})`).test(model.requests.at(-1).body), `${me} did not hear that ${other} holds another task than ${mine}`);
	yield { tool: 'task', input: { action: 'complete', text: 'done' } };
	return 'Done.';
}

async function pair(name) {
	const world = new World(name), second = names[(names.indexOf(name) + 1) % names.length];
	execFileSync('git', ['-C', world.work, '-c', 'user.name=a', '-c', 'user.email=a@h', 'commit', '-q', '--allow-empty', '-m', 'first']);
	const turns = [['coder', name, 'tester'], ['tester', second, 'coder']].map(async ([me, program, other]) => {
		const model = new Model((function* () { return yield* share(world, model, me, other); })()), client = clients[program];
		await model.start();
		client.person({ home: world.home, work: `${world.work}/.cadre/worktrees/crew.${me}`, base: model.base });
		world.cadre('task', 'create', `For ${me}`);
		const turn = await world.run(client.turn, model.base, ['cadre', 'agent', 'run', me, '--worktree', '--'], 180, program);
		model.stop();
		world.must(turn.status === 0 && model.isOver, `${me}, ${program}: ended with ${turn.status}: ${turn.said.slice(-1500)}`);
		return model;
	});
	const models = await Promise.all(turns);
	const board = world.cadre('task', 'list', '--all', '--json', 'status');
	world.must((board.match(/:"completed"/g) ?? []).length === 2, `the board: ${board}`);
	return end(world, models[0]);
}

function end(world, model, events = []) {
	if (world.faults.length && process.env.KEEP)
		console.log(world.home);
	else
		rmSync(world.home, { recursive: true, force: true, maxRetries: 20 });
	return { faults: world.faults, events: new Set(events).size, requests: model.requests.length };
}

const plays = {
	project: (name) => play(name, 'project'),
	user: (name) => play(name, 'user'),
	start,
	pair,
};
let failed = 0;
for (const name of names)
	for (const [what, act] of Object.entries(plays).filter(([what]) =>
		process.env.ONLY ? what === process.env.ONLY : what !== 'pair' || names.length > 1)) {
		const began = Date.now(), { faults, events, requests } = await act(name);
		console.log(`${name.padEnd(10)} ${({ start: 'agent run', pair: 'two clients' }[what] ?? `setup --${what}`).padEnd(15)} ${requests} requests, hooks at ${events} events` +
			`  ${((Date.now() - began) / 1000).toFixed(1)} s`);
		for (const fault of faults)
			console.log(`FAILED: ${name}: ${fault}`);
		failed += faults.length;
	}
process.exit(failed ? 1 : 0);
