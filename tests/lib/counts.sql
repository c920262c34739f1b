-- Lists the wrong stored counts, and the stored copies that differ from the copied column.
WITH had(team, what, n) AS (
	SELECT team, 'waiting', waiting FROM board UNION ALL SELECT team, 'claimed', claimed FROM board
	UNION ALL SELECT team, 'in_progress', in_progress FROM board UNION ALL SELECT team, 'blocked', blocked FROM board
	UNION ALL SELECT team, 'completed', completed FROM board UNION ALL SELECT team, 'failed', failed FROM board
	UNION ALL SELECT team, 'cancelled', cancelled FROM board UNION ALL SELECT team, 'assignments', assignments FROM board
	UNION ALL SELECT team, 'members', members FROM board UNION ALL SELECT team, 'vms', vms FROM board
	UNION ALL SELECT team, 'guests', guests FROM board UNION ALL SELECT team, 'reserved', reserved FROM board
	UNION ALL SELECT id, 'tasks', next_task - 1 FROM team
	UNION ALL SELECT team, 'reserved of ' || kind, reserved FROM budget),
has(team, what, n) AS (
	SELECT k.team, w.word, count(*) FROM task k JOIN word w ON w.list = 'task_state' AND w.n = k.state
	WHERE w.word <> 'pending' GROUP BY k.team, w.word
	UNION ALL SELECT k.team, 'waiting', count(*) FROM task k JOIN word w ON w.list = 'task_state' AND w.n = k.state
	WHERE w.word = 'pending' AND k.open_deps > 0 GROUP BY k.team
	UNION ALL SELECT team, 'tasks', count(*) FROM task GROUP BY team
	UNION ALL SELECT x.team, 'assignments', count(*) FROM assignment x
	JOIN word w ON w.list = 'assignment_state' AND w.n = x.state
	WHERE w.word IN ('queued', 'running') GROUP BY x.team
	UNION ALL SELECT a.team, 'members', count(*) FROM agent a JOIN word w ON w.list = 'agent_kind' AND w.n = a.kind
	WHERE w.word = 'member' AND a.gone = 0 GROUP BY a.team
	UNION ALL SELECT p.team, 'vms', count(*) FROM workspace p JOIN word w ON w.list = 'workspace_state' AND w.n = p.state
	WHERE w.word <> 'destroyed' GROUP BY p.team
	UNION ALL SELECT p.team, 'guests', count(*) FROM workspace p JOIN word w ON w.list = 'workspace_state' AND w.n = p.state
	WHERE w.word = 'ready' GROUP BY p.team
	UNION ALL SELECT parent, 'reserved', sum(max_vms) FROM team
	WHERE parent IS NOT NULL AND destroyed_at IS NULL GROUP BY parent
	UNION ALL SELECT t.parent, 'reserved of ' || b.kind, sum(b.most) FROM team t JOIN budget b ON b.team = t.id
	WHERE t.parent IS NOT NULL AND t.destroyed_at IS NULL GROUP BY t.parent, b.kind)
SELECT 'team ' || h.team || ' counts ' || h.n || ' ' || h.what || ', and has ' || coalesce(r.n, 0) AS wrong
FROM had h LEFT JOIN has r ON r.team = h.team AND r.what = h.what WHERE h.n <> coalesce(r.n, 0)
UNION ALL
SELECT 'team ' || r.team || ' has ' || r.n || ' ' || r.what || ', and no count of them'
FROM has r LEFT JOIN had h ON h.team = r.team AND h.what = r.what WHERE h.team IS NULL
UNION ALL
SELECT 'task ' || k.id || ' counts ' || k.notes || ' notes, and has ' || (SELECT count(*) FROM task_note n WHERE n.task = k.id)
FROM task k WHERE k.notes <> (SELECT count(*) FROM task_note n WHERE n.task = k.id)
UNION ALL
SELECT 'task ' || k.id || ' is awaited: ' || k.awaited || ', and its team is ' || iif(t.destroyed_at, 'over', 'not')
FROM task k JOIN team t ON t.id = k.team JOIN word w ON w.list = 'task_state' AND w.n = k.state
WHERE iif(t.destroyed_at, w.word = 'failed' AND k.awaited <> -1,
	k.awaited = -1 OR (k.awaited = 0 AND EXISTS (SELECT 1 FROM task_dep d WHERE d.dep = k.id)))
UNION ALL
SELECT 'task ' || k.id || ' is stuck: ' || k.stuck
FROM task k JOIN word w ON w.list = 'task_state' AND w.n = k.state
WHERE k.stuck <> (w.word = 'pending' AND k.id IN (
	WITH RECURSIVE held(id) AS (
		SELECT d.task FROM task o JOIN task_dep d ON d.dep = o.id
		JOIN word v ON v.list = 'task_state' AND v.n = o.state WHERE v.word IN ('failed', 'cancelled')
		UNION SELECT d.task FROM held h JOIN task_dep d ON d.dep = h.id)
	SELECT id FROM held))
UNION ALL
SELECT 'tag ' || g.tag || ' of task ' || k.id || ' does not stand where the task does'
FROM task_tag g JOIN task k ON k.id = g.task WHERE (g.team, g.priority, g.number) <> (k.team, k.priority, k.number)
UNION ALL
SELECT 'the copy of message ' || d.message || ' for agent ' || d.agent || ' is owed to another than its sender'
FROM delivery d JOIN message m ON m.id = d.message JOIN word w ON w.list = 'delivery_state' AND w.n = d.state
WHERE d.ack_due_at IS NOT NULL AND w.word IN ('queued', 'notified', 'fetched')
	AND (d.owed_team, d.owed_to) <> (m.team, m.sender)
UNION ALL
SELECT 'team ' || t.id || ' has an event or a message from before it was made' FROM team t
WHERE (SELECT min(e.seq) FROM event e WHERE e.team = t.id) < t.first_event
	OR (SELECT min(m.id) FROM message m WHERE m.team = t.id) < t.first_message
UNION ALL
SELECT 'the inbox of agent ' || a.id || ' is the operator''s: ' || i.operator
FROM agent a JOIN agent_inbox i ON i.agent = a.id JOIN word w ON w.list = 'agent_kind' AND w.n = a.kind
WHERE a.gone = 0 AND i.operator <> (w.word = 'operator')
UNION ALL
SELECT 'no word is ' || column1 || ' ' || column2 FROM (VALUES ('task_state', 'pending'), ('task_state', 'failed'),
	('assignment_state', 'queued'), ('assignment_state', 'running'), ('agent_kind', 'member'),
	('agent_kind', 'operator'), ('workspace_state', 'destroyed'), ('workspace_state', 'ready'),
	('delivery_state', 'queued'), ('delivery_state', 'notified'), ('delivery_state', 'fetched'))
WHERE NOT EXISTS (SELECT 1 FROM word WHERE list = column1 AND word = column2)
UNION ALL
SELECT 'the reservation of ' || paths || ' stands below ' || stem FROM reservation
WHERE stem <> '' AND paths <> stem AND substr(paths, 1, length(stem) + 1) <> stem || '/';
