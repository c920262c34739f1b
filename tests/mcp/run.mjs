// run - holds `cadre mcp` to its promises: CADRE=build/cadre node run.mjs
// Prints a line per test; fails if one does, or if a message was not what the
// official schemas want.  With a WORD only the tests that contain it run.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkers } from './peer.mjs';
import { World } from './world.mjs';
import * as raw from './raw.mjs';
import * as modern from './modern.mjs';
import * as clients from './clients.mjs';
import * as http from './http.mjs';
import * as families from './families.mjs';

const only = process.argv[2] ?? '';
const home = mkdtempSync(join(tmpdir(), 'mcp.'));
const world = new World(process.env.CADRE ?? 'build/cadre', home);
let passed = 0, failed = 0;

async function run(name, test) {
	const began = performance.now();
	try {
		await test(world);
		passed++;
		console.log(`ok   ${name} ${(performance.now() - began).toFixed(0)} ms`);
	} catch (e) {
		failed++;
		console.log(`FAIL ${name}: ${e.stack}`);
	}
}

try {
	await world.make();
	const slow = [];
	for (const [file, tests] of Object.entries({ raw, modern, clients, families, ...(world.hosted ? { http } : {}) }))
		for (const [name, test] of Object.entries(tests)) {
			if (!`${file} ${name}`.includes(only)) continue;
			const start = () => run(`${file} ${name}`, test);
			if (name.startsWith('slow')) slow.push(start);
			else await start();
		}
	await Promise.all(slow.map((start) => start())); // clients mostly wait
	const faults = checkers.flatMap((c) => c.faults);
	const seen = checkers.reduce((n, c) => n + c.seen, 0);
	faults.slice(0, 20).forEach((f) => console.log(`schema: ${f}`));
	console.log(`${seen} messages held to the official schemas, ${faults.length} faults`);
	if (faults.length) failed++;
} catch (e) {
	console.log(`FAIL set-up: ${e.stack}`);
	failed++;
} finally {
	world.end();
	rmSync(home, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
