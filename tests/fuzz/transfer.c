/*
 * Imports an export that has a valid header, any lines, and a valid last line. Either the
 * import fails and leaves the state unchanged, or the import adds sound rows. The added rows
 * can be exported and imported again.
 */
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/transfer/transfer.h"
#include "tests/lib/hooks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char header[] =
	"{\"format\":\"cadre-export\",\"version\":1,\"schema\":1,\"created_at\":1,\"ids\":[1,2,3],"
	"\"counts_from\":0}\n";

static void require(bool so, const char *what, const struct fault *f)
{
	if (so)
		return;
	fprintf(stderr, "%s: %s\n", what, f->text);
	abort();
}

/* Opens the lines for reading, with a valid header before them and a valid last line after
 * them. */
static FILE *whole(const uint8_t *data, size_t size, char **bytes)
{
	uint8_t sum[SHA256_DIGEST_LENGTH];
	size_t n, lines = 0;
	SHA2_CTX c;
	FILE *out = open_memstream(bytes, &n);

	fputs(header, out);
	fwrite(data, 1, size, out);
	if (size && data[size - 1] != '\n')
		fputc('\n', out);
	fflush(out);
	SHA256Init(&c);
	SHA256Update(&c, (const uint8_t *)*bytes, n);
	SHA256Final(sum, &c);
	for (size_t i = 0; i < n; i++)
		lines += (*bytes)[i] == '\n';
	fprintf(out, "{\"end\":%zu,\"sum\":\"", lines);
	for (size_t i = 0; i < sizeof(sum); i++)
		fprintf(out, "%02x", sum[i]);
	fputs("\"}\n", out);
	fclose(out);
	return fmemopen(*bytes, n + strlen(*bytes + n), "r");
}

static int import(struct store *store, const struct settings *settings, FILE *in,
		  struct fault *f)
{
	struct call call = { .store = store,
			     .settings = settings,
			     .identity.level = WHO_HOST,
			     .now = 1795000000000 };
	struct transfer_report report;

	transfer_import(&call, in, NULL, &report);
	*f = call.fault;
	arena_release(&call.arena);
	return f->code;
}

static struct store *open_store(void)
{
	struct store *store = NULL;
	struct fault f = { 0 };

	require(store_open(&store, NULL, STORE_MEMORY, NULL, &f) == 0, "open", &f);
	return store;
}

static bool is_empty(struct store *store)
{
	struct call call = { .store = store };
	struct transfer_begun_row begun = { .so = 1 };

	if (call_begin(&call, false) == 0)
		sql_row(&call, transfer_begun, &begun);
	store_rollback(store);
	arena_release(&call.arena);
	return !begun.so;
}

/* Exports the state and imports the export into another state. */
static void go_round(struct store *store, struct store *other,
		     const struct settings *settings)
{
	struct call call = { .store = store,
			     .settings = settings,
			     .identity.level = WHO_HOST };
	struct transfer_report report;
	struct fault f = { 0 };
	char *bytes = NULL;
	size_t n;
	FILE *out = open_memstream(&bytes, &n), *in;

	require(transfer_export(&call, NULL, out, &report) == 0, "export", &call.fault);
	fclose(out);
	arena_release(&call.arena);
	in = fmemopen(bytes, n, "r");
	require(import(other, settings, in, &f) == 0, "import of what was exported", &f);
	fclose(in);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct store *empty, *store, *other; /* made once, since opening is slow */
	struct settings settings;
	struct fault f = { 0 };
	char *bytes = NULL;
	FILE *in = whole(data, size, &bytes);

	settings_init(&settings);
	if (!empty) {
		empty = open_store();
		store = open_store();
		other = open_store();
	}
	if (import(store, &settings, in, &f) == 0 && !is_empty(store)) {
		require(store_check(store, &f) == 0, "the state is not sound", &f);
		go_round(store, other, &settings);
		store_copy(store, empty, &f);
		store_copy(other, empty, &f);
	}
	require(f.code != FAULT_INTERNAL, "internal", &f);
	require(is_empty(store), "a refused import", &f);
	fclose(in);
	free(bytes);
	return 0;
}
