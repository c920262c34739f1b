// world - a state folder with a team in it, and peers that see it: through a
// host with HOSTED=1, else each by itself.
import { execFileSync } from 'node:child_process';
import { Peer } from './peer.mjs';

export class World {
	constructor(command, home, more = {}) {
		this.command = command;
		this.home = home;
		this.more = more; // variables of the environment
		this.tokens = {};
		this.peers = [];
		this.hosted = process.env.HOSTED === '1';
		// A port that no other host takes while this one's is killed: clients of MCP keep to a URL.
		this.port = 15000 + Math.floor(Math.random() * 17000);
	}
	host(...words) {
		if (this.hosted)
			execFileSync(this.command, words, { env: this.env(), stdio: 'inherit', timeout: 120000 });
	}
	cadre(...args) {
		execFileSync(this.command, [...(this.hosted ? [] : ['--direct']), ...args],
			{ env: this.env(), stdio: ['ignore', 'ignore', 'inherit'], timeout: 120000 });
	}
	direct(...args) {
		execFileSync(this.command, ['--direct', ...args], { env: this.env(), stdio: ['ignore', 'ignore', 'inherit'], timeout: 120000 });
	}
	token(agent) {
		const said = execFileSync(this.command, [...(this.hosted ? [] : ['--direct']), '--json', '--team',
			'alpha', 'agent', 'env', agent], { env: this.env(), timeout: 120000 });
		return JSON.parse(said).token;
	}
	said(...args) {
		return JSON.parse(execFileSync(this.command, ['--json', ...args], { env: this.env(), timeout: 120000, maxBuffer: 1 << 26 }));
	}
	// A token that acts as the operator over HTTP.
	operatorToken() {
		return this.said('token', 'create', '--operator').bearer;
	}
	// A token of somebody who only reads.
	looker() {
		return this.said('token', 'create', '--observer').bearer;
	}
	newest() {
		return this.said('events', '--limit', '1').next;
	}
	// The numbers of all events behind one.
	log(after) {
		const all = [];
		for (let next = after, more = true; more;) {
			const page = this.said('events', '--after', `${next}`, '--limit', '1000');
			all.push(...page.events.map((e) => e.seq));
			({ next, more } = page);
		}
		return all;
	}
	env(agent) {
		const env = {
			PATH: process.env.PATH, HOME: this.home, CADRE_HOME: `${this.home}/state`,
			XDG_RUNTIME_DIR: this.home, ASAN_OPTIONS: process.env.ASAN_OPTIONS ?? '',
			UBSAN_OPTIONS: process.env.UBSAN_OPTIONS ?? '', CADRE_LIMITS_ENABLED: 'false', TEST_SCALE: process.env.TEST_SCALE ?? '1',
			CADRE_HTTP_PORT: `${this.port}`, ...this.more,
		};
		return agent ? { ...env, CADRE_TEAM: 'alpha', CADRE_AGENT: agent,
			CADRE_TOKEN: this.tokens[agent] } : env;
	}
	args(more = []) {
		return ['mcp', ...(this.hosted ? [] : ['--direct']), ...more];
	}
	peer(agent, more) {
		const words = this.args(agent ? more : ['--operator', ...(more ?? [])]);
		const p = new Peer(this.command, words, this.env(agent));
		this.peers.push(p);
		return p;
	}
	async legacy(agent, version, more) {
		const p = this.peer(agent, more);
		await p.start(version);
		return p;
	}
	// The team `alpha` with a lead and four members, whose tokens are kept.
	async make() {
		this.cadre('init');
		this.host('up');
		this.operator = await this.legacy();
		const r = await this.operator.tool('team', { action: 'create', name: 'alpha',
			roles: [{ name: 'lead' }, { name: 'bob' }, { name: 'carol' }, { name: 'dave' },
				{ name: 'erin' }] });
		if (r.isError) throw new Error(JSON.stringify(r.said));
		if (/[0-9a-f]{64}/.test(JSON.stringify(r))) throw new Error('a model is shown a token');
		for (const m of r.said.members) this.tokens[m.name] = this.token(m.name);
	}
	async task(title) {
		const r = await this.operator.tool('task', { action: 'create', team: 'alpha', title });
		return r.said.task.id;
	}
	end() {
		for (const p of this.peers) p.child.kill('SIGKILL');
		this.host('down', '--all');
	}
}
