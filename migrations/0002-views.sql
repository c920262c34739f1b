-- What people read with sqlite3: readable names, ISO times in UTC, words instead
-- of numbers.  These views are a public interface; docs/state.md shows what to ask
-- them.  A lease is over at its instant here as everywhere.

CREATE VIEW v_now AS
SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS ms;

CREATE VIEW v_team AS
SELECT t.name AS team,
	CASE
	WHEN t.destroyed_at IS NOT NULL THEN 'destroyed'
	WHEN EXISTS (SELECT 1 FROM workspace w
		WHERE w.team = t.id AND w.state = {workspace_state.creating} AND w.was_up = 0) THEN 'creating'
	WHEN EXISTS (SELECT 1 FROM task k WHERE k.team = t.id AND k.state IN {task_state.claimed in_progress}
		AND k.lease_until > (SELECT ms FROM v_now)) THEN 'working'
	WHEN EXISTS (SELECT 1 FROM task k WHERE k.team = t.id AND k.state = {task_state.blocked})
		THEN 'working'
	WHEN EXISTS (SELECT 1 FROM assignment x
		WHERE x.team = t.id AND x.state IN {assignment_state.open} AND x.state = {assignment_state.running}) THEN 'working'
	WHEN NOT EXISTS (SELECT 1 FROM task k WHERE k.team = t.id
		AND k.state BETWEEN {task_state.open})
		AND EXISTS (SELECT 1 FROM result r
		WHERE r.team = t.id AND r.collected_at IS NULL) THEN 'completing'
	ELSE 'ready' END AS state,
	(SELECT count(*) FROM agent a
		WHERE a.team = t.id AND a.gone = 0 AND a.kind = {agent_kind.member}) AS members,
	(SELECT count(*) FROM task k
		WHERE k.team = t.id AND k.state BETWEEN {task_state.open}) AS open_tasks,
	t.inbox_capacity, t.max_vms,
	strftime('%Y-%m-%dT%H:%M:%fZ', t.created_at / 1000.0, 'unixepoch') AS created_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', t.destroyed_at / 1000.0, 'unixepoch')
		AS destroyed_at,
	printf('%08x-%04x-7%03x-%04x-%012x', t.created_at >> 16, t.created_at & 65535,
		s.id_a, 32768 | (2 << 10) | s.id_b,
		(((t.id + t.created_at * 2442737) & 281474976710655) | s.id_c)
		- (((t.id + t.created_at * 2442737) & 281474976710655) & s.id_c)) AS id
FROM team t JOIN state s ON s.one = 1;

CREATE VIEW v_agent AS
SELECT t.name AS team, a.name AS agent, a.role,
	(SELECT word FROM word WHERE list = 'agent_status' AND n = a.status) AS status,
	(SELECT printf('%03d', k.number) FROM task k WHERE k.owner = a.id
		AND (k.lease_until IS NULL OR k.lease_until > (SELECT ms FROM v_now))
		ORDER BY k.updated_at DESC LIMIT 1) AS task,
	i.queued + coalesce((SELECT sum((u.until > (SELECT ms FROM v_now)) - u.waits)
		FROM inbox_due u WHERE +u.agent = a.id
		AND u.due_at <= (SELECT ms FROM v_now)), 0) AS queued,
	i.leased - (SELECT count(*) FROM inbox_due u WHERE +u.agent = a.id AND u.held
		AND u.due_at <= (SELECT ms FROM v_now)) AS leased,
	i.assignments, a.generation,
	(SELECT group_concat(skill, ' ') FROM agent_skill WHERE agent = a.id) AS skills,
	w.name AS workspace, a.project, a.description,
	strftime('%Y-%m-%dT%H:%M:%fZ', a.active_at / 1000.0, 'unixepoch') AS last_active,
	a.gone
FROM agent a JOIN team t ON t.id = a.team JOIN agent_inbox i ON i.agent = a.id
LEFT JOIN workspace w ON w.id = a.workspace;

CREATE VIEW v_message AS
SELECT m.id AS seq, t.name AS team, a.name AS sender,
	CASE WHEN m.to_all THEN '*' ELSE (SELECT group_concat(r.name, ' ')
		FROM delivery d JOIN agent r ON r.id = d.agent
		WHERE d.message = m.id) END AS recipients,
	m.type, CASE WHEN m.urgent THEN 'urgent' ELSE 'normal' END AS priority, m.thread,
	m.reply_to, m.content, m.metadata,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.at / 1000.0, 'unixepoch') AS sent_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.expires_at / 1000.0, 'unixepoch') AS expires_at,
	printf('%08x-%04x-7%03x-%04x-%012x', m.at >> 16, m.at & 65535, s.id_a,
		32768 | (1 << 10) | s.id_b,
		(((m.id + m.at * 2442737) & 281474976710655) | s.id_c)
		- (((m.id + m.at * 2442737) & 281474976710655) & s.id_c)) AS id
FROM message m JOIN state s ON s.one = 1 JOIN team t ON t.id = m.team
JOIN agent a ON a.id = m.sender;

CREATE VIEW v_delivery AS
SELECT d.message AS seq, t.name AS team, a.name AS recipient,
	(SELECT word FROM word WHERE list = 'delivery_state' AND n = CASE
		WHEN d.state NOT IN {delivery_state.open} OR d.due_at IS NULL
			OR d.due_at > (SELECT ms FROM v_now) THEN d.state
		WHEN d.state IN {delivery_state.waiting} THEN {delivery_state.expired}
		WHEN d.after_lapse = {delivery_state.dead} THEN {delivery_state.dead}
		WHEN (SELECT m.expires_at FROM message m WHERE m.id = d.message)
			<= (SELECT ms FROM v_now) THEN {delivery_state.expired} ELSE {delivery_state.queued} END) AS state,
	d.attempt,
	strftime('%Y-%m-%dT%H:%M:%fZ', d.notified_at / 1000.0, 'unixepoch') AS notified_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', d.fetched_at / 1000.0, 'unixepoch') AS fetched_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', d.done_at / 1000.0, 'unixepoch') AS done_at
FROM delivery d JOIN agent a ON a.id = d.agent JOIN team t ON t.id = a.team;

-- What waits in whose inbox, in the order in which it is received.
CREATE VIEW v_inbox AS
SELECT t.name AS team, r.name AS agent, m.id AS seq, a.name AS sender, m.type,
	CASE WHEN m.urgent THEN 'urgent' ELSE 'normal' END AS priority,
	CASE WHEN d.state = {delivery_state.fetched} AND d.due_at > (SELECT ms FROM v_now) THEN 'fetched'
		WHEN d.state = {delivery_state.notified} THEN 'notified' ELSE 'queued' END AS state,
	d.attempt, m.content,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.at / 1000.0, 'unixepoch') AS sent_at,
	CASE WHEN d.state = {delivery_state.fetched} AND d.due_at > (SELECT ms FROM v_now)
		THEN strftime('%Y-%m-%dT%H:%M:%fZ', d.due_at / 1000.0, 'unixepoch') END
		AS lease_until
FROM delivery d JOIN message m ON m.id = d.message JOIN agent r ON r.id = d.agent
JOIN team t ON t.id = r.team JOIN agent a ON a.id = m.sender
WHERE d.state IN {delivery_state.open} AND (d.due_at IS NULL OR d.due_at > (SELECT ms FROM v_now)
	OR (d.state = {delivery_state.fetched} AND d.after_lapse = {delivery_state.queued}
		AND (m.expires_at IS NULL OR m.expires_at > (SELECT ms FROM v_now))))
ORDER BY t.name, r.name, d.lane, d.message;

CREATE VIEW v_board AS
SELECT t.name AS team, printf('%03d', k.number) AS id,
	(SELECT word FROM word WHERE list = 'task_state' AND n = CASE
		WHEN k.lease_until <= (SELECT ms FROM v_now) THEN k.after_lapse
		ELSE k.state END) AS status,
	k.priority,
	CASE WHEN k.lease_until <= (SELECT ms FROM v_now) THEN NULL ELSE o.name END
		AS owner,
	k.epoch, s.name AS assignee, k.title,
	(SELECT group_concat(printf('%03d', x.number), ' ') FROM task_dep d
		JOIN task x ON x.id = d.dep WHERE d.task = k.id) AS depends_on,
	(SELECT group_concat(printf('%03d', x.number), ' ') FROM task_dep d
		JOIN task x ON x.id = d.dep WHERE d.task = k.id AND x.state <> {task_state.completed})
		AS blocked_by,
	(SELECT group_concat(tag, ' ') FROM task_tag WHERE task = k.id) AS tags,
	k.attempts, c.name AS created_by, k.description, k.result,
	CASE WHEN k.lease_until > (SELECT ms FROM v_now)
		THEN strftime('%Y-%m-%dT%H:%M:%fZ', k.lease_until / 1000.0, 'unixepoch') END
		AS lease_until,
	strftime('%Y-%m-%dT%H:%M:%fZ', k.created_at / 1000.0, 'unixepoch') AS created_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', k.updated_at / 1000.0, 'unixepoch') AS updated_at
FROM task k JOIN team t ON t.id = k.team JOIN agent c ON c.id = k.created_by
LEFT JOIN agent o ON o.id = k.owner LEFT JOIN agent s ON s.id = k.assignee
ORDER BY t.name, k.number;

-- What can be claimed now, best first.
CREATE VIEW v_ready AS
SELECT t.name AS team, printf('%03d', k.number) AS id, k.priority, k.title,
	s.name AS assignee
FROM task k JOIN team t ON t.id = k.team LEFT JOIN agent s ON s.id = k.assignee
WHERE k.open_deps = 0 AND (k.state = {task_state.pending}
	OR (k.state IN {task_state.claimed in_progress} AND k.lease_until <= (SELECT ms FROM v_now)
		AND k.after_lapse = {task_state.pending}))
ORDER BY t.name, k.priority, k.number;

CREATE VIEW v_note AS
SELECT t.name AS team, printf('%03d', k.number) AS task, a.name AS agent, n.text,
	strftime('%Y-%m-%dT%H:%M:%fZ', n.at / 1000.0, 'unixepoch') AS at
FROM task_note n JOIN task k ON k.id = n.task JOIN team t ON t.id = k.team
JOIN agent a ON a.id = n.agent;

CREATE VIEW v_assignment AS
SELECT t.name AS team, x.message AS seq, a.name AS agent, s.name AS sender, x.label AS task,
	(SELECT word FROM word WHERE list = 'assignment_state' AND n = x.state) AS state,
	x.command, x.workdir, x.timeout_s,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.at / 1000.0, 'unixepoch') AS sent_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', x.started_at / 1000.0, 'unixepoch') AS started_at
FROM assignment x JOIN message m ON m.id = x.message JOIN team t ON t.id = x.team
JOIN agent a ON a.id = x.agent JOIN agent s ON s.id = x.sender;

CREATE VIEW v_result AS
SELECT t.name AS team, r.message AS seq, a.name AS agent, s.name AS sender, x.label AS task,
	r.success, r.exit_code, r.stdout, r.stderr, r.elapsed_s,
	strftime('%Y-%m-%dT%H:%M:%fZ', r.stored_at / 1000.0, 'unixepoch') AS stored_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', r.collected_at / 1000.0, 'unixepoch')
		AS collected_at
FROM result r JOIN assignment x ON x.message = r.message JOIN team t ON t.id = r.team
JOIN agent a ON a.id = r.agent JOIN agent s ON s.id = r.sender;

CREATE VIEW v_workspace AS
SELECT w.name AS workspace, t.name AS team, a.name AS agent,
	(SELECT word FROM word WHERE list = 'backend_kind' AND n = w.backend) AS backend,
	(SELECT word FROM word WHERE list = 'workspace_state' AND n = w.state) AS state,
	w.path, w.address, p.name AS parent, w.image, nullif(w.vcpus, 0) AS vcpus,
	nullif(w.memory_mb, 0) AS memory_mb, nullif(w.disk_gb, 0) AS disk_gb, w.pid,
	strftime('%Y-%m-%dT%H:%M:%fZ', w.created_at / 1000.0, 'unixepoch') AS created_at
FROM workspace w JOIN team t ON t.id = w.team LEFT JOIN agent a ON a.id = w.agent
LEFT JOIN workspace p ON p.id = w.parent;

-- What a VM is allowed by itself and its team; a team above may allow less.
CREATE VIEW v_network AS
SELECT w.name AS workspace, t.name AS team, w.slot,
	min(w.allow_internet, t.allow_internet) AS allow_internet,
	min(w.allow_inter_vm, t.allow_inter_vm) AS allow_inter_vm,
	coalesce((SELECT group_concat(port, ' ') FROM workspace_port p
			WHERE p.workspace = w.id),
		(SELECT group_concat(port, ' ') FROM team_port p WHERE p.team = t.id))
		AS ports,
	(SELECT group_concat((SELECT word FROM word
			WHERE list = 'transport' AND n = f.transport)
			|| ' ' || f.port || '>' || f.target, ', ')
		FROM workspace_forward f WHERE f.workspace = w.id) AS forwards
FROM workspace w JOIN team t ON t.id = w.team WHERE w.slot IS NOT NULL AND w.state IN {workspace_state.living};

CREATE VIEW v_snapshot AS
SELECT w.name AS workspace, t.name AS team, s.name AS snapshot,
	(SELECT word FROM word WHERE list = 'snapshot_state' AND n = s.state) AS state,
	strftime('%Y-%m-%dT%H:%M:%fZ', s.created_at / 1000.0, 'unixepoch') AS created_at
FROM snapshot s JOIN workspace w ON w.id = s.workspace JOIN team t ON t.id = w.team;

CREATE VIEW v_event AS
SELECT e.seq, strftime('%Y-%m-%dT%H:%M:%fZ', e.at / 1000.0, 'unixepoch') AS at,
	t.name AS team, (SELECT word FROM word WHERE list = 'event' AND n = e.kind) AS event,
	CASE e.actor WHEN 0 THEN 'host' WHEN -1 THEN 'operator' ELSE a.name END AS actor,
	e.via AS as_operator,
	CASE WHEN e.kind BETWEEN {events.task} THEN
		(SELECT printf('%03d', k.number) FROM task k WHERE k.id = e.subject)
	WHEN e.kind BETWEEN {events.agent} THEN
		(SELECT x.name FROM agent x WHERE x.id = e.subject)
	WHEN e.kind BETWEEN {events.workspace} THEN
		(SELECT w.name FROM workspace w WHERE w.id = e.subject)
	WHEN e.kind BETWEEN {events.team} THEN t.name
	WHEN e.kind BETWEEN {events.vault} THEN NULL
	ELSE CAST(e.subject AS TEXT) END AS subject,
	(SELECT x.name FROM agent x WHERE x.id = e.target) AS target, e.detail
FROM event e LEFT JOIN team t ON t.id = e.team LEFT JOIN agent a ON a.id = e.actor;
