-- Teams that are stopped. A stop pauses leases by adding :far to the end of each lease. The
-- thaw subtracts :far from the end of each lease, and adds :pause, the length of the stop. A
-- lease that is granted during a stop is first shortened by :passed, the part of the stop that
-- had passed before the grant.

-- name: team_stop
UPDATE team SET stopped_at = :now, stopped_by = nullif(:agent, 0)
WHERE id = :team AND stopped_at IS NULL AND destroyed_at IS NULL;

-- name: team_stop_above
-- The team is already stopped by the agent in stopped_by. If an agent of a team above that
-- agent's team stops the team again, stopped_by names the new agent. If the operator stops the
-- team again (:agent is 0), stopped_by becomes NULL.
UPDATE team SET stopped_by = nullif(:agent, 0)
WHERE id = :team AND stopped_by IS NOT NULL AND (:agent = 0 OR EXISTS (SELECT 1
	FROM agent a JOIN team n ON n.id = a.team, agent b JOIN team o ON o.id = b.team
	WHERE a.id = :agent AND b.id = team.stopped_by AND n.depth < o.depth));

-- name: team_thaw
-- The operator can thaw any team. An agent can thaw a team unless the operator stopped it, or
-- an agent stopped it whose team is above the thawing agent's team.
UPDATE team SET stopped_at = NULL, stopped_by = NULL
WHERE id = :team AND stopped_at IS NOT NULL AND (:operator <> 0 OR EXISTS (SELECT 1
	FROM agent a JOIN team s ON s.id = a.team, team o
	WHERE a.id = team.stopped_by AND o.id = :own_team AND s.depth >= o.depth));

-- name: team_stopped
-- row: team_stop
-- When a team was stopped, and in how many of its ready workspaces the commands are not stopped
-- yet.
SELECT t.stopped_at, (SELECT count(*) FROM workspace w
	WHERE w.team = t.id AND w.state = {workspace_state.ready} AND w.halted = 0) AS running
FROM team t WHERE t.id = :team AND t.stopped_at IS NOT NULL;

-- name: teams_top
-- row: team_subtree
-- scan ok: a list of all teams, few
-- The living teams that have no team above.
SELECT id, name, inbox_capacity FROM team
WHERE parent IS NULL AND destroyed_at IS NULL ORDER BY id;

-- name: freeze_tasks
-- scan ok: claims that are held, along their index
UPDATE task SET lease_until = lease_until + :far - :passed
WHERE team = :team AND lease_until > :now AND lease_until < :far;

-- name: thaw_tasks
-- scan ok: claims that are held, along their index
UPDATE task SET lease_until = lease_until - :far + :pause
WHERE team = :team AND lease_until > :far;

-- name: freeze_reservations
UPDATE reservation SET lease_until = lease_until + :far - :passed
WHERE team = :team AND lease_until > :now AND lease_until < :far;

-- name: thaw_reservations
UPDATE reservation SET lease_until = lease_until - :far + :pause
WHERE team = :team AND lease_until > :far;

-- name: freeze_deliveries
UPDATE delivery SET due_at = due_at + :far - :passed
WHERE agent IN (SELECT id FROM agent WHERE team = :team AND gone = 0)
	AND state IN {delivery_state.open} AND state = {delivery_state.fetched}
	AND due_at > :now AND due_at < :far;

-- name: thaw_deliveries
UPDATE delivery SET due_at = due_at - :far + :pause
WHERE agent IN (SELECT id FROM agent WHERE team = :team AND gone = 0)
	AND state IN {delivery_state.open} AND due_at > :far;

-- name: thaw_assignments
-- scan ok: open assignments, along their index
-- Running commands were halted during the stop. Therefore the start of each running command is
-- moved later by :pause, the length of the stop.
UPDATE assignment SET started_at = started_at + :pause
WHERE team = :team AND state IN {assignment_state.open}
	AND state = {assignment_state.running} AND started_at <= :stopped_at;

-- name: thaw_daemons
UPDATE agent SET moved_at = :now WHERE team = :team AND gone = 0 AND moved_at IS NOT NULL;
