-- Workspaces.

-- name: workspace_new_id
-- row: new_id
SELECT coalesce(max(id), 0) + 1 AS id FROM workspace;

-- name: workspace_add
INSERT INTO workspace (id, host, team, agent, name, backend, path, address, link_token,
	parent, snapshot, source, image, vcpus, memory_mb, disk_gb, state, created_at, changed_at)
VALUES (:id, :host, :team, nullif(:agent, 0), :name, :backend, :path, :address, :link_token,
	nullif(:parent, 0), nullif(:snapshot, 0), :source, :image, :vcpus, :memory_mb,
	:disk_gb, {workspace_state.creating}, :now, :now)
ON CONFLICT DO NOTHING;

-- name: workspace_by_id
-- row: workspace
-- text: host_name team_name agent_name parent_name
SELECT id, host, team, agent, name, backend, path, address, parent,
	source, image, vcpus, memory_mb, disk_gb, state, was_up, fault, halted, pid,
	guest_boot, spool, spool_seq, created_at, host_name, team_name, agent_name, parent_name
FROM workspace_line WHERE id = :id;

-- name: workspace_by_name
SELECT id FROM workspace WHERE name = :name AND state IN {workspace_state.living};

-- name: workspace_ended
-- text: team_name agent_name
-- The last destroyed workspace that has the name :name, or that belonged to the agent
-- :agent_name in the team :team_name.  If :own is not 0, only workspaces of the team :own
-- count.
SELECT coalesce(max(e.id), 0) AS id FROM (
	SELECT w.id FROM workspace w
	WHERE w.state = {workspace_state.destroyed} AND w.name = :name AND (:own = 0 OR w.team = :own)
	UNION ALL SELECT w.id FROM agent a JOIN team t ON t.id = a.team JOIN workspace w ON w.agent = a.id
	WHERE a.name = :agent_name AND t.name = :team_name AND (:own = 0 OR t.id = :own)
		AND w.state = {workspace_state.destroyed}) e;

-- name: workspace_place
-- Whether this host must still make a workspace, or must still end the guest of a stopped or
-- destroyed workspace.
SELECT CAST(host = :host AND (state = {workspace_state.creating}
	OR (state IN {workspace_state.stopped destroyed} AND pid IS NOT NULL)) AS INTEGER) AS here
FROM workspace WHERE id = :id;

-- name: workspace_made
-- row: made
-- scan ok: workspaces, few, and only to shorten an id
SELECT id, name, created_at FROM workspace
WHERE created_at BETWEEN :from AND :until AND (:ended <> 0 OR state IN {workspace_state.living})
	AND (:own = 0 OR team = :own)
ORDER BY id;

-- name: workspace_by_agent
SELECT w.id FROM agent a JOIN workspace w ON w.id = a.workspace
WHERE a.team = :team AND a.name = :name AND a.gone = 0 AND w.state IN {workspace_state.living};

-- name: workspace_by_address
-- text: team_name
SELECT w.id FROM team t JOIN agent a ON a.team = t.id JOIN workspace w ON w.id = a.workspace
WHERE t.name = :team_name AND t.destroyed_at IS NULL AND a.name = :name AND a.gone = 0
	AND w.state IN {workspace_state.living};

-- name: workspace_lines
-- row: workspace
-- text: host_name team_name agent_name parent_name
-- Workspaces of a team, sorted by name. With :all, destroyed workspaces are listed too.
SELECT id, host, team, agent, name, backend, path, address, parent,
	source, image, vcpus, memory_mb, disk_gb, state, was_up, fault, halted, pid,
	guest_boot, spool, spool_seq, created_at, host_name, team_name, agent_name, parent_name
FROM workspace_line WHERE team = :team AND state IN {workspace_state.living}
UNION ALL
SELECT id, host, team, agent, name, backend, path, address, parent,
	source, image, vcpus, memory_mb, disk_gb, state, was_up, fault, halted, pid,
	guest_boot, spool, spool_seq, created_at, host_name, team_name, agent_name, parent_name
FROM workspace_line WHERE team = :team AND state = {workspace_state.destroyed} AND :all <> 0
ORDER BY name, id LIMIT 9223372036854775807 OFFSET :offset;

-- name: workspace_runs
-- text: command
-- The turn or the command that runs longest for an agent. `turn` is 0 for a command. Commands
-- run in order, so only the first open commands are looked at.
SELECT x.turn, x.command, x.at FROM (
	SELECT u.id AS turn, NULL AS command, u.started_at AS at FROM turn u
	WHERE u.agent = :agent AND u.state IN {turn_state.open}
		AND u.state = {turn_state.streaming}
	UNION ALL SELECT 0, c.command, c.started_at FROM (SELECT a.state, a.command, a.started_at
		FROM assignment a WHERE a.agent = :agent AND a.state IN {assignment_state.open}
		ORDER BY a.message LIMIT 16) c
	WHERE c.state = {assignment_state.running}) x
ORDER BY x.at LIMIT 1;

-- name: workspace_was
SELECT team, state FROM workspace WHERE id = :id;

-- name: workspace_set_state
-- A destroyed workspace stays destroyed.  Only a workspace that is being made or started
-- becomes ready, and not before a requested snapshot has been put back.
UPDATE workspace SET state = :state, changed_at = :now, fault = :fault, again = :again,
	was_up = CASE WHEN :state = {workspace_state.ready} THEN 1 ELSE was_up END,
	halted = CASE WHEN :state = {workspace_state.ready} THEN halted ELSE 0 END,
	link_token = CASE WHEN :state = {workspace_state.destroyed} THEN NULL ELSE link_token END
WHERE id = :id AND state <> :state AND state IN {workspace_state.living} AND (:state <> {workspace_state.ready} OR (state = {workspace_state.creating} AND restore IS NULL));

-- name: workspace_set_halted
UPDATE workspace SET halted = :halted WHERE id = :id AND halted <> :halted;

-- name: workspace_set_process
UPDATE workspace SET pid = nullif(:pid, 0), pid_start = nullif(:pid_start, 0),
	machine_boot = :machine_boot, cid = nullif(:cid, 0)
WHERE id = :id;

-- name: workspace_set_boot
UPDATE workspace SET guest_boot = :guest_boot WHERE id = :id;

-- name: workspace_set_spool
UPDATE workspace SET spool = nullif(:spool, ''), spool_seq = :seq WHERE id = :id;

-- name: workspace_set_spool_seq
-- The highest count that was reported for this spool is kept.
UPDATE workspace SET spool_seq = :seq
WHERE id = :id AND spool = :spool AND spool_seq < :seq;

-- name: workspace_set_http
UPDATE workspace SET http = nullif(:http, '')
WHERE id = :id AND http IS DISTINCT FROM nullif(:http, '');

-- name: workspace_rows
-- The workspaces whose guests this host runs.  Another host starts and ends its own guests.
-- scan ok: the host's own list of living workspaces, by row
-- text: team_name agent_name
-- int: parent_at snapshot_at restore_at
SELECT w.id, w.created_at, w.name, w.team, w.backend, w.path, w.address,
	w.link_token, w.source, w.image, w.vcpus, w.memory_mb, w.disk_gb, w.state,
	w.was_up, w.pid, w.pid_start, w.machine_boot, w.cid, w.guest_boot, w.spool,
	w.spool_seq, w.agent, w.halted, CAST(t.stopped_at IS NOT NULL AS INTEGER) AS stopped,
	w.slot, t.name AS team_name, a.name AS agent_name, a.generation,
	w.parent, p.created_at AS parent_at, w.snapshot, s.created_at AS snapshot_at,
	w.restore, r.created_at AS restore_at, w.restores, w.again
FROM workspace w JOIN team t ON t.id = w.team LEFT JOIN agent a ON a.id = w.agent
LEFT JOIN workspace p ON p.id = w.parent LEFT JOIN snapshot s ON s.id = w.snapshot
LEFT JOIN snapshot r ON r.id = w.restore
WHERE w.id > :after AND w.host = :host
	AND (w.state IN {workspace_state.living} OR w.pid IS NOT NULL) ORDER BY w.id LIMIT :limit;

-- name: workspace_died
-- Ends the lease of each task that the workspace's agent holds, since nobody works on the task
-- any more.
UPDATE task SET lease_until = :now
WHERE owner = :agent AND state IN {task_state.claimed in_progress} AND lease_until > :now;

-- name: workspace_set_restore
-- When a snapshot must be put back, the guest is ended. The next guest starts with a spool
-- without commands and results.
UPDATE workspace SET restore = :snapshot, restores = restores + 1, state = {workspace_state.creating},
	changed_at = :now
WHERE id = :id AND state IN {workspace_state.living};

-- name: workspace_restored
-- If another snapshot was requested meanwhile, the other snapshot must still be put back.
UPDATE workspace SET restore = NULL WHERE id = :id AND restore = :snapshot;

-- name: snapshot_new_id
-- row: new_id
SELECT coalesce(max(id), 0) + 1 AS id FROM snapshot;

-- name: snapshot_add
INSERT INTO snapshot (id, workspace, name, state, created_at)
VALUES (:id, :workspace, :name, {snapshot_state.making}, :now) ON CONFLICT DO NOTHING;

-- name: snapshot_by_id
-- row: snapshot
-- text: workspace_name
SELECT s.id, s.workspace, s.name, s.state, s.created_at, w.name AS workspace_name
FROM snapshot s JOIN workspace w ON w.id = s.workspace WHERE s.id = :id;

-- name: snapshot_by_name
SELECT id FROM snapshot WHERE workspace = :workspace AND name = :name AND state IN {snapshot_state.living};

-- name: snapshot_made
-- row: made
SELECT id, name, created_at FROM snapshot
WHERE workspace = :own AND created_at BETWEEN :from AND :until AND state IN {snapshot_state.living}
ORDER BY id;

-- name: snapshot_lines
-- row: snapshot
-- text: workspace_name
SELECT s.id, s.workspace, s.name, s.state, s.created_at, w.name AS workspace_name
FROM snapshot s JOIN workspace w ON w.id = s.workspace
WHERE s.workspace = :workspace AND s.state IN {snapshot_state.living}
ORDER BY s.id LIMIT 9223372036854775807 OFFSET :offset;

-- name: snapshot_set_state
UPDATE snapshot SET state = :state WHERE id = :id AND state <> :state;

-- name: snapshot_give_up
-- scan ok: snapshots in the making, few, once at a host's start
-- Gives up the unfinished snapshots of this host. The snapshots of another host are left to
-- this other host.
UPDATE snapshot SET state = :state WHERE state = {snapshot_state.making}
	AND workspace IN (SELECT id FROM workspace WHERE host = :host);

-- name: snapshot_in_use
-- Whether a snapshot must still be put back, or a workspace must still be made as a copy of the
-- snapshot.
-- scan ok: living workspaces only, few
SELECT count(*) AS n FROM workspace
WHERE state IN {workspace_state.living} AND (restore = :snapshot OR (snapshot = :snapshot AND was_up = 0));
