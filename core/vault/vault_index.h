/*
 * vault_index - updates the index from the vault's files, and reads tags.
 */
#ifndef CORE_VAULT_VAULT_INDEX_H
#define CORE_VAULT_VAULT_INDEX_H

#include "core/vault/vault.h"
#include "storage/search/search_vault.h"

/* Indexes the notes that changed since the last look, for about `ms` milliseconds. With
 * SEARCH_OWN, mirrored notes are left out, and a look that took long is not repeated at once.
 * So a note that was written since the last look may be found only a second later. Among
 * thousands of files of the mirror, a note may be found only half a minute after its change.
 * Sets `*whole` if every change of this look is indexed, and every folder that the caller may
 * see can be entered by this process. */
int vault_index(struct call *call, struct search *s, enum search_vault which, int64_t ms,
		bool *whole);

/* The tags of a note with this text, in the call's arena. A note whose frontmatter cannot be
 * read has no tags. */
size_t vault_tags_of(struct call *call, const char *path, const struct text *text,
		     const char ***tags);

/* Whether a note is in a folder ("" is the root), and the caller may see the note. */
bool vault_finds(struct call *call, const char *folder, const char *path);

#endif
