// run - a day's work of an agent with real clients, of whom each has `cadre mcp` by stdio, and
// another one with `cadre hook` at their events.
//
//	run.mjs CACHE [--wait] CLIENT...
//
// Judged is what reached the client's model, beside what cadre wrote: each answer once and
// whole, none longer than docs/mcp.md promises the client, a long message in parts up to its
// end; and each message that a hook shows, once.  --wait: also a call that waits longer than clients do.
import { spawn, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { clients } from './clients.mjs';
import { Model } from './model.mjs';

const TOKEN = 4; // bytes, as cadre reckons
const LONG = Array.from({ length: 2400 }, (_, i) => `line ${i} of a "long" report\n`).join('');
const WAIT_S = 70, GIVES_UP_S = 60;
const scale = Number(process.env.TEST_SCALE ?? 1);
const cadre = process.env.CADRE;
const [cache, ...words] = process.argv.slice(2);
const waits = words.includes('--wait');
const names = words.filter((w) => !w.startsWith('--'));

// A home with a state, a team, a task and a folder for the client.
class World {
	constructor(name) {
		this.home = mkdtempSync(join(tmpdir(), `${name}-`));
		this.work = `${this.home}/work`;
		this.env = { HOME: this.home, TERM: 'dumb', LC_ALL: 'C.UTF-8', TMPDIR: this.home,
			PATH: `${cache}/node_modules/.bin:${dirname(cadre)}:${process.env.PATH}`,
			ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? '', UBSAN_OPTIONS: process.env.UBSAN_OPTIONS ?? '' };
		mkdirSync(this.work);
		this.cadre('init');
		this.cadre('team', 'create', 'crew', '--roles', '[{"name":"lead"}]');
		this.cadre('task', 'create', 'Build the part', '--description', 'Why and how, in many words. '.repeat(200));
	}
	cadre(...args) {
		return this.cadreIn(this.home, ...args);
	}
	cadreIn(cwd, ...args) {
		return execFileSync(cadre, args, { env: this.env, cwd, encoding: 'utf8', timeout: 60000,
			stdio: ['ignore', 'pipe', 'pipe'] });
	}
	// The server as any project's configuration has it, naming nobody; what goes in and out of
	// it is kept aside. The server is a child of the client, as it is for users.
	server() {
		return { command: 'bash', args: ['-c', `exec '${cadre}' mcp < <(tee -a '${this.home}/in') > >(tee -a '${this.home}/out')`] };
	}
	lines(which) {
		return !existsSync(`${this.home}/${which}`) ? []
			: readFileSync(`${this.home}/${which}`, 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l));
	}
	// Texts that cadre has answered to calls, in order.
	answers() {
		return this.lines('out').flatMap((m) => m.result?.content ? [m.result.content[0].text] : []);
	}
	remove() {
		rmSync(this.home, { recursive: true, force: true, maxRetries: 20 });
	}
}

// Answers as a client showed them to its model, beside what cadre wrote.
class Judge {
	constructor(world) {
		this.world = world;
		this.faults = [];
		this.longest = 0;
	}
	must(is, text) {
		if (!is)
			this.faults.push(text);
	}
	read(shown) {
		const answer = this.world.answers().at(-1) ?? '{}', said = JSON.parse(answer);
		this.longest = Math.max(this.longest, Math.ceil(Buffer.byteLength(answer) / TOKEN));
		// A fault is told by one client in words of its own around it.
		const times = shown.split(said.code ? said.hint : answer).length - 1;
		this.must(said.code ? times : times === 1, `an answer of ${answer.length} characters was shown ${times} times, in ` +
			`${shown.length}: ${answer.slice(0, 200)}\n    shown: ${shown.slice(0, 300)} … ${shown.slice(-200)}`);
		return said;
	}
}

// A message in parts, by the hint of each answer.
function* partsOf(judge, first) {
	let { content } = first.messages.find((m) => m.content_size), { hint } = first, input = {};
	for (let n = 0; n < 40 && hint; n++) {
		// `inbox action=part message_id="…" offset=400; …`, then `call again with offset=800`
		const call = hint.match(/(?:inbox|call again with) ([^;]*)/)[1];
		const words = [...call.matchAll(/(\w+)=("[^"]*"|[^ ;.]+)/g)].map((m) => [m[1], /^["\d]/.test(m[2]) ? JSON.parse(m[2]) : m[2]]);
		input = { ...input, ...Object.fromEntries(words) };
		const more = judge.read(yield { tool: 'inbox', input });
		content += more.text ?? '';
		hint = more.hint;
	}
	return content;
}

function* day(world, judge) {
	const call = function* (tool, input) {
		return judge.read(yield { tool, input });
	};
	const nobody = yield* call('agents', { action: 'start' });
	judge.must(nobody.code === 'denied' && /[Rr]egister/.test(nobody.hint), 'nobody is told to register');
	const { you } = yield* call('agents', { action: 'register', name: 'worker' });
	judge.must(/^worker of team crew/.test(you), `registered as ${you}`);
	const start = yield* call('agents', { action: 'start' });
	judge.must(start.name === 'worker' && start.best, 'a start says who and what');
	const { epoch, task } = yield* call('task', { action: 'claim' });
	judge.must(task?.description?.length > 5000, 'a claim gives the whole task');
	world.cadre('send', 'worker', 'short', '--team', 'crew');
	world.cadre('send', 'worker', LONG, '--team', 'crew');
	const { waiting } = yield* call('task', { action: 'note', text: 'half', epoch });
	judge.must(/^2 messages/.test(waiting), `mail that waits is told: ${waiting}`);
	yield* call('team_message', { to: ['lead'], text: 'hello' });
	const got = [];
	let whole;
	for (let n = 0; n < 3 && got.length < 2; n++) {
		const mail = yield* call('inbox', { action: 'receive' });
		got.push(...mail.messages);
		if (mail.messages.some((m) => m.content_size))
			whole = yield* partsOf(judge, mail);
		else if (mail.messages.some((m) => m.content === LONG))
			whole = LONG;
	}
	judge.must(got.length === 2, `2 messages were sent, ${got.length} came`);
	judge.must(whole === LONG, `the long message came with ${whole?.length} of ${LONG.length} bytes`);
	const end = yield* call('task', { action: 'complete', text: 'done', epoch });
	judge.must(end.task?.status === 'completed', 'the task is completed');
	return 'All done.';
}

function* patience(world, judge) {
	judge.read(yield { tool: 'agents', input: { action: 'register', name: 'worker' } });
	const began = Date.now();
	const answer = judge.read(yield { tool: 'inbox', input: { action: 'receive', wait_seconds: WAIT_S } });
	judge.waited = (Date.now() - began) / 1000;
	judge.must(/Call again/.test(answer.hint), `a wait ends with a hint: ${answer.hint}`);
	judge.must(judge.waited < GIVES_UP_S, `a wait took ${judge.waited} s`);
	return 'Waited.';
}

// The client's folder is an agent's, for whom a message waits.
function hooked(world) {
	world.cadreIn(world.work, 'agent', 'register', 'worker', '--team', 'crew', '--here');
	world.cadre('send', 'worker', 'hello-of-old', '--team', 'crew');
}

// The client is driven by hooks alone: its model never asks for its mail.
function* hooks(world, judge) {
	const { stays, shell } = clients[judge.client];
	const body = () => judge.model.requests.at(-1).body;
	const shown = (word) => judge.must(body().split(word).length === 2, `${word} stands ${body().split(word).length - 1} times in a request`);
	const urge = (word) => world.cadre('send', 'worker', word, '--team', 'crew', '--priority', 'urgent');
	const use = (own) => own ? { own, tool: shell[0], input: { [shell[1]]: 'true', description: 'nothing' } } : { tool: 'agents', input: { action: 'list' } };

	judge.must(/You are worker of team crew/.test(body()), 'the brief is not shown');
	shown('hello-of-old');
	urge('urgent-between-tools');
	yield use();
	shown('urgent-between-tools');
	world.cadre('send', 'worker', 'normal-that-waits', '--team', 'crew');
	yield use();
	judge.must(!body().includes('normal-that-waits'), 'a normal message is shown between two tools');
	world.cadre('estop', 'crew');
	const refused = yield use(true);
	judge.must(/team crew is stopped/.test(refused), `a tool in a stopped team: ${refused.slice(0, 300)}`);
	world.cadre('thaw', 'crew');
	if (stays) {
		urge('urgent-at-the-end');
		yield { text: 'This is the end.' };
		// Claude Code tells its model twice why it goes on (2.1.332; once before).
		judge.must(body().includes('urgent-at-the-end'), 'an urgent message at the end is not shown');
	}
	shown('hello-of-old');
	shown('urgent-between-tools');
	const receipts = [1, 2].map((n) => JSON.parse(world.cadre('receipt', `#${n}`, '--team', 'crew', '--json')).deliveries[0]);
	judge.must(receipts.every((r) => r.state === 'acked' && r.shown_at), `receipts: ${JSON.stringify(receipts)}`);
	return 'Read.';
}

// Ends with its status, and at the latest after so many seconds.
function run(command, { words, env }, world, seconds) {
	return new Promise((done) => {
		const child = spawn(command, words, { cwd: world.work, env: { ...world.env, ...env }, detached: true,
			stdio: ['ignore', 'pipe', 'pipe'] });
		const said = [];
		const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), seconds * 1000);
		child.stdout.on('data', (d) => said.push(d));
		child.stderr.on('data', (d) => said.push(d));
		child.on('error', (e) => said.push(Buffer.from(e.message)));
		child.on('close', (status) => {
			clearTimeout(timer);
			done({ status, said: Buffer.concat(said).toString() });
		});
	});
}

async function play(name, script, seconds) {
	const world = new World(name), judge = new Judge(world), client = clients[name];
	const model = new Model(script(world, judge));
	await model.start();
	judge.model = model;
	judge.client = name;
	const command = client.setup({ home: world.home, base: model.base, server: world.server() });
	if (script === hooks) {
		hooked(world);
		const [first, ...others] = command.words;
		command.words = [first, ...client.hooks({ home: world.home, cadre }), ...others];
	}
	const began = Date.now();
	const ended = await run(name, command, world, seconds * scale);
	model.stop();
	judge.took = (Date.now() - began) / 1000;
	// A client of the newer protocol says so with each request.
	const told = world.lines('in').map((m) => m.params?.clientInfo ?? m.params?._meta?.['io.modelcontextprotocol/clientInfo']);
	judge.client = told.find(Boolean) ?? {};
	judge.tools = model.requests.find((r) => r.tools.length)?.tools ?? [];
	judge.requests = model.requests.length;
	judge.must(ended.status === 0 && model.isOver, `${name} ended with ${ended.status}: ${ended.said.slice(-800)}`);
	if (judge.faults.length && process.env.KEEP)
		console.log(world.home);
	else
		world.remove();
	return judge;
}

function tell(judge, name) {
	for (const fault of judge.faults)
		console.log(`FAILED: ${name}: ${fault}`);
	return judge.faults.length;
}

let failed = 0;
const row = (...cells) => console.log(cells.map((c, i) => String(c).padEnd([10, 30, 7, 7, 9, 9, 9, 8][i])).join(' '));
row('client', 'clientInfo', 'tools', 'tokens', 'longest', 'most', 'requests', 'seconds');
for (const name of names) {
	const { tokens, name: calls } = clients[name];
	const judge = await play(name, day, 90);
	judge.must(judge.client.name === calls, `it calls itself ${judge.client.name}, not ${calls}`);
	judge.must(judge.longest <= tokens && judge.longest > tokens * 3 / 4, `its longest answer had ${judge.longest} tokens of ${tokens}`);
	row(name, `${judge.client.name} ${judge.client.version}`, judge.tools.length,
		Math.ceil(judge.tools.reduce((n, t) => n + t.bytes, 0) / TOKEN), judge.longest, tokens, judge.requests, judge.took.toFixed(1));
	failed += tell(judge, name);
	const hook = await play(name, hooks, 90);
	console.log(`${' '.repeat(10)} hooks: ${hook.requests} requests in ${hook.took.toFixed(1)} s`);
	failed += tell(hook, name);
	if (!waits)
		continue;
	const waited = await play(name, patience, 150);
	console.log(`${' '.repeat(10)} a wait of ${WAIT_S} s ended after ${waited.waited?.toFixed(1)} s`);
	failed += tell(waited, name);
}
process.exit(failed ? 1 : 0);
