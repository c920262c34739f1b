/*
 * screen_needs - prints the things that need the person: the name of each, its words, and the
 * command that settles the need.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cadre/screen/screen.h"

bool screen_is_needs(const struct record *r)
{
	return field_find(r, "command") != NULL;
}

/* The name of a need, behind the name of the need's team if the answer is about several teams. */
static const char *needs_name(struct arena *a, const json_t *need)
{
	const char *team = json_text_at(need, "team"), *name = json_text_at(need, "name");

	return cli_plain(a,
			 arena_printf(a, "%s%s%s", team, *team && *name ? " " : "", name),
			 false);
}

/* Prints the text of a need, how long the need exists, and the command that settles the need.
 * All of it is on one line if it fits. Otherwise the last two are on a line of their own, or each
 * of them. A command is not broken: it moves to the left instead. */
static void needs_print_one(const struct cli *cli, struct arena *a, const json_t *need,
			    int at)
{
	const char *text = cli_plain(a, json_text_at(need, "text"), false),
		   *command = cli_plain(a, json_text_at(need, "command"), false),
		   *since = json_find_text(need, "since");
	const char *ago = since ? screen_time(cli, a, since) : "",
		   *gap = *ago && *command ? "  " : "";
	const int has = (int)cli_width(text) + 2 * INDENT, room = cli->width - at,
		  taken = (int)(cli_width(ago) + strlen(gap));
	int width;

	command = *command ? arena_printf(a, "-> %s", command) : "";
	width = (int)cli_width(command);
	if (has + taken + width <= room) {
		printf("%s  %s%s%s%s%s\n", text, screen_dim(cli), ago, gap, command,
		       screen_plain(cli));
		return;
	}
	cli_item(cli, text, at);
	if (*ago && taken + width > room) {
		printf("%*s%s%s%s\n", at, "", screen_dim(cli), ago, screen_plain(cli));
		ago = gap = "";
	}
	if (!*ago && width > room)
		at = cli->width - width > INDENT ? cli->width - width : INDENT;
	if (*ago || *command)
		printf("%*s%s%s%s%s%s\n", at, "", screen_dim(cli), ago, gap, command,
		       screen_plain(cli));
}

void screen_needs(const struct cli *cli, const json_t *rows)
{
	struct arena a = { 0 };
	const json_t *need;
	size_t i, width = 0;

	printf("%sNeeds you%s\n", cli->color ? "\033[1m" : "", screen_plain(cli));
	json_array_foreach(rows, i, need) {
		const size_t w = cli_width(needs_name(&a, need));

		width = w > width ? w : width;
	}
	json_array_foreach(rows, i, need) {
		const char *name = needs_name(&a, need);
		const bool mail = !strcmp(json_text_at(need, "what"), "mail");

		printf("%*s%s%s%s%*s", INDENT, "",
		       !cli->color ? ""
		       : mail      ? "\033[33m"
				   : "\033[31m",
		       name, screen_plain(cli), (int)(width - cli_width(name)) + INDENT,
		       "");
		needs_print_one(cli, &a, need, (int)width + 2 * INDENT);
	}
	arena_release(&a);
}
