#include "tests/lib/user.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>

char root[64];

void shell(const char *fmt, ...)
{
	char command[1000];
	int status;
	pid_t child;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	child = fork();
	if (!child) {
		if (chdir(root))
			_exit(1);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child || status)
		fail_msg("%s", command);
}

int set_up(void **state)
{
	static const char *const names[] = { "CADRE_HOME",     "CADRE_TEAM",
					     "CADRE_AGENT",    "CADRE_TOKEN",
					     "CADRE_SOCKET",   "CADRE_SESSION",
					     "XDG_STATE_HOME", "XDG_CONFIG_HOME",
					     "XDG_RUNTIME_DIR" };
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	snprintf(root, sizeof(root), "/tmp/cadre-home-XXXXXX");
	assert_non_null(mkdtemp(root));
	setenv("HOME", root, 1);
	setenv("TMPDIR", root, 1);
	assert_int_equal(chdir(root), 0);
	shell("mkdir -p .config/cadre");
	return 0;
}

int tear_down(void **state)
{
	(void)state;
	assert_int_equal(chdir("/"), 0);
	shell("rm -rf %s", root);
	return 0;
}
