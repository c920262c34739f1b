/*
 * vault_index - updating the index from the vault's files, and reading tags.
 */
#ifndef CORE_VAULT_VAULT_INDEX_H
#define CORE_VAULT_VAULT_INDEX_H

#include "core/vault/vault.h"
#include "storage/search/search_vault.h"

/* Indexes the notes that changed since the last look, for about `ms`. With SEARCH_OWN, mirrored
 * notes are left out, and a look that took long is not repeated at once. So a note that was
 * written meanwhile is found up to a second later. Among thousands of files of the mirror, a
 * note is found up to half a minute later. *whole: every change that the look found is indexed,
 * and no folder that the caller may see is closed to this process. */
int vault_index(struct call *call, struct search *s, enum search_vault which, int64_t ms,
		bool *whole);

/* The tags of a note with this text, in the call's arena; no tags if its frontmatter cannot be
 * read. */
size_t vault_tags_of(struct call *call, const char *path, const struct text *text,
		     const char ***tags);

/* Whether a note is in a folder ("" the root) and the caller may see it. */
bool vault_finds(struct call *call, const char *folder, const char *path);

#endif
