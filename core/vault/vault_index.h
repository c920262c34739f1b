/*
 * vault_index - updates the index from the vault's files, and reads tags.
 */
#ifndef CORE_VAULT_VAULT_INDEX_H
#define CORE_VAULT_VAULT_INDEX_H

#include "core/vault/vault.h"
#include "storage/search/search_vault.h"

/* Looks for changed notes and indexes them, in about `ms` milliseconds at most. With
 * SEARCH_OWN, leaves out mirrored notes, and after a slow look does not look again at once. So
 * a search may find a new note only a second after the note was written. In folders where the
 * mirror has thousands of files, this delay may be half a minute. Sets `*whole` to true if all
 * changed notes that this look found are indexed, and this process can enter every folder that
 * the caller may see. */
int vault_index(struct call *call, struct search *s, enum search_vault which, int64_t ms,
		bool *whole);

/* The tags of a note with this text, in the call's arena. A note whose frontmatter cannot be
 * read has no tags. */
size_t vault_tags_of(struct call *call, const char *path, const struct text *text,
		     const char ***tags);

/* Whether a note is in a folder ("" is the root), and the caller may see the note. */
bool vault_finds(struct call *call, const char *folder, const char *path);

#endif
