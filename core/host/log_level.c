/* log_level - the level of the host's log, as the configuration has it at the moment. */
#include "core/home/home_config.h"
#include "core/host/host_inside.h"

struct log_watch {
	enum log_level level; /* of the log */
	struct config_watch configured;
};

static void log_watch_make(struct host *host)
{
	host->log_watch->level = (enum log_level)host->settings.config.log_level;
}

/* Takes over a change of log.level. */
static void log_level_tick(struct host *host)
{
	enum log_level level = LOG_LEVEL_INFO;
	struct fault f = { 0 };

	if (!config_watch_look(&host->log_watch->configured, host->home))
		return;
	if (config_watch_level(host->home, &level, &f) < 0) {
		log_line(host->log, LOG_LEVEL_WARN,
			 "the configuration cannot be read anew", LOG_FAULT(&f));
		return;
	}
	if (level == host->log_watch->level)
		return;
	/* The line is news, which the former level or the new one may take. */
	if (level > host->log_watch->level)
		log_set_level(host->log, level);
	log_line(host->log, LOG_LEVEL_INFO, "the log has another level",
		 LOG_TEXT("to", log_level_name(level)));
	log_set_level(host->log, level);
	host->log_watch->level = level;
}

const struct host_room room_log_watch = {
	.size = sizeof(struct log_watch),
	.make = log_watch_make,
	.tick = log_level_tick,
};
