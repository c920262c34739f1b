// clients - how each client is told where its model is, that cadre is its MCP server, and what
// its hooks are.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const put = (path, text) => {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, typeof text === 'string' ? text : JSON.stringify(text));
};
const text = 'Begin.';
const hooksOf = (names, command) => Object.fromEntries(names.map((n) => [n, [{ hooks: [{ type: 'command', command }] }]]));
const events = ['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'Stop', 'SubagentStop', 'SessionEnd'];

// Each has `tokens`, the longest answer that docs/mcp.md promises it, and `setup`, which
// writes the client's configuration and returns its command and variables; `hooks`, behind
// that, writes what runs `cadre hook` and returns further words of the command.  `stays`: a
// hook keeps a turn of it going.  `shell`: its tool for commands, and the argument of that.
export const clients = {
	claude: {
		name: 'claude-code', tokens: 10000, stays: true, shell: ['Bash', 'command'],
		hooks({ home, cadre }) {
			put(`${home}/.claude/settings.json`, { hooks: hooksOf(events, `'${cadre}' hook claude`) });
			return [];
		},
		setup({ home, base, server }) {
			put(`${home}/mcp.json`, { mcpServers: { cadre: server } });
			return {
				words: ['-p', text, '--mcp-config', `${home}/mcp.json`, '--allowedTools', 'mcp__cadre'],
				env: { ANTHROPIC_BASE_URL: base, ANTHROPIC_API_KEY: 'none', DISABLE_AUTOUPDATER: '1',
					CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', ENABLE_TOOL_SEARCH: 'false' },
			};
		},
	},
	codex: {
		name: 'codex-mcp-client', tokens: 2500, stays: true, shell: ['exec_command', 'cmd'],
		hooks({ home, cadre }) {
			put(`${home}/.codex/hooks.json`, { hooks: hooksOf(events, `'${cadre}' hook codex`) });
			return ['--dangerously-bypass-hook-trust'];
		},
		setup({ home, base, server }) {
			put(`${home}/.codex/config.toml`, `model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "${base}/v1"
wire_api = "responses"
env_key = "NO_KEY"
[mcp_servers.cadre]
command = ${JSON.stringify(server.command)}
args = ${JSON.stringify(server.args)}
default_tools_approval_mode = "approve"
`);
			return { words: ['exec', '--skip-git-repo-check', text], env: { NO_KEY: 'none' } };
		},
	},
	gemini: {
		name: 'gemini-cli-mcp-client', tokens: 8000, stays: true, shell: ['run_shell_command', 'command'],
		hooks({ home, cadre }) {
			const path = `${home}/.gemini/settings.json`, settings = JSON.parse(readFileSync(path));
			settings.hooks = hooksOf(['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent', 'SessionEnd'],
				`'${cadre}' hook gemini`);
			put(path, settings);
			return [];
		},
		setup({ home, base, server }) {
			put(`${home}/.gemini/settings.json`, { mcpServers: { cadre: server },
				security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false } });
			return {
				words: ['--yolo', '--skip-trust', '-m', 'gemini-2.5-flash', '-p', text],
				env: { GOOGLE_GEMINI_BASE_URL: base, GEMINI_API_KEY: 'none' },
			};
		},
	},
	opencode: {
		name: 'opencode', tokens: 10000, stays: false, shell: ['bash', 'command'],
		hooks({ home, cadre }) {
			put(`${home}/.config/opencode/plugins/cadre.js`, execFileSync(cadre, ['hook', 'opencode', '--plugin'], { encoding: 'utf8' }));
			return [];
		},
		setup({ home, base, server }) {
			put(`${home}/.config/opencode/opencode.json`, {
				autoupdate: false,
				provider: { scripted: { npm: '@ai-sdk/openai-compatible', name: 'scripted',
					options: { baseURL: `${base}/v1`, apiKey: 'none' }, models: { m: { name: 'm' } } } },
				mcp: { cadre: { type: 'local', command: [server.command, ...server.args] } },
			});
			return { words: ['run', '-m', 'scripted/m', text], env: { OPENCODE_DISABLE_MODELS_FETCH: '1' } };
		},
	},
};
