/*
 * boats - the command `cadre` with one more noun, which only this test defines.
 *
 * The program links the objects of the command with the tables of schema/ and of
 * tests/boats/boat.op. This file holds the handlers of the boat operations. Without arguments
 * the program runs the test tests/boats/doors, which calls the boat operations at every door.
 */
#include "boats.gen.h"

#include "boats.gen.c"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/call/call.h"
#include "tools/cadre/reference.h"

int command(int argc, char **argv);

#define main command
#include "tools/cadre/main.c"
#undef main

static struct boat fleet[] = { { "argo", "Iolcos" }, { "beagle", "Devonport" } };

int boat_list(struct call *call, const struct boat_list_in *in, struct boat_list_out *out)
{
	(void)call, (void)in;
	out->boats = fleet;
	out->n_boats = sizeof(fleet) / sizeof(*fleet);
	return 0;
}

int boat_build(struct call *call, const struct boat_build_in *in,
	       struct boat_build_out *out)
{
	(void)call;
	out->boat = (struct boat){ .name = in->name, .berth = "stocks" };
	return 0;
}

int boat_register(struct call *call, const struct boat_register_in *in,
		  struct boat_register_out *out)
{
	(void)call;
	out->papers = in->papers;
	out->yard = in->yard;
	out->haven = in->haven;
	out->mark = in->mark;
	return 0;
}

int boat_await(struct call *call, const struct boat_await_in *in,
	       struct boat_await_out *out)
{
	out->waited = call->waited;
	if (in->moored && !call->waited) {
		call->wait_on = WAKE_EVENT;
		call->wait_key = call->caller.team;
	}
	return 0;
}

int boat_load(struct call *call, const struct boat_load_in *in, struct boat_load_out *out)
{
	(void)call;
	out->size = (int64_t)strlen(in->cargo);
	return 0;
}

int boat_unload(struct call *call, const struct boat_unload_in *in,
		struct boat_unload_out *out)
{
	(void)call, (void)in;
	out->cargo = "bGltZXMA"; /* "limes" and a NUL */
	return 0;
}

/* Checks the right to reach the workspace, as each operation on a workspace does. */
int boat_hoist(struct call *call, const struct boat_hoist_in *in,
	       struct boat_hoist_out *out)
{
	const struct workspace_set_env_in where = { .workspace = in->workspace,
						    .team = in->team };
	struct workspace_set_env_out none = { 0 };

	(void)out;
	return workspace_set_env(call, &where, &none);
}

/* Prints the operation and the arguments that the HTTP door finds in a request. */
static int print_route(const char *method, const char *path)
{
	json_t *args = json_object();
	const struct face *face;
	const struct op *op = op_route(method, path, &face, args);

	printf("%s ", op ? op->name : "none");
	json_dumpf(args, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(args);
	return 0;
}

/* Prints the reference of all operations in the form for doors that serve routes. */
static int print_reference(void)
{
	struct text out = { 0 };

	reference_write(REFERENCE_ROUTES, &out);
	fwrite(out.data, 1, out.len, stdout);
	text_release(&out);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "route") == 0)
		return print_route(argv[2], argv[3]);
	if (argc == 2 && strcmp(argv[1], "routes") == 0)
		return print_reference();
	if (argc > 1)
		return command(argc, argv);
	setenv("CADRE", argv[0], 1);
	execlp("sh", "sh", "tests/boats/doors", NULL);
	return 1;
}
