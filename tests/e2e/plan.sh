#!/bin/sh
# A command makes a team from the plan in a file. The team's members do the tasks in the order
# of the plan.
. "$(dirname "$0")/../lib/story.sh"
cd "$TMPDIR" || exit 1

cat >sprint.toml <<'T'
[team]
name = "sprint"
max_vms = 3

[[team.roles]]
name = "backend"
skills = ["rust"]
count = 2

[[team.roles]]
name = "frontend"

[[team.tasks]]
id = "003"
name = "Build the page"
assign_to = "frontend"
depends_on = ["001"]

[[team.tasks]]
id = "001"
name = "Design the API"
assign_to = "lead"
priority = 1

[[team.tasks]]
id = "002"
name = "Implement the endpoints"
assign_to = "backend"
depends_on = ["001"]
T
is 0 '^created team sprint: backend-1, backend-2, frontend, lead; 3 tasks on its board' cadre team create sprint --plan @sprint.toml
is 0 '^001\t.*Design the API' cadre tasks
as() { (eval "$(cadre agent env "$1")"; shift; "$CADRE" "$@"); } # AGENT WORD...
# Only the lead has work before task 001 is done. Then the frontend and one backend have work.
either=yes
is 8 'no task' as frontend claim
is 0 'Design the API' as lead claim
is 0 . as lead done
is 0 'Build the page' as frontend claim
is 0 'Implement the endpoints' as backend-1 claim
is 8 'no task' as backend-2 claim
either=

# If a plan has an error, no team is made, and the fault names the line with the error.
sed '17s/001/004/' sprint.toml >wrong.toml
is 2 'plan:17:1: the plan has no task 004' cadre team create wrong --plan @wrong.toml
is 3 'cannot open nothing.toml' cadre team create wrong --plan @nothing.toml
is 0 '^sprint\t' cadre team list
cadre team list | grep -q wrong && bad "a team was made"
exit "$failed"
