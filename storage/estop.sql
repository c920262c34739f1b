-- Teams that are stopped.  Leases stand still meanwhile: their ends are moved out of reach, by
-- :far, and come back at the thaw, later by the pause; :passed of it had passed when a lease
-- was granted.

-- name: team_stop
UPDATE team SET stopped_at = :now, stopped_by = nullif(:agent, 0)
WHERE id = :team AND stopped_at IS NULL AND destroyed_at IS NULL;

-- name: team_stop_above
-- A team that is stopped already is held from the highest place that stopped it.
UPDATE team SET stopped_by = nullif(:agent, 0)
WHERE id = :team AND stopped_by IS NOT NULL AND (:agent = 0 OR EXISTS (SELECT 1
	FROM agent a JOIN team n ON n.id = a.team, agent b JOIN team o ON o.id = b.team
	WHERE a.id = :agent AND b.id = team.stopped_by AND n.depth < o.depth));

-- name: team_thaw
-- The operator thaws any team; an agent, what was stopped by no team above its own.
UPDATE team SET stopped_at = NULL, stopped_by = NULL
WHERE id = :team AND stopped_at IS NOT NULL AND (:operator <> 0 OR EXISTS (SELECT 1
	FROM agent a JOIN team s ON s.id = a.team, team o
	WHERE a.id = team.stopped_by AND o.id = :own_team AND s.depth >= o.depth));

-- name: team_stopped
-- row: team_stop
-- A team that is stopped, and how many of its workspaces have a guest that did not stop.
SELECT t.stopped_at, (SELECT count(*) FROM workspace w
	WHERE w.team = t.id AND w.state = {workspace_state.ready} AND w.halted = 0) AS running
FROM team t WHERE t.id = :team AND t.stopped_at IS NOT NULL;

-- name: teams_top
-- row: team_subtree
-- scan ok: a list of all teams, few
-- The living teams that are below none.
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
-- scan ok: open ones, along their index
-- Commands that stood still count as begun later.
UPDATE assignment SET started_at = started_at + :pause
WHERE team = :team AND state IN {assignment_state.open}
	AND state = {assignment_state.running} AND started_at <= :stopped_at;

-- name: thaw_daemons
UPDATE agent SET moved_at = :now WHERE team = :team AND gone = 0 AND moved_at IS NOT NULL;
