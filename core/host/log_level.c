#include "core/host/log_level.h"

#include "core/host/host_inside.h"

void log_level_tick(struct host *host)
{
	enum log_level level = LOG_LEVEL_INFO;
	struct fault f = { 0 };

	if (!config_watch_look(&host->configured, host->home))
		return;
	if (config_watch_level(host->home, &level, &f) < 0) {
		log_line(host->log, LOG_LEVEL_WARN,
			 "the configuration cannot be read anew", LOG_FAULT(&f));
		return;
	}
	if (level == host->level)
		return;
	/* The line is news, which the former level or the new one may take. */
	if (level > host->level)
		log_set_level(host->log, level);
	log_line(host->log, LOG_LEVEL_INFO, "the log has another level",
		 LOG_TEXT("to", log_level_name(level)));
	log_set_level(host->log, level);
	host->level = level;
}
