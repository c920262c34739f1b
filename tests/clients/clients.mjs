// clients - how each client is told where its model is and that cadre is its MCP server.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const put = (path, text) => {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, typeof text === 'string' ? text : JSON.stringify(text));
};
const text = 'Begin.';

// Each has `tokens`, the longest answer that docs/mcp.md promises it, and `setup`, which
// writes the client's configuration and returns its command and variables.
export const clients = {
	claude: {
		name: 'claude-code', tokens: 10000,
		setup({ home, base, server }) {
			put(`${home}/mcp.json`, { mcpServers: { cadre: server } });
			return {
				words: ['-p', text, '--mcp-config', `${home}/mcp.json`, '--allowedTools', 'mcp__cadre'],
				env: { ANTHROPIC_BASE_URL: base, ANTHROPIC_API_KEY: 'none', DISABLE_AUTOUPDATER: '1',
					CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
			};
		},
	},
	codex: {
		name: 'codex-mcp-client', tokens: 2500,
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
		name: 'gemini-cli-mcp-client', tokens: 8000,
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
		name: 'opencode', tokens: 10000,
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
