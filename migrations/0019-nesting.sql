-- Teams below others: how deep they are, who may make them, whose place a lead is, and messages
-- between them.
ALTER TABLE team ADD COLUMN depth INTEGER NOT NULL DEFAULT 0; -- teams above it
CREATE INDEX team_below ON team(parent) WHERE parent IS NOT NULL;
ALTER TABLE agent ADD COLUMN nests INTEGER NOT NULL DEFAULT 0; -- may make teams below its own
ALTER TABLE agent ADD COLUMN holder INTEGER; -- agent of the team above whose place this is

-- 1: the message went to another team, where its sender's name is TEAM/NAME.
ALTER TABLE message ADD COLUMN abroad INTEGER NOT NULL DEFAULT 0 CHECK (abroad IN (0, 1));

DROP VIEW envelope;
CREATE VIEW envelope AS
SELECT m.id, m.team, m.sender, m.at, m.urgent, m.to_all, m.ack_required, m.type,
	m.content, m.thread, m.reply_to, m.metadata, m.abroad, p.at AS reply_at,
	CASE m.abroad WHEN 0 THEN a.name
		ELSE (SELECT t.name || '/' || a.name FROM team t WHERE t.id = a.team) END AS name,
	(SELECT CASE m.abroad WHEN 0 THEN r.name
		ELSE (SELECT t.name || '/' || r.name FROM team t WHERE t.id = r.team) END
		FROM delivery d JOIN agent r ON r.id = d.agent
		WHERE d.message = m.id LIMIT 1) AS to_name
FROM message m JOIN agent a ON a.id = m.sender
LEFT JOIN message p ON p.id = m.reply_to;

DROP VIEW inbox;
CREATE VIEW inbox AS
SELECT d.message, d.agent, d.lane, d.state, d.attempt, d.due_at, d.after_lapse,
	d.request, d.session, d.seen, m.sender, m.at, m.ack_required, m.type, m.content,
	m.thread, m.reply_to, m.metadata, m.expires_at, p.at AS reply_at,
	CASE m.abroad WHEN 0 THEN a.name
		ELSE (SELECT t.name || '/' || a.name FROM team t WHERE t.id = a.team) END
		AS sender_name
FROM delivery d JOIN message m ON m.id = d.message JOIN agent a ON a.id = m.sender
LEFT JOIN message p ON p.id = m.reply_to;

DROP VIEW v_team;
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
	(SELECT p.name FROM team p WHERE p.id = t.parent) AS parent,
	strftime('%Y-%m-%dT%H:%M:%fZ', t.created_at / 1000.0, 'unixepoch') AS created_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', t.destroyed_at / 1000.0, 'unixepoch')
		AS destroyed_at,
	printf('%08x-%04x-7%03x-%04x-%012x', t.created_at >> 16, t.created_at & 65535,
		s.id_a, 32768 | (2 << 10) | s.id_b,
		(((t.id + t.created_at * 2442737) & 281474976710655) | s.id_c)
		- (((t.id + t.created_at * 2442737) & 281474976710655) & s.id_c)) AS id
FROM team t JOIN state s ON s.one = 1;
