// model - a model on loopback that plays a script, for real agent clients: no network, no key.
//
// Spoken are Anthropic's messages, OpenAI's responses and chat completions, and Google's
// generateContent, streaming where a client asks for it.
import { createServer } from 'node:http';

// An answer that was read by a client, as its model gets it: parts of text in one.
const textOf = (content) => typeof content === 'string' ? content
	: Array.isArray(content) ? content.map((part) => part.text ?? '').join('')
		: JSON.stringify(content ?? '');
const lastOf = (list, is) => {
	const from = list.findLastIndex((x) => !is(x)) + 1;
	return list.slice(from);
};
const event = (name, data) => `${name ? `event: ${name}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

const anthropic = {
	path: /\/messages/,
	results: (body) => lastOf(body.messages, (m) => m.role !== 'assistant')
		.flatMap((m) => Array.isArray(m.content) ? m.content : [])
		.filter((c) => c.type === 'tool_result').map((c) => textOf(c.content)),
	say(body, n, step, tool) {
		const block = tool ? { type: 'tool_use', id: `toolu_${n}`, name: tool.name, input: step.input } : { type: 'text', text: step.text };
		const message = { id: `msg_${n}`, type: 'message', role: 'assistant', model: body.model, content: [],
			stop_reason: null, stop_sequence: null, usage: { input_tokens: 100, output_tokens: 1 } };
		const stop_reason = tool ? 'tool_use' : 'end_turn';
		if (!body.stream)
			return { ...message, content: [block], stop_reason };
		const delta = tool ? { type: 'input_json_delta', partial_json: JSON.stringify(step.input) } : { type: 'text_delta', text: step.text };
		return [
			{ type: 'message_start', message },
			{ type: 'content_block_start', index: 0, content_block: { ...block, ...(tool ? { input: {} } : { text: '' }) } },
			{ type: 'content_block_delta', index: 0, delta },
			{ type: 'content_block_stop', index: 0 },
			{ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
			{ type: 'message_stop' },
		].map((x) => event(x.type, x));
	},
};

const responses = {
	path: /\/responses/,
	results: (body) => lastOf(body.input, (i) => i.type === 'function_call_output').map((i) => textOf(i.output)),
	say(body, n, step, tool) {
		const item = tool
			? { type: 'function_call', id: `fc_${n}`, call_id: `call_${n}`, name: tool.name, arguments: JSON.stringify(step.input),
				status: 'completed', ...(tool.space ? { namespace: tool.space } : {}) }
			: { type: 'message', id: `m_${n}`, role: 'assistant', status: 'completed',
				content: [{ type: 'output_text', text: step.text, annotations: [] }] };
		const response = { id: `resp_${n}`, object: 'response', status: 'completed', model: body.model, output: [item],
			usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 0 }, output_tokens: 5,
				output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 105 } };
		if (!body.stream)
			return response;
		return [
			{ type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
			{ type: 'response.output_item.added', output_index: 0, item },
			{ type: 'response.output_item.done', output_index: 0, item },
			{ type: 'response.completed', response },
		].map((x) => event(x.type, x));
	},
};

const chat = {
	path: /\/completions/,
	results: (body) => lastOf(body.messages, (m) => m.role === 'tool').map((m) => textOf(m.content)),
	say(body, n, step, tool) {
		const message = { role: 'assistant', content: tool ? null : step.text, ...(tool ? { tool_calls: [{ index: 0,
			id: `call_${n}`, type: 'function', function: { name: tool.name, arguments: JSON.stringify(step.input) } }] } : {}) };
		const base = { id: `c_${n}`, created: 1, model: body.model };
		const finish_reason = tool ? 'tool_calls' : 'stop';
		const usage = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 };
		const chunk = (delta, why) => ({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: why }] });
		if (!body.stream)
			return { ...base, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage };
		return [chunk(message, null), { ...chunk({}, finish_reason), usage }, '[DONE]'].map((x) => event('', x));
	},
};

const google = {
	path: /enerateContent/,
	results: (body) => lastOf(body.contents, (c) => c.role !== 'model').flatMap((c) => c.parts)
		.filter((p) => p.functionResponse).map((p) => textOf(p.functionResponse.response.output ?? p.functionResponse.response)),
	say(body, n, step, tool, path) {
		const part = tool ? { functionCall: { name: tool.name, args: step.input } } : { text: step.text };
		const answer = { candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
			usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 5, totalTokenCount: 105 }, modelVersion: 'scripted' };
		return path.includes('stream') ? [event('', answer)] : answer;
	},
};

const dialects = [anthropic, responses, chat, google];

// Tools as a client offers them, each with what it costs.
function offered(tools, space) {
	return (tools ?? []).flatMap((t) => t.type === 'namespace' ? offered(t.tools, t.name)
		: t.functionDeclarations ? offered(t.functionDeclarations)
			: [{ name: t.name ?? t.function?.name ?? t.type, space, bytes: Buffer.byteLength(JSON.stringify(t)) }]);
}

const full = (tool) => `${tool.space ?? ''}_${tool.name}`;

export class Model {
	// `script` is a generator: it yields {tool, input}, a tool of cadre's, or of the client's
	// with `own`, or {text}; is given what the client's model is shown of the answer; and
	// returns the last text.
	constructor(script) {
		this.script = script;
		this.requests = [];
		this.calls = 0;
		this.isOver = false; // the script is at its end
	}
	async start() {
		this.server = createServer((req, res) => this.take(req, res));
		await new Promise((done) => this.server.listen(0, '127.0.0.1', done));
		this.base = `http://127.0.0.1:${this.server.address().port}`;
	}
	stop() {
		this.server.closeAllConnections();
		this.server.close();
	}
	async take(req, res) {
		const parts = [];
		for await (const part of req)
			parts.push(part);
		const dialect = dialects.find((d) => d.path.test(req.url) && !/count_?tokens/i.test(req.url));
		let body = {};
		try {
			body = JSON.parse(Buffer.concat(parts).toString());
		} catch { /* a GET has none */ }
		const answer = req.method === 'POST' && dialect ? await this.answer(dialect, body, req.url)
			: { data: [], models: [], object: 'list', input_tokens: 10, totalTokens: 10 };
		const streams = Array.isArray(answer);
		res.writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' });
		res.end(streams ? answer.join('') : JSON.stringify(answer));
	}
	next(shown) {
		try {
			const { value, done } = this.script.next(shown);
			this.isOver ||= done && value !== undefined;
			return done ? { text: value ?? 'nothing more' } : value;
		} catch (e) {
			return { text: e.stack };
		}
	}
	// Requests without tools (titles, summaries) are no part of the script.
	async answer(dialect, body, path) {
		const all = offered(body.tools), tools = all.filter((t) => /cadre/.test(full(t)));
		const seen = { path, tools, others: all.length - tools.length, results: [], body: JSON.stringify(body) };
		this.requests.push(seen);
		if (!all.length)
			return dialect.say(body, 0, { text: 'ok' }, undefined, path);
		seen.results = dialect.results(body);
		const step = this.next(seen.results.join('\n'));
		const tool = step.tool && (step.own ? all.find((t) => t.name === step.tool)
			: tools.find((t) => full(t).endsWith(`_${step.tool}`)));
		if (step.tool && !tool)
			return dialect.say(body, 0, { text: `the client offers no ${step.tool}: ${all.map(full)}` }, undefined, path);
		return dialect.say(body, ++this.calls, step, tool, path);
	}
}
