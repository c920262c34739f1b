/*
 * form - the events of each client at which cadre does something, and what the client takes
 * there.
 *
 * docs/clients.md says where each of these facts comes from.  An event that is not here is
 * passed over.
 */
#include <string.h>

#include "tools/cadre/hook/hook.h"

#define CONTEXT "{\"hookSpecificOutput\":{\"hookEventName\":@,\"additionalContext\":$}}"

/* Codex has taken over the forms of Claude Code. */
static const struct hook_rule claude[] = {
	{ "SessionStart", HOOK_START, CONTEXT },
	{ "UserPromptSubmit", HOOK_ALL, CONTEXT },
	{ "PostToolUse", HOOK_URGENT, CONTEXT },
	{ "PreToolUse", HOOK_TOOL,
	  "{\"hookSpecificOutput\":{\"hookEventName\":@,\"permissionDecision\":\"deny\","
	  "\"permissionDecisionReason\":$}}" },
	{ "Stop", HOOK_URGENT, "{\"decision\":\"block\",\"reason\":$}" },
	{ "SessionEnd", HOOK_END, "" },
	{ NULL, 0, NULL },
};

static const struct hook_rule gemini[] = {
	{ "SessionStart", HOOK_START, CONTEXT },
	{ "BeforeAgent", HOOK_ALL, CONTEXT },
	{ "AfterTool", HOOK_URGENT, CONTEXT },
	{ "BeforeTool", HOOK_TOOL, "{\"decision\":\"deny\",\"reason\":$}" },
	{ "AfterAgent", HOOK_URGENT, "{\"decision\":\"deny\",\"reason\":$}" },
	{ "SessionEnd", HOOK_END, "" },
	{ NULL, 0, NULL },
};

/* A prompt takes no context here: news comes behind the next tool. */
static const struct hook_rule cursor[] = {
	{ "sessionStart", HOOK_START, "{\"additional_context\":$}" },
	{ "postToolUse", HOOK_ALL, "{\"additional_context\":$}" },
	{ "preToolUse", HOOK_TOOL,
	  "{\"permission\":\"deny\",\"user_message\":$,\"agent_message\":$}" },
	{ "stop", HOOK_URGENT, "{\"followup_message\":$}" },
	{ NULL, 0, NULL },
};

/* The names are those of plugin.c, which asks. */
static const struct hook_rule opencode[] = {
	{ "session.start", HOOK_START, "{\"context\":$}" },
	{ "chat.message", HOOK_ALL, "{\"context\":$}" },
	{ "tool.execute.after", HOOK_URGENT, "{\"context\":$}" },
	{ "tool.execute.before", HOOK_TOOL, "{\"deny\":$}" },
	{ "session.idle", HOOK_NUDGE, "{\"prompt\":$}" },
	{ NULL, 0, NULL },
};

static const char *const claude_writes[] = { "Edit", "MultiEdit", "NotebookEdit", "Write",
					     NULL };
static const char *const codex_writes[] = { "apply_patch", NULL };
static const char *const gemini_writes[] = { "replace", "write_file", NULL };
static const char *const cursor_writes[] = { "Delete", "Edit", "Write", NULL };
static const char *const opencode_writes[] = { "apply_patch", "edit", "write", NULL };

/* Claude Code passes on 10,000 characters, and only the first 2,000 of a longer text; Codex passes
 * on 2,500 tokens.  The limits below leave room for the additions of text_add_said(). */
enum { CLAUDE_TOKENS = 2100, CODEX_TOKENS = 2100 };

const struct hook_client hook_clients[] = {
	{ "claude", "claude-code", claude, claude_writes, CLAUDE_TOKENS },
	{ "codex", NULL, claude, codex_writes, CODEX_TOKENS },
	{ "gemini", NULL, gemini, gemini_writes, 0 },
	{ "cursor", NULL, cursor, cursor_writes, 0 },
	{ "opencode", NULL, opencode, opencode_writes, 0 },
	{ NULL, NULL, NULL, NULL, 0 },
};

void form_fill(struct text *out, const struct hook_rule *rule, const char *text)
{
	for (const char *s = rule->form; *s; s++)
		if (*s == '$')
			text_add_json(out, text);
		else if (*s == '@')
			text_add_json(out, rule->event);
		else
			text_add(out, s, 1);
	text_add(out, "\n", 1);
}
