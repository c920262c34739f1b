-- Workspaces.  workspace.state: 0 creating, 1 ready, 2 stopped, 3 failed,
-- 4 destroyed.

-- name: workspace_add
INSERT INTO workspace (team, agent, name, backend, path, address, link_token, parent,
	source, state, created_at, changed_at)
VALUES (:team, nullif(:agent, 0), :name, :backend, :path, :address, :link_token,
	nullif(:parent, 0), :source, 0, :now, :now)
ON CONFLICT DO NOTHING;

-- name: workspace_by_id
-- row: workspace
-- text: team_name agent_name parent_name
SELECT w.id, w.team, w.agent, w.name, w.backend, w.path, w.address, w.parent, w.source, w.state,
	w.was_up, w.pid, w.guest_boot, w.created_at, t.name AS team_name,
	a.name AS agent_name, p.name AS parent_name
FROM workspace w JOIN team t ON t.id = w.team LEFT JOIN agent a ON a.id = w.agent
LEFT JOIN workspace p ON p.id = w.parent WHERE w.id = :id;

-- name: workspace_by_name
SELECT id FROM workspace WHERE name = :name AND state < 4;

-- name: workspace_by_agent
SELECT w.id FROM agent a JOIN workspace w ON w.id = a.workspace
WHERE a.team = :team AND a.name = :name AND a.gone = 0 AND w.state < 4;

-- name: workspace_lines
-- row: workspace
-- text: team_name agent_name parent_name
SELECT w.id, w.team, w.agent, w.name, w.backend, w.path, w.address, w.parent, w.source, w.state,
	w.was_up, w.pid, w.guest_boot, w.created_at, t.name AS team_name,
	a.name AS agent_name, p.name AS parent_name
FROM workspace w JOIN team t ON t.id = w.team LEFT JOIN agent a ON a.id = w.agent
LEFT JOIN workspace p ON p.id = w.parent
WHERE w.team = :team AND (:all OR w.state < 4) ORDER BY w.name, w.id;

-- name: workspace_set_state
-- A destroyed one stays so; only one that is being made or started becomes ready.
UPDATE workspace SET state = :state, changed_at = :now,
	was_up = max(was_up, :state = 1),
	link_token = CASE WHEN :state = 4 THEN NULL ELSE link_token END
WHERE id = :id AND state <> :state AND state < 4 AND (:state <> 1 OR state = 0);

-- name: workspace_set_process
UPDATE workspace SET pid = nullif(:pid, 0), pid_start = nullif(:pid_start, 0),
	machine_boot = :machine_boot
WHERE id = :id;

-- name: workspace_set_boot
UPDATE workspace SET guest_boot = :guest_boot WHERE id = :id;

-- name: workspace_rows
-- scan ok: the host's own list of living workspaces, by row
-- text: team_name agent_name
SELECT w.id, w.created_at, w.name, w.team, w.backend, w.path, w.address,
	w.link_token, w.source, w.state, w.was_up, w.pid,
	w.pid_start, w.machine_boot, w.guest_boot, w.agent, t.name AS team_name,
	a.name AS agent_name, a.generation
FROM workspace w JOIN team t ON t.id = w.team LEFT JOIN agent a ON a.id = w.agent
WHERE w.id > :after AND (w.state < 4 OR w.pid IS NOT NULL) ORDER BY w.id LIMIT :limit;
