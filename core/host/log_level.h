/*
 * log_level - the level of the host's log, as the configuration has it at the moment.
 */
#ifndef CORE_HOST_LOG_LEVEL_H
#define CORE_HOST_LOG_LEVEL_H

struct host;

/* Called each second: takes over a change of log.level. */
void log_level_tick(struct host *host);

#endif
