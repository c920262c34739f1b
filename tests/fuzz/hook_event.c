/*
 * hook_event - reads any bytes as the event of a client.
 *
 * A JSON object with an event's name is read, whatever other fields the object has. Every text
 * that is kept from the event has a limited length.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/cadre/hook/hook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The event's name according to another JSON reader, or NULL if the two readers may differ. The
 * two readers may differ if a key appears twice, or if the text contains an escape. */
static const char *name_of(const json_t *event, const uint8_t *data, size_t size)
{
	const char *name = json_string_value(json_object_get(event, "hook_event_name"));
	size_t n = json_string_length(json_object_get(event, "hook_event_name"));

	return name && n > 0 && n < sizeof(((struct hook_event *)0)->name) &&
			       !memmem(data, size, "\\u", 2)
		       ? name
		       : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("event", MFD_CLOEXEC);
	json_t *event =
		json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
	const char *name = name_of(event, data, size);
	struct fault f = { 0 };
	struct hook_event e;
	int rc;

	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size &&
	       !lseek(fd, 0, SEEK_SET));
	rc = event_read(fd, &e, &f);
	assert((rc == 0) == (f.code == FAULT_NONE));
	assert(memchr(e.name, '\0', sizeof(e.name)) &&
	       memchr(e.cwd, '\0', sizeof(e.cwd)) &&
	       memchr(e.tool, '\0', sizeof(e.tool)) &&
	       memchr(e.inner, '\0', sizeof(e.inner)));
	if (name)
		assert(rc == 0 && !strcmp(e.name, name));
	assert(json_array_size(e.paths) <= HOOK_FILES);
	event_release(&e);
	json_decref(event);
	close(fd);
	return 0;
}
