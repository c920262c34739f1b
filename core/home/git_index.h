/*
 * git_index - reads git's index: which files git tracks in a folder.
 *
 * Files that git tracks come with a clone and are replaced by a pull, even in a folder whose
 * own .gitignore ignores the whole folder. The reader does not run the program `git`. The
 * repository's own configuration could make git run other programs, and perhaps git is not
 * installed.
 *
 * The reader knows versions 2 to 4 of the index, with SHA-1 and SHA-256 names of objects. A
 * split index is read together with the shared index that the split index names. A shared index
 * that no index names is not read. Entries are sorted, so the reader can stop behind the
 * folder's entries. A file of more than 512 MiB or four million entries is not read. An
 * attacker may have written the file, so every byte is checked and every length is bounded.
 */
#ifndef CORE_HOME_GIT_INDEX_H
#define CORE_HOME_GIT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tracked { TRACKED_NOTHING, TRACKED_SOME, TRACKED_UNREADABLE };

/* Whether git tracks files in `folder`. `folder` is an absolute path, in which only the last
 * name may be a link. The indexes of all repositories around the folder are read. */
enum tracked tracked_look(const char *folder);

/* Whether any repository is around the folder, so that git may write there. */
bool git_may_track(const char *folder);

enum { TRACKED_SUM = 64 }; /* hexadecimal digits of a sum */

/* Computes the sum of the folder's settings (`cadre.toml`) and, with `files`, of the files that
 * git tracks in the folder (the entries of the indexes). For an index that cannot be read, the
 * sum covers its inode, size and times, so each write changes the sum. */
void git_tracked_sum(const char *folder, bool files, char sum[TRACKED_SUM + 1]);

#endif
