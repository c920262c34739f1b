/*
 * sweep - what an earlier host left that no row knows.
 *
 * Folders of workspaces that were destroyed, or half made, when the host before died
 * are removed.  A guest that runs though no row knows its workspace is of a former
 * state, in whose place a backup or a new state was put: it is ended, and from then on
 * `replaced` in the state folder says that folders of workspaces are to be left alone.
 */
#ifndef SWEEP_H
#define SWEEP_H

struct host;

/* Once, when the rows have been read for the first time: no workspace has been made by
 * this host yet, so nothing unknown is too new.  Ends on the thread pool; until then
 * host->reconcile.sweeping is set if guests may have to be ended. */
void sweep_start(struct host *host);

#endif
