// turns - real clients as runners: a message starts a turn, the next one goes on with the client's
// session, an urgent one stops the turn that runs, and what the client says it used is counted.
//
//	turns.mjs CACHE CLIENT...
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { clients } from './clients.mjs';
import { Model } from './model.mjs';

const cadre = process.env.CADRE;
const scale = Number(process.env.TEST_SCALE ?? 1);
const [cache, ...names] = process.argv.slice(2);
const HELD_MS = 60000;

// Each client's runner, and what its configuration has to lose so that the runner's own entry
// for cadre is the only one.
const runners = {
	claude: { runner: 'claude', strip() {} },
	codex: { runner: 'codex', strip: (home) => edit(`${home}/.codex/config.toml`, (s) => s.split('[mcp_servers.cadre]')[0]) },
	gemini: { runner: 'gemini --skip-trust -m gemini-2.5-flash',
		strip: (home) => edit(`${home}/.gemini/settings.json`, (s) => JSON.stringify({ ...JSON.parse(s), mcpServers: undefined })) },
	opencode: { runner: 'opencode -m scripted/m',
		strip: (home) => edit(`${home}/.config/opencode/opencode.json`, (s) => JSON.stringify({ ...JSON.parse(s), mcp: undefined })) },
};
function edit(path, how) {
	writeFileSync(path, how(readFileSync(path, 'utf8')));
}

// Requests in which only the third message is new are held, until the turn is stopped.
class SlowModel extends Model {
	async answer(dialect, body, path) {
		const text = this.asked = JSON.stringify(body);
		if (text.includes('third-message') && !text.includes('urgent-word')) {
			this.holds = true;
			await new Promise((done) => setTimeout(done, HELD_MS).unref());
			return dialect.say(body, 0, { text: 'too late' }, undefined, path);
		}
		return super.answer(dialect, body, path);
	}
}

async function play(name) {
	// Gemini CLI reads no settings below a folder that others may write in.
	const home = mkdtempSync(join(dirname(cache), `turns-${name}-`)), work = `${home}/work`, faults = [];
	const must = (is, text) => is || faults.push(text);
	const model = new SlowModel(script());
	const body = () => model.asked; // what the last request held
	mkdirSync(work);
	await model.start();
	const { env } = clients[name].setup({ home, base: model.base, server: { command: 'false', args: [] } });
	runners[name].strip(home);
	const all = { HOME: home, TERM: 'dumb', LC_ALL: 'C.UTF-8', TMPDIR: home, XDG_RUNTIME_DIR: home, CADRE_HTTP_ENABLED: 'false',
		CADRE_RUNNER_INTERRUPT_MS: '3000', ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? '', UBSAN_OPTIONS: process.env.UBSAN_OPTIONS ?? '',
		PATH: `${cache}/node_modules/.bin:${dirname(cadre)}:${process.env.PATH}`, ...env };
	const run = (...args) => execFileSync(cadre, args, { env: all, cwd: home, encoding: 'utf8', timeout: 60000, stdio: ['ignore', 'pipe', 'pipe'] });
	const turns = () => JSON.parse(run('turns', '--team', 'crew', '--json')).turns.reverse();
	const rest = (ms) => new Promise((done) => setTimeout(done, ms));
	// Waits until that many turns have ended.
	async function ended(n, seconds = 60) {
		for (let t = 0; t < seconds * scale * 10; t++) {
			if (turns().filter((u) => u.ended_at).length >= n)
				return;
			await rest(100);
		}
		faults.push(`${n} turns do not end: ${JSON.stringify(turns())}`);
	}
	function* script() {
		must(body().includes('[From agent \\"boss\\"]') && body().includes('first-message'), 'the first message is not in the prompt');
		yield { tool: 'team_message', input: { to: ['boss'], text: 'answer-one' } };
		yield { text: 'said-one' };
		must(body().includes('second-message'), 'the second message is not in the prompt');
		must(body().includes('first-message'), 'the session does not go on');
		yield { text: 'said-two' };
		must(body().includes('urgent-word'), 'the urgent message is not in the prompt');
		return 'said-four';
	}
	const began = Date.now();
	try {
		run('init');
		run('up');
		run('team', 'create', 'crew', '--roles', 'lead,boss');
		run('agent', 'register', 'worker', '--team', 'crew', '--project', work);
		run('agent', 'update', 'worker', '--team', 'crew', '--runner', runners[name].runner);
		run('--as', 'boss', '--team', 'crew', 'send', 'worker', 'first-message');
		await ended(1);
		run('--as', 'boss', '--team', 'crew', 'send', 'worker', 'second-message');
		await ended(2);
		run('--as', 'boss', '--team', 'crew', 'send', 'worker', 'third-message');
		for (let t = 0; t < 600 * scale && !model.holds; t++)
			await rest(100);
		run('agent', 'say', 'worker', 'urgent-word', '--team', 'crew');
		await ended(4);
		const states = turns().map((u) => u.state).join(' ');
		must(states === 'done done interrupted done', `turns ended ${states}: ${JSON.stringify(turns())}`);
		for (const u of turns().filter((u) => u.state === 'done'))
			must(u.tokens_in > 0 && u.tokens_out > 0 && u.tokens_in < 1000, `turn ${u.turn} used ${u.tokens_in} and ${u.tokens_out} tokens`);
		// The second turn is a request and the first one more: an amount that counts from the
		// session's beginning would be the larger one.
		const cost = turns().map((u) => u.cost ?? 0);
		must(!cost[0] || cost[1] < cost[0], `turns cost ${cost}`);
		const said = run('turn', 'read', '1', '--team', 'crew');
		must(/said-one/.test(said) && !/^\{/m.test(said), `turn 1 printed ${said}`);
		must(/answer-one/.test(run('--as', 'boss', '--team', 'crew', 'inbox', 'peek')), 'boss has no answer');
		must(/acked/.test(run('receipt', '#1', '--team', 'crew')), 'the first message is not acknowledged');
		must(!existsSync(`${home}/.cadre/guests/turn-mcp.json`), 'the file for the client stays');
	} catch (e) {
		faults.push(`${e.message} ${e.stderr ?? ''}`);
	}
	if (faults.length)
		try {
			faults.push(run('turn', 'read', '1', '--team', 'crew').slice(-1500));
		} catch { /* there was none */ }
	try {
		run('down', '--all');
	} catch { /* it was not up */ }
	model.stop();
	if (faults.length && process.env.KEEP)
		console.log(home);
	else
		rmSync(home, { recursive: true, force: true, maxRetries: 20 });
	console.log(`${name.padEnd(10)} turns: ${model.requests.length} requests in ${((Date.now() - began) / 1000).toFixed(1)} s`);
	for (const fault of faults)
		console.log(`FAILED: ${name}: ${fault}`);
	return faults.length;
}

let failed = 0;
for (const name of names)
	failed += await play(name);
process.exit(failed ? 1 : 0);
