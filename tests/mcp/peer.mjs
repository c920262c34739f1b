// peer - a server process and the lines to and from it.  Every line that it
// prints is held to the schema of the revision that is spoken.
import { spawn } from 'node:child_process';
import { fault } from './schema.mjs';

// How much longer than on a fast machine is waited here.
export const scale = Number(process.env.TEST_SCALE ?? 1);

const META = 'io.modelcontextprotocol/';
export const MODERN = '2026-07-28';

export class Checker {
	constructor() {
		this.methods = new Map();
		this.version = '2025-11-25';
		this.seen = 0;
		this.faults = [];
	}
	sent(message) {
		if (message.id !== undefined && message.method)
			this.methods.set(JSON.stringify(message.id), {
				method: message.method,
				modern: !!message.params?._meta?.[`${META}protocolVersion`],
			});
	}
	received(message) {
		const to = this.methods.get(JSON.stringify(message.id));
		const modern = to ? to.modern : this.version === MODERN ||
			!!message.params?._meta?.[`${META}subscriptionId`];
		if (to?.method === 'initialize' && message.result)
			this.version = message.result.protocolVersion;
		const why = fault(modern ? MODERN : this.version, message, to?.method);
		this.seen++;
		if (why) this.faults.push(`${to?.method ?? message.method}: ${why}: ${JSON.stringify(message).slice(0, 300)}`);
	}
}

export const checkers = [];

export function newChecker() {
	const c = new Checker();
	checkers.push(c);
	return c;
}

export function meta(more = {}) {
	return { [`${META}protocolVersion`]: MODERN, [`${META}clientCapabilities`]: {}, ...more };
}

export class Peer {
	constructor(command, args, env) {
		this.checker = newChecker();
		this.messages = [];
		this.waiters = [];
		this.next = 1;
		this.stderr = '';
		this.child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
		this.exited = new Promise((done) => this.child.on('exit', (code) => done(code)));
		this.child.stdin.on('error', () => {});
		this.child.stderr.on('data', (d) => { this.stderr += d; });
		let rest = '';
		this.child.stdout.setEncoding('utf8');
		this.child.stdout.on('data', (d) => {
			const lines = (rest + d).split('\n');
			rest = lines.pop();
			lines.forEach((line) => this.take(line));
		});
	}
	take(line) {
		const message = JSON.parse(line); // stdout carries nothing but the protocol
		for (const one of Array.isArray(message) ? message : [message]) this.checker.received(one);
		this.messages.push(message);
		this.waiters = this.waiters.filter((w) => !w(message));
	}
	raw(text) {
		this.child.stdin.write(text);
	}
	send(message) {
		for (const one of Array.isArray(message) ? message : [message]) this.checker.sent(one);
		this.raw(`${JSON.stringify(message)}\n`);
	}
	// The first message, from now on or already there, that `is` takes.
	wait(is, ms = 60000) {
		ms *= scale;
		const found = this.messages.find(is);
		if (found) return Promise.resolve(found);
		return new Promise((done, fail) => {
			const timer = setTimeout(() => fail(new Error(`no answer in ${ms} ms${this.stderr}`)), ms);
			this.waiters.push((m) => {
				if (!is(m)) return false;
				clearTimeout(timer);
				done(m);
				return true;
			});
		});
	}
	async ask(method, params, id = this.next++) {
		this.send({ jsonrpc: '2.0', id, method, params });
		return this.wait((m) => m.id === id && !m.method);
	}
	modern(method, params = {}, id, more) {
		return this.ask(method, { ...params, _meta: meta(more) }, id);
	}
	async start(version = '2025-11-25') {
		const r = await this.ask('initialize', {
			protocolVersion: version, capabilities: {},
			clientInfo: { name: 'tests', version: '1' },
		});
		this.note('notifications/initialized');
		return r.result;
	}
	note(method, params) {
		this.send({ jsonrpc: '2.0', method, params });
	}
	tool(name, args) {
		return this.ask('tools/call', { name, arguments: args }).then((m) => m.result &&
			{ ...m.result, said: JSON.parse(m.result.content[0].text) });
	}
	async end() {
		this.child.stdin.end();
		const timer = setTimeout(() => this.child.kill('SIGKILL'), 60000 * scale);
		const code = await this.exited;
		clearTimeout(timer);
		return code;
	}
}
