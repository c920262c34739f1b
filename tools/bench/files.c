/* Acts with files and commands: the vault of a large board, a file of a workspace, a command of
 * cadre. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "core/mirror/mirror.h"
#include "tools/bench/load.h"

enum { FILE_BYTES = 420, WORDS = 8 };

/* --- the vault ------------------------------------------------------------------------- */

/* Runs the mirror until all files are written, including the summaries. */
static int file_show(struct stage *s, struct series *out)
{
	struct store *store = NULL;
	struct mirror *m = NULL;
	struct fault f = { 0 };
	bool more = true;
	int64_t begun;
	int rc = 0;

	if (store_open(&store, s->home.dir, STORE_CREATE | STORE_NO_CHECKPOINT, NULL, &f))
		return bench_fail_fault("store", &f);
	begun = bench_now();
	rc = mirror_open(&m, &s->home, &f);
	while (rc >= 0 && (more || mirror_due(m) >= 0))
		rc = mirror_step(m, store, 1000, &more, &f);
	mirror_close(m);
	series_add(out, bench_ms(begun));
	store_close(store);
	return rc < 0 ? bench_fail_fault("the mirror", &f) : 0;
}

/* Shows a fresh state of a.batch tasks as files. The state must be fresh, since the mirror does
 * not rewrite existing files. */
int act_mirror(struct scene *scene, const struct act *a, struct series *out)
{
	struct stage *s = &scene->stages[0];
	int rc = stage_open(s, scene->ground, "mirror") || stage_team(s, 8, 0) ||
		 fill_tasks(s, a->batch) || file_show(s, out);

	stage_close(s);
	return rc;
}

/* Writes a.batch new files. The files are not synced, since lost pages of a mirror are made
 * anew. At the end all data is written to the disk, so that the disk is idle when the other act
 * begins. */
int act_plain_files(struct scene *s, const struct act *a, struct series *out)
{
	char dir[256], path[300], bytes[FILE_BYTES];
	int64_t begun;
	int fd, root;

	memset(bytes, 'x', sizeof(bytes));
	if (ground_folder(s->ground, "plain", dir))
		return -1;
	begun = bench_now();
	for (int i = 0; i < a->batch; i++) {
		snprintf(path, sizeof(path), "%s/%d.md", dir, i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 || load_write_all(fd, bytes, sizeof(bytes)) || close(fd))
			return bench_fail("%s: %m", path);
	}
	series_add(out, bench_ms(begun));
	root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || syncfs(root))
		return bench_fail("%s: %m", dir);
	close(root);
	return 0;
}

/* --- a file of a workspace ---------------------------------------------------------------- */

/* Opens a scene with a guest that has a file. */
int scene_file(struct scene *s)
{
	static const char script[] =
		"cd \"$0\" && mkdir d && head -c \"$1\" /dev/urandom >d/file"
		" && exec \"$2\" guest --dir \"$0/d\" --state \"$0/g\"";
	char size[20], path[300];
	int fd = -1;
	const char *const argv[] = { "sh", "-c", script, s->dir, size, s->ground->self,
				     NULL };

	snprintf(size, sizeof(size), "%d", LOAD_PARTS * LOAD_PART);
	if (scene_folder(s))
		return -1;
	s->guest = bench_start_program(&(struct start){ .argv = argv });
	snprintf(path, sizeof(path), "%s/g/control.sock", s->dir);
	for (int i = 0; i < 2000 && fd < 0; i++, bench_rest(0.01))
		fd = load_connect(path);
	return fd < 0 ? bench_fail("no guest at %s", path) : close(fd);
}

/* Measures the speed of copying the file with fsync, in MB a second. */
int act_copy(struct scene *s, const struct act *a, struct series *out)
{
	const double mb = (double)LOAD_PARTS * LOAD_PART / 1e6;
	char from[300], to[300];
	int64_t begun = bench_now();
	int in, copy;

	(void)a;
	snprintf(from, sizeof(from), "%s/d/file", s->dir);
	snprintf(to, sizeof(to), "%s/copy", s->dir);
	in = open(from, O_RDONLY | O_CLOEXEC);
	copy = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	while (sendfile(copy, in, NULL, 64 << 20) > 0)
		;
	if (in < 0 || fsync(copy))
		return bench_fail("%s: %m", to);
	series_rate(out, mb / (bench_ms(begun) / 1e3));
	close(in);
	close(copy);
	return unlink(to);
}

/* --- commands ------------------------------------------------------------------------------ */

/* A client's event, for a hook that reads the event from stdin. The other commands do not read
 * stdin. */
static int file_event(struct scene *s)
{
	static const char event[] = "{\"hook_event_name\":\"PostToolUse\",\"session_id\":"
				    "\"s\",\"cwd\":\"/\",\"tool_name\":\"Bash\"}";
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/event", s->stages[0].dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return load_write_all(fd, event, sizeof(event) - 1) || lseek(fd, 0, SEEK_SET)
		       ? -1
		       : fd;
}

/* Runs a command of cadre from start to end. If the command's stage has a host, the host runs
 * at the same time. */
int act_command(struct scene *s, const struct act *a, struct series *out)
{
	struct stage *stage = &s->stages[a->stage];
	const char *argv[WORDS + 4] = { s->ground->self, "--home", stage->dir };
	struct start start = { .argv = argv, .in = file_event(s) };
	int64_t begun;
	int rc;

	for (int i = 0; i < WORDS && a->words[i]; i++)
		argv[3 + i] = a->words[i];
	begun = bench_now();
	rc = bench_run_program(&start);
	series_add(out, bench_ms(begun));
	close(start.in);
	return rc ? bench_fail("cadre %s failed", a->words[0]) : 0;
}
