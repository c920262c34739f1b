# said - functions for stories that use git repositories and have no state folder.
#
# A story sources this file by its path, $(dirname "$0")/../lib/said.sh.
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
unset CADRE_HOME
either=yes
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null

git() { command git -c user.name=m -c user.email=m@x -c protocol.file.allow=always "$@" >/dev/null 2>&1; }
