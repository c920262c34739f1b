-- The network of VMs: places in the network's address range, policies, forwarded ports. A place
-- becomes free again when no process can still use the place.

-- name: network_take
-- Takes the lowest free place in the range of the workspace's host.  Place 1 belongs to the
-- gateway.
-- scan ok: the index of places in use
UPDATE workspace SET slot = (
	SELECT min(s.slot) + 1 FROM (
		SELECT 1 AS slot UNION ALL SELECT u.slot FROM workspace u
		WHERE u.host = workspace.host AND u.slot IS NOT NULL AND (u.state IN {workspace_state.living} OR u.pid IS NOT NULL)) s
	WHERE NOT EXISTS (SELECT 1 FROM workspace t WHERE t.host = workspace.host AND t.slot = s.slot + 1
		AND t.slot IS NOT NULL AND (t.state IN {workspace_state.living} OR t.pid IS NOT NULL)))
WHERE id = :workspace AND slot IS NULL RETURNING slot;

-- name: network_of
SELECT slot, allow_internet, allow_inter_vm FROM workspace WHERE id = :workspace;

-- name: network_set
UPDATE workspace SET allow_internet = :allow_internet, allow_inter_vm = :allow_inter_vm
WHERE id = :workspace;

-- name: network_team
-- The policy of a team and of the teams above. A VM has a permission only if its team and all
-- teams above give the permission.
-- scan ok: a team and the teams above
WITH RECURSIVE up(id, parent, allow_internet, allow_inter_vm) AS (
	SELECT t.id, t.parent, t.allow_internet, t.allow_inter_vm FROM team t
	WHERE t.id = :team
	UNION ALL
	SELECT t.id, t.parent, t.allow_internet, t.allow_inter_vm
	FROM up JOIN team t ON t.id = up.parent)
SELECT min(allow_internet) AS allow_internet, min(allow_inter_vm) AS allow_inter_vm
FROM up;

-- name: door_workspace
SELECT w.allow_inter_vm FROM agent a JOIN workspace w ON w.id = a.workspace
WHERE a.id = :agent;

-- name: network_ports
-- int: allowed
-- The ports in the lists of a team, of the teams above and of :workspace (0: no workspace).
-- `allowed`: whether each list that is not empty contains the port. If the statement returns no
-- row, all ports are allowed.
-- scan ok: a team and the teams above
WITH RECURSIVE up(id, parent) AS (
	SELECT t.id, t.parent FROM team t WHERE t.id = :team
	UNION ALL SELECT t.id, t.parent FROM up JOIN team t ON t.id = up.parent),
listed(lister, port) AS (
	SELECT 0, port FROM workspace_port WHERE workspace = :workspace
	UNION ALL SELECT up.id, p.port FROM up JOIN team_port p ON p.team = up.id)
SELECT port, count(*) = (SELECT count(DISTINCT lister) FROM listed) AS allowed
FROM listed GROUP BY port ORDER BY port;

-- name: network_port_add
INSERT INTO workspace_port (workspace, port) VALUES (:workspace, :port)
ON CONFLICT DO NOTHING;

-- name: network_ports_clear
DELETE FROM workspace_port WHERE workspace = :workspace;

-- name: network_forwards
SELECT transport, port, target, public FROM workspace_forward
WHERE workspace = :workspace ORDER BY port, transport;

-- name: network_forward_add
-- A port of a host leads to a single living workspace of the host. The ports of a destroyed
-- workspace are free for other workspaces.
INSERT INTO workspace_forward (host, transport, port, workspace, target, public)
VALUES ((SELECT host FROM workspace WHERE id = :workspace), :transport, :port, :workspace,
	:target, :public)
ON CONFLICT (host, transport, port) DO UPDATE SET workspace = excluded.workspace,
	target = excluded.target, public = excluded.public
WHERE (SELECT w.state FROM workspace w WHERE w.id = workspace_forward.workspace)
	= {workspace_state.destroyed};

-- name: network_forward_owner
-- text: name
SELECT w.name FROM workspace_forward f JOIN workspace w ON w.id = f.workspace
WHERE f.host = (SELECT host FROM workspace WHERE id = :workspace)
	AND f.transport = :transport AND f.port = :port;

-- name: network_forwards_clear
DELETE FROM workspace_forward WHERE workspace = :workspace;

-- name: network_members
-- Living workspaces of this host that have a place in the network (`slot`). `parent`: the team
-- above, if the workspace belongs to the lead of a sub-team.
-- scan ok: the host's own list of living workspaces
-- text: name
SELECT w.id, w.created_at, w.name, w.team, w.slot, w.allow_internet, w.allow_inter_vm,
	CASE WHEN w.agent = (SELECT a.id FROM agent a WHERE a.team = w.team
		AND a.gone = 0 AND a.kind = {agent_kind.member} AND (a.role = 'lead' OR a.name = 'lead')
		ORDER BY a.id LIMIT 1) THEN t.parent END AS parent
FROM workspace w JOIN team t ON t.id = w.team
WHERE w.host = :host AND w.slot IS NOT NULL AND w.state IN {workspace_state.living}
ORDER BY w.id;

-- name: network_fault
-- The network fault of the host that runs the workspace.
SELECT h.network_fault FROM workspace w JOIN host h ON h.id = w.host WHERE w.id = :workspace;

-- name: network_set_fault
UPDATE host SET network_fault = :network_fault
WHERE id = :host AND network_fault IS DISTINCT FROM :network_fault;

-- name: network_trouble
-- The reason why the living VMs of this host have no network.
-- scan ok: living workspaces
SELECT h.network_fault FROM host h WHERE h.id = :host AND h.network_fault IS NOT NULL
AND EXISTS (SELECT 1 FROM workspace w WHERE w.host = h.id AND w.slot IS NOT NULL AND w.state IN {workspace_state.living});
