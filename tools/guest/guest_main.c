/*
 * guest_main - the program that a VM runs as init, as the guest, and as the command `cadre`.
 *
 * As process 1 the program is init. Any other process of the program is the command `cadre`,
 * with the verbs that need no state on the same machine. The verb `guest` is the guest.
 */
#include "core/base/version.h"
#include "guest/guest_boot.h"
#include "tools/cadre/cli.h"

/* clang-format off */
const struct verb verb_table[] = {
	{ "mcp", "[--toolsets SETS] [--output-schemas]", "Serve MCP on standard input and output.", "start", mcp_verb, 0 },
	{ "whoami", "", "Show who you are here.", "start", whoami_main, 0 },
	{ "prime", "", "Print your name, your tasks and your waiting mail, for a model.", "start", prime_main, 0 },
	{ "hook", "claude|codex|gemini|cursor|opencode [--plugin]", "As a hook of a client: tell its model what is new.", "start", hook_main, 0 },
	{ "setup", "[CLIENT...|all|--detect] [OPTIONS]", "Add cadre to the configuration of clients such as Claude Code.", "start", setup_main, 0 },
	{ "help", "[VERB...]", "Explain a verb.", "start", help_main, 0 },
	{ "version", "", "Print the version.", "start", version_main, 0 },
	{ "guest", NULL, "Run a workspace's guest; init starts it.", NULL, guest_verb, 0 },
	{ NULL, NULL, NULL, NULL, NULL, 0 },
};
/* clang-format on */

int main(int argc, char **argv)
{
	if (boot_is_wanted())
		boot_main(CADRE_VERSION);
	return cli_main(argc, argv);
}
