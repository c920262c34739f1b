#!/bin/sh
# when - a person writes times as `10m`, `14:00`, `yesterday` or a date, in the local time zone.
set -u
. "$(dirname "$0")/../lib/story.sh"
export TZ=Asia/Tokyo
cadre team create crew --roles ann >/dev/null 2>&1 && cadre task create first >/dev/null && cadre send ann hello >/dev/null || bad "team"
for since in 10m '10 min ago' '2 hours ago' 1d 3w 0:00 00:00:00 today 'today 00:00' yesterday \
	'yesterday 14:00' "$(date +%Y-%m-%d)" '2026-01-31 09:00' 2026-01-31T09:00:00 2026-01-31T09:00:00Z; do
	is 0 'task.created' cadre events --since "$since"
done
is 0 hello cadre history ann --since 10m --until now
for since in now "$(date -d 'next year' +%Y-%m-%d)"; do
	cadre events --since "$since" | grep -q task.created && bad "events since $since"
done
# An hour in Tokyo is another hour in UTC.
is 0 'task.created' cadre events --until "$(date -d '5 minutes' '+%Y-%m-%d %H:%M:%S')"
cadre events --until "$(TZ=UTC date -d '5 minutes' '+%Y-%m-%d %H:%M:%S')" | grep -q task.created && bad "the time is taken as UTC"
for odd in '' 10 m10 '10m later' tomorrow 25:00 2026-13-01 '14:00 yesterday' 99999999w; do
	is 2 'must be a time such as' cadre events --since "$odd"
done
exit $failed
