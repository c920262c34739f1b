// first.ts URL OPERATOR: the first ten minutes of a team, by a client that is generated from the
// document and checked by the compiler.
import createClient from "openapi-fetch";
import type { paths } from "./api";

const [url = "", operator = ""] = process.argv.slice(2);
const clientOf = (token: string) =>
	createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });

function must<T>(answer: { data?: T; error?: unknown }, what: string): T {
	if (answer.data === undefined) throw new Error(`${what}: ${JSON.stringify(answer.error)}`);
	return answer.data;
}

function is(got: unknown, want: unknown, what: string) {
	if (got !== want) throw new Error(`${what}: ${got}, and not ${want}`);
}

const lead = clientOf(operator);
const team = must(
	await lead.POST("/api/teams", { body: { name: "shop", roles: [{ name: "coder" }, { name: "tester" }] } }),
	"a team",
);
is(team.name, "shop", "its name");
const tokenOf = async (agent: string) =>
	must(await lead.POST("/api/tokens", { body: { agent: `shop/${agent}` } }), "a token").bearer;
const coder = clientOf(await tokenOf("coder"));
const tester = clientOf(await tokenOf("tester"));

must(await lead.POST("/api/tasks", { body: { title: "Write the parser", team: "shop" } }), "a task");
const claim = must(await coder.POST("/api/claim", { body: {} }), "a claim");
is(claim.task?.title, "Write the parser", "the claimed task");
const task = claim.task!.id;
must(await coder.POST("/api/tasks/{task}/start", { params: { path: { task } }, body: {} }), "a start");
must(await coder.POST("/api/messages", { body: { to: ["tester"], text: "Tests, please" } }), "a message");
const mail = must(
	await tester.POST("/api/inbox/receive", { body: { request_id: "first", wait_seconds: 5 } }),
	"mail",
);
is(mail.messages[0]?.content, "Tests, please", "the message");
must(
	await tester.POST("/api/messages/{message_id}/reply", {
		params: { path: { message_id: mail.messages[0]!.message_id } },
		body: { text: "They pass" },
	}),
	"a reply",
);
must(
	await coder.POST("/api/tasks/{task}/complete", { params: { path: { task } }, body: { result: "done" } }),
	"a result",
);
const done = must(
	await lead.GET("/api/tasks", { params: { query: { team: "shop", status: ["completed", "failed"] } } }),
	"a list",
);
is(done.tasks.length, 1, "completed tasks");
const denied = await coder.GET("/api/team", { params: { query: { team: "other" } } });
is(denied.error?.error.code, "denied", "a foreign team");
console.log("the first ten minutes went well");
