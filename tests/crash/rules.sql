-- The rules of the proof, which judge.c checks against rows and journals. A rule is a query,
-- and each of its rows is a finding. The state is the schema `s`.

-- part: tables
-- The table `act` has the calls of the clients, each under its own key.  The code is NULL while
-- the call is open.  The table `again` has the repeats of answered calls.  The table `note` has
-- the tries without an answer.  The table `ran` has the number of lines that the runs of a
-- command wrote.
CREATE TABLE act (n INTEGER PRIMARY KEY, who TEXT, key TEXT UNIQUE, op TEXT,
	args TEXT, tried_at INT, code TEXT, ended_at INT, result TEXT, text TEXT);
CREATE TABLE again (key TEXT, code TEXT, result TEXT, at INT);
CREATE TABLE note (key TEXT, text TEXT, at INT);
CREATE TABLE ran (key TEXT PRIMARY KEY, lines INT);
-- The table `handed` has the deliveries that clients received. The columns `at` and `until` are
-- the start and the end of the delivery's lease. In a stopped team a lease has no end, and `at`
-- is the time of the call.
CREATE TABLE handed (key TEXT, who TEXT, message INT, id TEXT, attempt INT,
	content TEXT, at INT, until INT);
CREATE TABLE sent (key TEXT, content TEXT);
CREATE TABLE acked (key TEXT, who TEXT, message INT, code TEXT, tried_at INT,
	ended_at INT);
CREATE TABLE claim (key TEXT, who TEXT, task INT, epoch INT, until INT);
CREATE TABLE worked (key TEXT, who TEXT, op TEXT, task INT, epoch INT, code TEXT,
	tried_at INT, ended_at INT, result TEXT);
-- one row for each assigned command, with the key that its text contains
CREATE TABLE command (key TEXT, message INT, state INT, success INT, stderr TEXT);

-- the members of the common team, and the clients' reports of spent tokens
CREATE TABLE member (id INT, name TEXT);
CREATE TABLE spent (key TEXT, tokens INT);

-- calls about a team that has ended, with the time of the team's end
CREATE TABLE gone (key TEXT, at INT);

-- part: views
INSERT INTO gone SELECT a.key, t.destroyed_at FROM act a
	JOIN s.team t ON t.name = coalesce(a.args->>'parent', a.args->>'team')
	WHERE a.op IN ('team.create', 'team.usage', 'team.destroy') AND t.destroyed_at IS NOT NULL;
CREATE INDEX gone_key ON gone(key);
INSERT INTO member SELECT a.id, a.name FROM s.agent a JOIN s.team t ON t.id = a.team
	WHERE t.name = 'crash' AND a.kind = 0;
INSERT INTO spent SELECT key, (args->>'tokens_in') + (args->>'tokens_out')
	FROM act WHERE op = 'team.usage' AND code = 'ok';
INSERT INTO sent SELECT key, args->>'content' FROM act
	WHERE op IN ('message.send', 'message.reply') AND code = 'ok';
CREATE INDEX sent_content ON sent(content);
INSERT INTO handed SELECT a.key, a.who, m.value->>'seq', m.value->>'message_id',
	m.value->>'attempt', m.value->>'content',
	coalesce(unixepoch(m.value->>'lease_until') * 1000
		+ CAST(substr(m.value->>'lease_until', 21, 3) AS INT)
		- 1000 * (a.args->>'lease_seconds'), a.tried_at),
	unixepoch(m.value->>'lease_until') * 1000
		+ CAST(substr(m.value->>'lease_until', 21, 3) AS INT)
	FROM act a, json_each(a.result, '$.messages') m
	WHERE a.op = 'message.receive' AND a.code = 'ok';
CREATE INDEX handed_id ON handed(id);
CREATE INDEX handed_message ON handed(message, who);
INSERT INTO acked SELECT a.key, a.who,
	(SELECT message FROM handed WHERE id = m.value LIMIT 1),
	a.code, a.tried_at, a.ended_at
	FROM act a, json_each(CASE a.op WHEN 'message.reply'
		THEN json_array(a.args->>'message_id') ELSE a.args->'message_ids' END) m
	WHERE a.op = 'message.ack'
		OR (a.op = 'message.reply' AND a.result->>'acked' = 1);
CREATE INDEX acked_message ON acked(message, who);
-- The answer to a repeated claim may name another client as the owner of the task. Only answers
-- that name the caller prove a claim.
INSERT INTO claim SELECT key, who, CAST(result->'task'->>'id' AS INT),
	result->>'epoch', unixepoch(result->>'lease_until') * 1000
		+ CAST(substr(result->>'lease_until', 21, 3) AS INT)
	FROM act WHERE op = 'task.claim' AND code = 'ok' AND result->>'epoch' IS NOT NULL
		AND result->'task'->>'owner' = who;
CREATE INDEX claim_task ON claim(task, epoch);
INSERT INTO worked SELECT key, who, op, CAST(args->>'task' AS INT), args->>'epoch',
	code, tried_at, ended_at, args->>'result' FROM act WHERE op IN
	('task.start', 'task.complete', 'task.fail', 'task.release');
CREATE INDEX worked_task ON worked(task, epoch);
INSERT INTO command SELECT substr(x.command, instr(x.command, '/runs/') + 6,
	instr(x.command, ';') - instr(x.command, '/runs/') - 6), x.message, x.state,
	r.success, r.stderr
	FROM s.assignment x LEFT JOIN s.result r ON r.message = x.message;
CREATE INDEX command_key ON command(key);
-- The table `log` has each change of a task's owner. `last` and `holder` are the kind and the
-- target of the task's previous change. The last change of a task has back = 1.
CREATE TABLE log AS SELECT seq, subject, kind, actor, target, detail,
	lag(kind) OVER w AS last, lag(target) OVER w AS holder,
	row_number() OVER (PARTITION BY subject ORDER BY seq DESC) AS back
	FROM s.event WHERE kind IN (201, 205, 206, 207, 208, 209)
	WINDOW w AS (PARTITION BY subject ORDER BY seq);
CREATE INDEX log_subject ON log(subject, back);

-- rule: a call was never settled
SELECT key, op, tried_at FROM act WHERE code IS NULL;

-- rule: a call got an answer that is not possible
SELECT key, op, code, text FROM act WHERE code <> 'ok' AND NOT (code = 'conflict'
AND op IN ('message.ack', 'task.start', 'task.complete', 'task.fail',
	'task.release', 'task.assign'))
AND NOT (code = 'conflict' AND text LIKE '%is stopped%'
	AND op IN ('task.claim', 'task.assign', 'message.send', 'team.create'))
AND NOT (code = 'exhausted' AND op = 'team.create')
AND NOT (code = 'denied' AND EXISTS (SELECT 1 FROM gone g WHERE g.key = act.key
	AND g.at <= act.ended_at));

-- --- messages ---

-- rule: an acknowledged message is missing, or differs from the sent message
SELECT a.key, a.result->>'seq' AS message FROM act a
LEFT JOIN s.message m ON m.id = a.result->>'seq' LEFT JOIN s.agent g ON g.id = m.sender
WHERE a.op IN ('message.send', 'message.reply') AND a.code = 'ok' AND
	(m.id IS NULL OR g.name <> a.who OR (m.type <> 'task_assignment'
		AND m.content <> a.args->>'content'));

-- rule: a message has more or fewer copies than recipients
SELECT a.key, coalesce(a.result->>'recipients', 1) AS told, (SELECT count(*)
	FROM s.delivery d WHERE d.message = a.result->>'seq') AS copies FROM act a
WHERE a.op IN ('message.send', 'message.reply') AND a.code = 'ok'
	AND told <> copies;

-- rule: a message was stored twice
SELECT substr(content, 1, instr(content, ' ') - 1) AS key, count(*) AS n,
	group_concat(id) AS messages FROM s.message
WHERE type NOT IN ('task_assignment', 'budget') GROUP BY content HAVING n > 1;

-- rule: the state has a message that no client sent
SELECT m.id AS message, substr(m.content, 1, 40) AS content FROM s.message m
WHERE m.type NOT IN ('task_assignment', 'budget') AND NOT EXISTS (SELECT 1 FROM sent t
	WHERE t.content = m.content);

-- rule: a repeated call got another answer than the first call
SELECT g.key, a.op, g.code, g.result FROM again g JOIN act a USING (key)
WHERE (g.code <> 'ok' AND NOT (g.code = 'denied' AND EXISTS (SELECT 1 FROM gone o
	WHERE o.key = g.key AND o.at <= g.at)))
OR (g.code = 'ok' AND coalesce(g.result->>'message_id', g.result->'task'->>'id', g.result->>'team_id', '')
	<> coalesce(a.result->>'message_id', a.result->'task'->>'id', a.result->>'team_id', ''))
	OR (g.code = 'ok' AND g.result->>'replayed' IS NOT 1);

-- rule: one attempt of a message was handed out twice
SELECT group_concat(key) AS keys, who, message, attempt, count(*) AS n FROM handed
GROUP BY who, message, attempt HAVING n > 1;

-- rule: a message was handed out again before its lease was over
SELECT y.key, x.key AS first, x.who, x.message, x.attempt, x.until, y.at
FROM handed x JOIN handed y USING (message, who)
WHERE y.attempt > x.attempt AND y.at < x.until;

-- rule: a message that was handed out differs from the stored message
SELECT h.key, h.who, h.message, h.attempt, d.attempt AS stored FROM handed h
LEFT JOIN member g ON g.name = h.who
LEFT JOIN s.delivery d ON d.message = h.message AND d.agent = g.id
LEFT JOIN s.message m ON m.id = h.message
WHERE d.message IS NULL OR d.attempt < h.attempt OR m.content <> h.content;

-- rule: an acknowledgement is lost
SELECT k.key, k.who, k.message, d.state FROM acked k JOIN member g ON g.name = k.who
LEFT JOIN s.delivery d ON d.message = k.message AND d.agent = g.id
WHERE k.code = 'ok' AND d.state IS NOT 3;

-- rule: a message was handed out after it was acknowledged
SELECT h.key, k.key AS ack, h.who, h.message, h.attempt, h.at, k.ended_at
FROM acked k JOIN handed h USING (message, who)
WHERE k.code = 'ok' AND h.at > k.ended_at;

-- rule: an acknowledgement was refused although the lease ran
SELECT a.key, a.who, a.ended_at, a.text FROM act a WHERE a.op = 'message.ack'
AND a.code = 'conflict' AND NOT EXISTS (SELECT 1 FROM acked k WHERE k.key = a.key AND
	(NOT EXISTS (SELECT 1 FROM handed h WHERE h.message = k.message
		AND h.who = k.who AND h.at <= a.ended_at AND h.until > a.ended_at)
	OR EXISTS (SELECT 1 FROM acked o WHERE o.message = k.message AND o.who = k.who
		AND o.key <> k.key AND o.code = 'ok' AND o.tried_at <= a.ended_at)
	OR EXISTS (SELECT 1 FROM act r WHERE r.who = a.who AND r.op = 'message.receive'
		AND r.args->>'keep' = 0 AND r.tried_at <= a.ended_at
		AND r.ended_at >= a.ended_at - 60000)));

-- rule: a message is stored as acknowledged, but no client acknowledged it
SELECT g.name AS who, d.message, d.attempt FROM s.delivery d
JOIN s.agent g ON g.id = d.agent WHERE d.lane < 2 AND d.state = 3
AND NOT EXISTS (SELECT 1 FROM acked k WHERE k.message = d.message AND k.who = g.name
	AND k.code = 'ok')
AND NOT EXISTS (SELECT 1 FROM handed h JOIN act r ON r.who = h.who
	AND r.op = 'message.receive' AND r.args->>'keep' = 0 AND r.code = 'ok'
	AND r.ended_at >= h.at
	WHERE h.message = d.message AND h.who = g.name);

-- rule: a message was dropped, expired, or given up too early
SELECT d.agent, d.message, d.lane, d.state, d.attempt FROM s.delivery d
JOIN s.agent a ON a.id = d.agent
WHERE d.state IN (4, 5) OR (d.state = 6 AND d.lane < 2 AND d.attempt < 5 AND a.gone = 0);

-- --- the board ---

-- rule: a task was made twice
SELECT title AS key, count(*) AS n FROM s.task GROUP BY title HAVING n > 1;

-- rule: an acknowledged task is missing
SELECT a.key FROM act a LEFT JOIN s.task t ON t.number =
	CAST(a.result->'task'->>'id' AS INT)
WHERE a.op = 'task.create' AND a.code = 'ok' AND t.title IS NOT a.args->>'title';

-- rule: a task had two owners in one epoch
SELECT group_concat(key) AS keys, task, epoch, count(DISTINCT who) AS n FROM claim
GROUP BY task, epoch HAVING n > 1;

-- rule: two claims of a task got the same epoch
SELECT subject AS task, detail AS epoch, count(*) AS n FROM s.event
WHERE kind = 201 GROUP BY subject, detail HAVING n > 1;

-- rule: a claim has no event
SELECT c.key, c.who, c.task, c.epoch FROM claim c JOIN s.task t ON t.number = c.task
WHERE NOT EXISTS (SELECT 1 FROM s.event e JOIN s.agent g ON g.id = e.target
	WHERE e.subject = t.id AND e.kind = 201 AND e.kind BETWEEN 200 AND 299
	AND e.detail = c.epoch
	AND g.name = c.who);

-- rule: an agent claimed a held task, or ended a task that another agent owned
SELECT seq, subject AS task, kind, last, target, holder FROM log
WHERE (kind = 201 AND last IS 201) OR (kind IN (205, 208, 209) AND last IS NOT 201)
OR (kind = 206 AND (last IS NULL OR last NOT IN (201, 209)))
OR (kind IN (205, 206, 208, 209) AND target <> holder);

-- rule: a task's state differs from the task's last event
SELECT t.number AS task, t.state, l.kind FROM s.task t
LEFT JOIN log l ON l.subject = t.id AND l.back = 1
WHERE CASE coalesce(l.kind, 208) WHEN 201 THEN t.state NOT IN (1, 2)
WHEN 205 THEN t.state <> 4 WHEN 206 THEN t.state <> 5 ELSE t.state <> 0 END;

-- rule: an acknowledged task.complete is lost
SELECT w.key, w.task, t.state, t.result FROM worked w LEFT JOIN s.task t
	ON t.number = w.task WHERE w.op = 'task.complete' AND w.code = 'ok'
	AND (t.state IS NOT 4 OR t.result IS NOT w.result);

-- rule: an acknowledged end of a claim has no event
SELECT w.key, w.op, w.who, w.task, w.epoch FROM worked w JOIN s.task t
	ON t.number = w.task WHERE w.op <> 'task.start' AND w.code = 'ok' AND NOT EXISTS
	(SELECT 1 FROM s.event c JOIN s.event e ON e.subject = c.subject
		AND e.seq > c.seq AND e.kind = CASE w.op WHEN 'task.complete' THEN 205
			WHEN 'task.fail' THEN 206 ELSE 208 END
		JOIN s.agent g ON g.id = c.target
		WHERE c.subject = t.id AND c.kind = 201 AND c.kind BETWEEN 200 AND 299
		AND e.kind BETWEEN 200 AND 299 AND c.detail = w.epoch
		AND g.name = w.who);

-- rule: an owner was refused although the owner's lease ran
SELECT w.key, w.op, w.who, w.task, w.epoch, w.ended_at, c.until FROM worked w
JOIN claim c USING (task, epoch, who) WHERE w.code = 'conflict'
AND c.until > w.ended_at AND NOT EXISTS (SELECT 1 FROM worked o WHERE o.task = w.task
	AND o.epoch = w.epoch AND o.who = w.who AND o.key <> w.key AND o.code = 'ok'
	AND o.tried_at <= w.ended_at AND (o.op <> 'task.start' OR w.op = 'task.start'));

-- --- commands ---

-- rule: a command ran twice
SELECT key, lines FROM ran WHERE lines > 1;

-- rule: a command ran without an assignment
SELECT r.key FROM ran r LEFT JOIN command c USING (key) WHERE c.message IS NULL;

-- rule: an acknowledged command is missing, or is stored twice
SELECT a.key, count(c.message) AS times FROM act a LEFT JOIN command c USING (key)
WHERE a.code = 'ok' AND (a.op = 'task.assign' OR a.args->>'message_type' =
	'task_assignment') GROUP BY a.key HAVING times <> 1;

-- rule: a command succeeded without a run, or failed without an interruption
SELECT c.key, c.message, c.success, coalesce(r.lines, 0) AS lines,
	substr(c.stderr, 1, 200) AS stderr
FROM command c LEFT JOIN ran r USING (key)
WHERE (c.success = 1 AND r.lines IS NOT 1)
	OR (c.success = 0 AND c.stderr NOT LIKE '%interrupted%');

-- rule: a command is done without a result, or the command's delivery is still open
SELECT c.key, c.message, c.state, d.state AS delivery FROM command c
JOIN s.delivery d USING (message) WHERE c.state >= 2
AND ((c.state = 2 AND c.success IS NULL) OR d.state <> CASE c.state WHEN 2 THEN 3
	ELSE d.state END OR d.state < 3);

-- rule: a result was not fetched
SELECT r.message, g.name AS who FROM s.result r JOIN s.agent g ON g.id = r.sender
WHERE r.collected_at IS NULL;

-- --- teams below ---

-- rule: an acknowledged team is missing, or has too few or too many members
SELECT a.key, t.name, t.destroyed_at, (SELECT count(*) FROM s.agent g JOIN s.agent_inbox i
	ON i.agent = g.id WHERE g.team = t.id AND g.kind = 0) AS members
FROM act a LEFT JOIN s.team t ON t.name = a.args->>'name'
WHERE a.op = 'team.create' AND a.code = 'ok' AND members IS NOT 3;

-- rule: a team exists, but no acknowledged call made this team
SELECT t.name AS key FROM s.team t LEFT JOIN act a ON a.key = t.name AND a.op = 'team.create'
WHERE t.parent IS NOT NULL AND a.code IS NOT 'ok';

-- rule: a team was made twice
SELECT name AS key, count(*) AS n FROM s.team GROUP BY name HAVING n > 1;

-- rule: an acknowledged team.destroy is lost
SELECT a.key, a.args->>'team' AS team FROM act a LEFT JOIN s.team t ON t.name = a.args->>'team'
WHERE a.op = 'team.destroy' AND a.code = 'ok' AND t.destroyed_at IS NULL;

-- rule: a team ended, but no call ended this team or a team above
WITH RECURSIVE ended (id) AS (SELECT t.id FROM act a JOIN s.team t ON t.name = a.args->>'team'
		WHERE a.op = 'team.destroy' AND a.code = 'ok'
	UNION SELECT k.id FROM ended e JOIN s.team k ON k.parent = e.id)
SELECT t.name AS key FROM s.team t
WHERE t.destroyed_at IS NOT NULL AND t.id NOT IN (SELECT id FROM ended);

-- rule: a team ended only in part
SELECT t.name AS key FROM s.team t WHERE t.destroyed_at IS NOT NULL AND (
	EXISTS (SELECT 1 FROM s.agent a WHERE a.team = t.id AND (a.gone = 0 OR a.token IS NOT NULL))
	OR EXISTS (SELECT 1 FROM s.team k WHERE k.parent = t.id AND k.destroyed_at IS NULL)
	OR EXISTS (SELECT 1 FROM s.delivery d JOIN s.agent a ON a.id = d.agent
		WHERE a.team = t.id AND d.state < 3)
	OR EXISTS (SELECT 1 FROM s.task k WHERE k.team = t.id AND k.state < 4));

-- rule: a team has spent or reserved more than its budget
SELECT t.name AS key, b.kind, b.most, b.used, b.reserved
FROM s.spending b JOIN s.team t ON t.id = b.team
WHERE t.destroyed_at IS NULL AND b.most > 0 AND b.used + b.reserved > b.most
	AND (t.parent IS NOT NULL OR b.reserved > b.most);

-- rule: the sum of the reported tokens is wrong
-- Each report counts once, even if the team has ended since.  If a report was denied because the
-- team ended meanwhile, an earlier try of this report may have counted.
SELECT (SELECT coalesce(sum(tokens), 0) FROM spent) AS reported,
	(SELECT coalesce(sum((a.args->>'tokens_in') + (a.args->>'tokens_out')), 0)
		FROM act a JOIN gone g USING (key) WHERE a.op = 'team.usage' AND a.code = 'denied'
		AND g.at BETWEEN a.tried_at AND a.ended_at) AS perhaps,
	(SELECT sum(b.used) FROM s.budget b JOIN s.team t ON t.id = b.team
		WHERE b.kind = 1 AND t.destroyed_at IS NULL) AS counted
WHERE counted NOT BETWEEN reported AND reported + perhaps;

-- rule: a stopped team got a claim, a lapse or a new team below
SELECT e.seq, e.kind, e.team FROM s.event e WHERE e.kind IN (201, 209, 100)
AND (SELECT o.kind FROM s.event o JOIN s.team t ON t.id = o.team
	WHERE o.seq < e.seq AND o.kind IN (107, 108) AND t.name = 'crash'
	ORDER BY o.seq DESC LIMIT 1) = 107;

-- --- counters ---

-- rule: a counter differs from the rows that it counts
SELECT name, queued, leased, assignments,
	(SELECT count(*) FROM s.delivery d WHERE d.agent = a.id AND d.lane < 2
		AND d.state < 2) AS q,
	(SELECT count(*) FROM s.delivery d WHERE d.agent = a.id AND d.lane < 2
		AND d.state = 2) AS l,
	(SELECT count(*) FROM s.assignment x WHERE x.agent = a.id AND x.state < 2) AS c
FROM s.agent a JOIN s.agent_inbox i ON i.agent = a.id
WHERE queued <> q OR leased <> l OR assignments <> c;

-- part: counts
SELECT (SELECT count(*) FROM act WHERE code = 'ok' AND op = 'message.send') AS sends,
	(SELECT count(*) FROM handed) AS handed,
	(SELECT count(*) FROM handed WHERE attempt > 1) AS handed_again,
	(SELECT count(*) FROM acked WHERE code = 'ok') AS acks,
	(SELECT count(*) FROM act WHERE code = 'ok' AND op = 'message.reply') AS replies,
	(SELECT count(*) FROM claim) AS claims,
	(SELECT count(*) FROM s.event WHERE kind = 209) AS lapses,
	(SELECT count(*) FROM worked WHERE code = 'ok' AND op = 'task.complete') AS completed,
	(SELECT count(*) FROM worked WHERE code = 'ok' AND op = 'task.release') AS released,
	(SELECT count(*) FROM command) AS commands,
	(SELECT count(*) FROM ran) AS ran,
	(SELECT count(*) FROM command WHERE success = 0) AS interrupted,
	(SELECT count(*) FROM command WHERE state = 3) AS called_off,
	(SELECT count(*) FROM act WHERE code = 'ok' AND op = 'team.create') AS founded,
	(SELECT count(*) FROM act WHERE code = 'ok' AND op = 'team.destroy') AS ended,
	(SELECT count(*) FROM spent) AS reports,
	(SELECT count(*) FROM s.event WHERE kind = 107) AS stopped,
	(SELECT count(*) FROM again) AS repeated,
	(SELECT count(*) FROM act WHERE result->>'replayed' = 1) AS settled_by_key,
	(SELECT count(*) FROM note) AS unavailable,
	(SELECT count(*) FROM act WHERE code <> 'ok') AS refused;
