/*
 * page_verb - prints an address with which a browser can log in once.
 */
#include <stdio.h>
#include <string.h>

#include "ops.gen.h"
#include "tools/cadre/cli.h"

/* Reads the URL at which the host answers over HTTP. */
static int read_endpoint(const struct cli *cli, char url[128], struct fault *f)
{
	char path[4200];
	FILE *in;

	snprintf(path, sizeof(path), "%s/endpoint", cli->home.dir);
	in = fopen(path, "re");
	url[0] = '\0';
	if (in && fgets(url, 128, in))
		url[strcspn(url, "\n")] = '\0';
	if (in)
		fclose(in);
	if (url[0])
		return 0;
	fault_set(f, FAULT_UNAVAILABLE, "", "no host answers over HTTP");
	return fault_hint(f, "Start a host: cadre up. http.enabled has to be true.");
}

int page_main(struct cli *cli, int argc, char **argv)
{
	bool observer = argc == 2 && strcmp(argv[1], "--observer") == 0;
	struct fault f = { 0 };
	json_t *answer;
	char url[128];

	if (argc > 1 && !observer)
		return cli_usage(cli, "`%s` takes only --observer", argv[0]);
	if (cli_client(cli, HOME_LOOK, &f) < 0 || read_endpoint(cli, url, &f) < 0)
		return cli_fault(cli, &f);
	answer =
		run_args(cli, op_token_code, json_pack("{sb}", "observer", observer), &f);
	if (!answer)
		return cli_fault(cli, &f);
	printf(cli->json ? "{\"url\":\"%s/login?code=%s\"}\n" : "%s/login?code=%s\n", url,
	       json_find_text(answer, "code"));
	json_decref(answer);
	return 0;
}
