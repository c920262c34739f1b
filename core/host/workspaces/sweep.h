/*
 * sweep - removes things that an earlier host left and no row knows.
 *
 * Folders of workspaces that were destroyed, or half made, when the host before died
 * are removed.  A guest that runs though no row knows its workspace is of a former
 * state, in whose place a backup or a new state was put: it is ended, after
 * `replaced` in the state folder says durably that folders of workspaces are to be left
 * alone; without that it is left to run.
 */
#ifndef CORE_HOST_WORKSPACES_SWEEP_H
#define CORE_HOST_WORKSPACES_SWEEP_H

struct host;

/* Starts the sweep, once, when the rows have been read for the first time: no workspace
 * has been made by this host yet, so nothing unknown is too new.  Both happen with the
 * thread pool: host->reconcile->sweeping is set until guests have been ended, or have not
 * within ten seconds, which the log says; folders are removed beside what is started. */
void sweep_start(struct host *host);

#endif
