-- Teams.

-- name: team_new_id
-- row: new_id
SELECT coalesce(max(id), 0) + 1 AS id FROM team;

-- name: team_add
-- int: above max_depth
-- A team below another takes all its workspaces from what that one has left, and no wider
-- policy: of two that want the last one, the first has it.
INSERT INTO team (id, name, parent, depth, created_by, created_at, inbox_capacity, max_vms,
	allow_internet, allow_inter_vm)
SELECT :id, :name, nullif(:above, 0), coalesce(p.depth + 1, 0), :created_by, :now,
	:inbox_capacity, :max_vms, :allow_internet, :allow_inter_vm
FROM (SELECT 1 AS one) o LEFT JOIN team p ON p.id = :above
WHERE :above = 0 OR (p.destroyed_at IS NULL AND p.depth < :max_depth
	AND p.allow_internet >= :allow_internet AND p.allow_inter_vm >= :allow_inter_vm
	AND p.max_vms >= :max_vms
		+ (SELECT count(*) FROM workspace w
			WHERE w.team = p.id AND w.state IN {workspace_state.living})
		+ (SELECT coalesce(sum(c.max_vms), 0) FROM team c
			WHERE c.parent = p.id AND c.destroyed_at IS NULL))
ON CONFLICT DO NOTHING;

-- name: team_taken
SELECT 1 AS so FROM team WHERE name = :name AND destroyed_at IS NULL;

-- name: team_port_add
-- A port that the team above, where it lists some, does not have stays shut.
INSERT INTO team_port (team, port)
SELECT t.id, :port FROM team t
WHERE t.id = :team AND (t.parent IS NULL
	OR NOT EXISTS (SELECT 1 FROM team_port p WHERE p.team = t.parent)
	OR EXISTS (SELECT 1 FROM team_port p WHERE p.team = t.parent AND p.port = :port))
ON CONFLICT (team, port) DO UPDATE SET port = excluded.port;

-- name: team_policy_bar
-- text: name
-- int: port
-- The highest team, from this one up, that does not allow what is asked for; port 0: none is.
WITH RECURSIVE up (id) AS (
	SELECT CAST(:team AS INTEGER)
	UNION ALL SELECT t.parent FROM up JOIN team t ON t.id = up.id WHERE t.parent IS NOT NULL)
SELECT t.name FROM up JOIN team t ON t.id = up.id
WHERE t.allow_internet < :allow_internet OR t.allow_inter_vm < :allow_inter_vm
	OR (:port <> 0 AND EXISTS (SELECT 1 FROM team_port p WHERE p.team = t.id)
		AND NOT EXISTS (SELECT 1 FROM team_port p WHERE p.team = t.id AND p.port = :port))
ORDER BY t.depth LIMIT 1;

-- name: team_by_id
-- row: team
SELECT id, name, parent, depth, created_by, created_at, destroyed_at, state, inbox_capacity,
	max_vms, allow_internet, allow_inter_vm, stopped_at
FROM team WHERE id = :id;

-- name: team_made
-- row: made
-- scan ok: teams, few, and only for who shortens an id
SELECT id, name, created_at FROM team
WHERE created_at BETWEEN :from AND :until AND (:ended <> 0 OR destroyed_at IS NULL)
	AND (:own = 0 OR id = :own)
ORDER BY id;

-- name: team_parent
SELECT p.name FROM team t JOIN team p ON p.id = t.parent WHERE t.id = :team;

-- name: team_ports
SELECT port FROM team_port WHERE team = :team ORDER BY port;

-- name: team_ports_clear
DELETE FROM team_port WHERE team = :team;

-- name: team_set_name
-- A name is that of one living team.
UPDATE team SET name = :name WHERE id = :team AND NOT EXISTS (SELECT 1 FROM team o
	WHERE o.name = :name AND o.destroyed_at IS NULL AND o.id <> team.id);

-- name: team_set_max_vms
-- The limit is not below what lives and what is left to teams below; what a team below
-- another gets more comes from what that one has left.
UPDATE team SET max_vms = :max_vms WHERE id = :team
	AND (SELECT count(*) FROM workspace w
			WHERE w.team = :team AND w.state IN {workspace_state.living})
		+ (SELECT coalesce(sum(c.max_vms), 0) FROM team c
			WHERE c.parent = :team AND c.destroyed_at IS NULL) <= :max_vms
	AND (parent IS NULL OR max_vms >= :max_vms OR EXISTS (SELECT 1 FROM team p
		WHERE p.id = team.parent AND p.max_vms + team.max_vms >= :max_vms
			+ (SELECT count(*) FROM workspace w
				WHERE w.team = p.id AND w.state IN {workspace_state.living})
			+ (SELECT coalesce(sum(c.max_vms), 0) FROM team c
				WHERE c.parent = p.id AND c.destroyed_at IS NULL)));

-- name: team_set_policy
UPDATE team SET inbox_capacity = :inbox_capacity, allow_internet = :allow_internet,
	allow_inter_vm = :allow_inter_vm
WHERE id = :team;

-- name: team_former_add
INSERT INTO former_name (name, team, at) VALUES (:name, :team, :now)
ON CONFLICT (name, team) DO UPDATE SET at = excluded.at;

-- name: team_renamed
-- The name of the living team that was the last one called so before, where none is called
-- so now.
SELECT t.name FROM former_name f JOIN team t ON t.id = f.team
WHERE f.name = :name AND t.destroyed_at IS NULL
	AND NOT EXISTS (SELECT 1 FROM team o WHERE o.name = f.name AND o.destroyed_at IS NULL)
ORDER BY f.at DESC, f.team DESC LIMIT 1;

-- name: team_was_called
-- Whether a team had a name before that no living team has now.
SELECT 1 AS so FROM former_name f WHERE f.name = :name AND f.team = :team
	AND NOT EXISTS (SELECT 1 FROM team o WHERE o.name = f.name AND o.destroyed_at IS NULL);

-- name: team_hands
-- scan ok: the tasks that are held, and the operator's inbox
-- The tasks of a team that are held now, and the messages that wait there for the operator.
SELECT (SELECT count(*) FROM task k WHERE k.team = :team AND k.owner IS NOT NULL
		AND (k.lease_until IS NULL OR k.lease_until > :now)) AS held,
	(SELECT count(*) FROM agent a JOIN delivery d ON d.agent = a.id
		WHERE a.team = :team AND a.gone = 0 AND a.kind = {agent_kind.operator}
		AND d.state IN {delivery_state.open} AND d.lane IN {delivery_lane.mail}) AS mail;

-- name: team_lead
-- kept: every call of a lead asks
-- The lead: the first member whose role or name says so.
SELECT id, name FROM agent
WHERE team = :team AND gone = 0 AND kind = {agent_kind.member} AND (role = 'lead' OR name = 'lead')
ORDER BY id LIMIT 1;

-- name: team_state
-- The state of a team, computed from its rows; an expired lease is no claim, and a
-- command that waits for its daemon, or at it, is no work.
SELECT CASE
	WHEN t.destroyed_at IS NOT NULL THEN {team_state.destroyed}
	WHEN EXISTS (SELECT 1 FROM workspace w
		WHERE w.team = t.id AND w.state IN {workspace_state.creating failed}
			AND w.was_up = 0) THEN {team_state.creating}
	WHEN EXISTS (SELECT 1 FROM task k WHERE k.team = t.id AND k.state IN {task_state.claimed in_progress}
		AND k.lease_until > :now) THEN {team_state.working}
	WHEN EXISTS (SELECT 1 FROM task k WHERE k.team = t.id AND k.state = {task_state.blocked}) THEN {team_state.working}
	WHEN EXISTS (SELECT 1 FROM assignment x
		WHERE x.team = t.id AND x.state IN {assignment_state.open} AND x.state = {assignment_state.running}) THEN {team_state.working}
	WHEN NOT EXISTS (SELECT 1 FROM task k WHERE k.team = t.id
		AND k.state BETWEEN {task_state.open})
		AND EXISTS (SELECT 1 FROM result r
		WHERE r.team = t.id AND r.collected_at IS NULL) THEN {team_state.completing}
	ELSE {team_state.ready} END AS now_state, t.state
FROM team t WHERE t.id = :team;

-- name: team_set_state
UPDATE team SET state = :state WHERE id = :team;

-- name: team_lines
-- text: path parent_name
-- scan ok: a list of all teams, few
-- All teams, or one (:team), with `below` those below it too; in a tree each comes behind the
-- one above it: a blank sorts before whatever a name is made of.
WITH RECURSIVE tree (id, path) AS (
	SELECT t.id, t.name FROM team t
	WHERE (:team = 0 AND t.parent IS NULL) OR t.id = :team
	UNION ALL SELECT c.id, tree.path || ' / ' || c.name
	FROM tree JOIN team c ON c.parent = tree.id WHERE :below <> 0)
SELECT t.id, t.name, tree.path, p.name AS parent_name, t.created_at, t.max_vms,
	(SELECT count(*) FROM agent a
		WHERE a.team = t.id AND a.gone = 0 AND a.kind = {agent_kind.member}) AS members,
	(SELECT count(*) FROM task k
		WHERE k.team = t.id AND k.state BETWEEN {task_state.open}) AS open_tasks
FROM tree JOIN team t ON t.id = tree.id LEFT JOIN team p ON p.id = t.parent
WHERE (:all <> 0 OR t.destroyed_at IS NULL) AND t.id <> :but
ORDER BY CASE WHEN :tree <> 0 THEN tree.path ELSE t.name END, t.id
LIMIT 9223372036854775807 OFFSET :offset;

-- name: team_members
-- scan ok: agents, few
SELECT a.id, a.name, a.role, a.status, a.active_at, a.generation, a.workspace,
	w.created_at AS workspace_at,
	(SELECT k.id FROM task k WHERE k.owner = a.id
		AND (k.lease_until IS NULL OR k.lease_until > :now)
		ORDER BY k.updated_at DESC LIMIT 1) AS task
FROM agent a LEFT JOIN workspace w ON w.id = a.workspace
WHERE a.team = :team AND a.gone = :gone AND a.kind = {agent_kind.member} AND a.id > :after
ORDER BY a.id;

-- name: team_seats
-- int: agent
-- The living teams with the operator's place in each.
-- scan ok: a list of all teams, few
SELECT t.id, t.name, o.id AS agent
FROM team t JOIN agent o ON o.team = t.id AND o.gone = 0 AND o.kind = {agent_kind.operator}
WHERE t.destroyed_at IS NULL AND (:team = 0 OR t.id = :team)
ORDER BY t.name;

-- name: team_works
-- text: agent_name team_name
-- Tasks that are held, with their holders; what changed last comes first.
SELECT a.name AS agent_name, t.name AS team_name, k.number, k.title, k.state, k.updated_at
FROM task k JOIN agent a ON a.id = k.owner JOIN team t ON t.id = k.team
WHERE k.owner IS NOT NULL AND (k.lease_until IS NULL OR k.lease_until > :now)
	AND (:team = 0 OR k.team = :team)
ORDER BY k.updated_at DESC, k.id LIMIT :limit;

-- name: agent_task
-- The task that an agent holds, the one that changed last.
SELECT k.number FROM task k
WHERE k.owner = :agent AND (k.lease_until IS NULL OR k.lease_until > :now)
ORDER BY k.updated_at DESC LIMIT 1;

-- name: tasks_claimable
-- How many tasks an agent could claim now.
SELECT count(*) AS n FROM task WHERE team = :team AND state = {task_state.pending} AND open_deps = 0
	AND (assignee IS NULL OR assignee = :agent);

-- name: results_waiting
SELECT count(*) AS n FROM result WHERE sender = :agent AND collected_at IS NULL;

-- name: results_unread
-- text: sender_name
-- Why a team is completing: results, by who has not read them but `reader`, whose are mail.
SELECT s.name AS sender_name, count(*) AS n, min(r.stored_at) AS since
FROM result r JOIN agent s ON s.id = r.sender
WHERE r.team = :team AND r.collected_at IS NULL AND r.sender <> :reader
	AND NOT EXISTS (SELECT 1 FROM task k WHERE k.team = :team
		AND k.state BETWEEN {task_state.open})
GROUP BY s.id, s.name ORDER BY s.id LIMIT :limit;

-- name: tasks_troubled
-- text: note
-- int: since
-- Tasks that somebody has to decide about: their owners wait, or they failed not long ago
-- (`recent`), or they failed and others wait for them.  The event of one that is blocked says
-- why; where that has been removed, the newest note.
SELECT k.number, k.title, k.state, coalesce(k.ended_at, k.lease_until, k.updated_at) AS since,
	coalesce((SELECT substr(e.detail, 1, 200) FROM event e
		WHERE e.subject = k.id AND e.kind BETWEEN {events.task} AND e.kind = {event.task_blocked}
		ORDER BY e.seq DESC LIMIT 1),
		(SELECT substr(n.text, 1, 200) FROM task_note n
		WHERE n.task = k.id ORDER BY n.id DESC LIMIT 1), k.title) AS note
FROM task k
WHERE k.team = :team AND (k.state = {task_state.blocked}
	OR ((k.state = {task_state.failed} OR (k.state IN {task_state.claimed in_progress}
			AND k.lease_until <= :now AND k.after_lapse = {task_state.failed}))
		AND (coalesce(k.ended_at, k.lease_until) > :recent OR EXISTS (SELECT 1
			FROM task_dep d JOIN task w ON w.id = d.task
			WHERE d.dep = k.id AND w.state = {task_state.pending}))))
ORDER BY since DESC, number LIMIT :limit;

-- name: agents_troubled
-- Members that cannot go on, and those who are away while a task is theirs; a workspace that
-- failed is told by itself.
-- scan ok: agents, few
SELECT a.name, a.status, a.active_at
FROM agent a
WHERE a.team = :team AND a.gone = 0 AND a.kind = {agent_kind.member}
	AND (a.status = {agent_status.stuck} OR (a.status = {agent_status.failed}
		AND NOT EXISTS (SELECT 1 FROM workspace w
			WHERE w.id = a.workspace AND w.state = {workspace_state.failed}))
		OR (a.status = {agent_status.offline}
		AND EXISTS (SELECT 1 FROM task k WHERE k.owner = a.id
			AND (k.lease_until IS NULL OR k.lease_until > :now))))
ORDER BY a.id LIMIT :limit;

-- name: workspaces_failed
SELECT name, changed_at, fault FROM workspace
WHERE team = :team AND state = {workspace_state.failed}
ORDER BY changed_at DESC LIMIT :limit;

-- name: troubles
-- How many rows acks_overdue (of anybody), tasks_troubled, agents_troubled and
-- workspaces_failed have in a team.
-- scan ok: agents, few
SELECT (SELECT count(*) FROM owed WHERE ack_due_at <= :now AND team = :team
		AND (due_at IS NULL OR due_at > :now
		OR (state = {delivery_state.fetched} AND after_lapse = {delivery_state.queued}
			AND (expires_at IS NULL OR expires_at > :now))))
	+ (SELECT count(*) FROM task k WHERE k.team = :team AND (k.state = {task_state.blocked}
		OR ((k.state = {task_state.failed} OR (k.state IN {task_state.claimed in_progress}
				AND k.lease_until <= :now AND k.after_lapse = {task_state.failed}))
			AND (coalesce(k.ended_at, k.lease_until) > :recent OR EXISTS (SELECT 1
				FROM task_dep d JOIN task w ON w.id = d.task
				WHERE d.dep = k.id AND w.state = {task_state.pending})))))
	+ (SELECT count(*) FROM agent a
		WHERE a.team = :team AND a.gone = 0 AND a.kind = {agent_kind.member}
		AND (a.status = {agent_status.stuck} OR (a.status = {agent_status.failed}
			AND NOT EXISTS (SELECT 1 FROM workspace w
				WHERE w.id = a.workspace AND w.state = {workspace_state.failed}))
			OR (a.status = {agent_status.offline}
			AND EXISTS (SELECT 1 FROM task k WHERE k.owner = a.id
				AND (k.lease_until IS NULL OR k.lease_until > :now)))))
	+ (SELECT count(*) FROM workspace
		WHERE team = :team AND state = {workspace_state.failed}) AS n;

-- name: team_board
-- into: board_counts
-- Only the few held tasks are counted.  Numbers are never reused and tasks stay: every
-- other task that is not over is pending.
SELECT t.next_task - 1 - h.claimed - h.in_progress - h.blocked - h.failed - b.completed
		- b.failed - b.cancelled AS pending,
	t.next_task - 1 - h.claimed - h.in_progress - h.blocked - h.failed - b.completed
		- b.failed - b.cancelled - b.waiting AS ready,
	h.claimed, h.in_progress, h.blocked, b.completed, b.failed + h.failed AS failed,
	b.cancelled
FROM team t JOIN board b ON b.team = t.id, (
	SELECT count(*) FILTER (WHERE state = {task_state.claimed} AND lease_until > :now) AS claimed,
		count(*) FILTER (WHERE state = {task_state.in_progress} AND lease_until > :now) AS in_progress,
		count(*) FILTER (WHERE state = {task_state.blocked}) AS blocked,
		count(*) FILTER (WHERE lease_until <= :now AND after_lapse = {task_state.failed}) AS failed
	FROM task WHERE team = :team AND state BETWEEN {task_state.held}) h
WHERE t.id = :team;

-- name: board_add
INSERT INTO board (team) VALUES (:team);

-- name: board_change
-- Counts of tasks that are over, or wait for others, change with each such task.
UPDATE board SET waiting = waiting + :waiting, completed = completed + :completed,
	failed = failed + :failed, cancelled = cancelled + :cancelled
WHERE team = :team;

-- name: board_end
UPDATE board SET waiting = 0, cancelled = cancelled + :cancelled WHERE team = :team;

-- name: team_tasks
-- Tasks are numbered from 1 on.
SELECT next_task - 1 AS n FROM team WHERE id = :team;

-- name: team_vms
-- The workspaces that a team has, and those that it has left to the teams below it.
SELECT (SELECT count(*) FROM workspace w
		WHERE w.team = :team AND w.state IN {workspace_state.living}) AS used,
	(SELECT coalesce(sum(c.max_vms), 0) FROM team c
		WHERE c.parent = :team AND c.destroyed_at IS NULL) AS reserved;

-- name: team_open_assignments
SELECT count(*) AS n FROM assignment WHERE team = :team AND state IN {assignment_state.open};

-- name: vms_all
-- scan ok: living workspaces only, few
SELECT count(*) AS n FROM workspace WHERE host = :host AND state IN {workspace_state.living};

-- name: team_below
-- A living team that the caller may end: one directly below its own, for the lead (`leads`),
-- and one that the caller made.
SELECT id FROM team
WHERE parent = :team AND destroyed_at IS NULL AND name = :name
	AND (:leads <> 0 OR created_by = :agent);

-- name: team_subtree
-- text: name
-- A living team and all below it, the lowest first.
WITH RECURSIVE below (id) AS (
	SELECT CAST(:team AS INTEGER)
	UNION ALL SELECT c.id FROM below JOIN team c ON c.parent = below.id
	WHERE c.destroyed_at IS NULL)
SELECT t.id, t.name, t.inbox_capacity FROM below JOIN team t ON t.id = below.id
ORDER BY t.depth DESC, t.id;

-- name: team_end
UPDATE team SET destroyed_at = :now, purge = :purge, state = {team_state.destroyed}
WHERE id = :team AND destroyed_at IS NULL;

-- name: team_end_inboxes
UPDATE agent_inbox SET queued = 0, leased = 0, assignments = 0
WHERE agent IN (SELECT id FROM agent WHERE team = :team AND gone = 0);

-- name: team_end_agents
UPDATE agent SET gone = 1, token = NULL, status = {agent_status.offline}
WHERE team = :team AND gone = 0;

-- name: team_dead_deliveries
-- Writes an event for each message that dies with the team.
INSERT INTO event (seq, at, kind, team, actor, via, subject, target, detail)
SELECT (SELECT coalesce(max(seq), 0) FROM event) + row_number() OVER (), :now, :kind, a.team, :actor, :via, d.message, d.agent, :detail
FROM agent a JOIN delivery d ON d.agent = a.id
WHERE a.team = :team AND a.gone = 0 AND d.state IN {delivery_state.open};

-- name: team_end_deliveries
-- scan ok: agents, few
-- Open deliveries of a destroyed team are dead; the others keep their states.
UPDATE delivery SET state = {delivery_state.dead}, due_at = NULL, done_at = :now
WHERE state IN {delivery_state.open} AND agent IN (SELECT id FROM agent WHERE team = :team);

-- name: team_end_tasks
UPDATE task SET state = {task_state.cancelled}, owner = NULL, owner_generation = NULL, lease_until = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1,
	updated_at = :now, ended_at = :now, ended_by = :agent
WHERE team = :team AND state IN {task_state.open} RETURNING id;

-- name: team_end_assignments
UPDATE assignment SET state = {assignment_state.cancelled} WHERE team = :team AND state IN {assignment_state.open};

-- name: team_end_results
UPDATE result SET collected_at = :now WHERE team = :team AND collected_at IS NULL;

-- name: team_ended
-- scan ok: teams, few
-- The last team of a name that is over.
SELECT id FROM team WHERE name = :name AND destroyed_at IS NOT NULL ORDER BY id DESC LIMIT 1;

-- name: team_places
-- Workspaces of a team that could not be made, guests that are there still, and workspaces
-- for which the team waits for this host: to be made, and in a destroyed team, to end.
SELECT count(*) FILTER (WHERE w.state = {workspace_state.failed} AND w.was_up = 0) AS failed,
	count(w.pid) AS guests,
	count(*) FILTER (WHERE w.host = :host AND (
		(t.destroyed_at IS NULL AND w.state = {workspace_state.creating} AND w.was_up = 0)
		OR (t.destroyed_at IS NOT NULL AND w.pid IS NOT NULL))) AS here
FROM workspace w JOIN team t ON t.id = w.team WHERE w.team = :team;

-- name: team_end_workspaces
UPDATE workspace SET state = {workspace_state.destroyed}, changed_at = :now, link_token = NULL
WHERE team = :team AND state IN {workspace_state.living} RETURNING id;
