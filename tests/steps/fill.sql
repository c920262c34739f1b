-- The temporary table `size` has two numbers. This file makes `rows` tasks and as many
-- messages, events, notes, results and turns, and `things` agents and as many teams, workspaces
-- and reservations. The function enum('LIST.WORD') returns the number of a word.
--
-- Team 1, t, is large. The operator of t is agent 1, and the lead of t is agent 2. A fifth of
-- the rows in the table `row` belong to agent 1001, a1, and the other rows to a2 to a50. Team
-- 2, q, is made only after this file was run.

CREATE TEMP TABLE row (n INTEGER PRIMARY KEY, x, y, z, who, other);
INSERT INTO row (n, x, y, z)
WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < (SELECT rows FROM size))
SELECT n, n * 1103515245 >> 7 & 65535, n * 22695477 >> 9 & 65535, n * 69069 >> 5 & 65535 FROM n;
UPDATE row SET who = CASE WHEN x % 5 = 0 THEN 1001 ELSE 1002 + y % 49 END,
	other = CASE z % 5 WHEN 0 THEN 1001 WHEN 1 THEN 1 WHEN 2 THEN 2 ELSE 1002 + z % 49 END;
CREATE TEMP TABLE thing AS SELECT n, x, y FROM row WHERE n <= (SELECT things FROM size);

-- Teams: half of the teams are below t, and a fifth have ended.
INSERT INTO team (id, name, parent, depth, created_at, destroyed_at, state, inbox_capacity, max_vms)
SELECT 10 + n, 's' || n, CASE WHEN x % 2 THEN 1 END, x % 2, past + n, CASE WHEN y % 5 = 0 THEN past + 2 * n END,
	CASE WHEN y % 5 = 0 THEN enum('team_state.destroyed') ELSE enum('team_state.ready') END, 100, 1
FROM thing, size;
INSERT INTO agent (id, team, name, kind, role, created_at, active_at, status, gone)
SELECT 10000 + t.id, t.id, 'operator', enum('agent_kind.operator'), '', past, past, enum('agent_status.ready'),
	t.destroyed_at IS NOT NULL
FROM team t, size WHERE t.id > 10
UNION ALL SELECT 20000 + t.id, t.id, 'lead', enum('agent_kind.member'), 'lead', past, past,
	enum('agent_status.ready'), t.destroyed_at IS NOT NULL
FROM team t, size WHERE t.id > 10;
INSERT INTO board (team, members) SELECT id, destroyed_at IS NULL FROM team WHERE id > 10;
INSERT INTO budget (team, kind) SELECT t.id, b.kind FROM team t, budget b WHERE t.id > 10 AND b.team = 1;
INSERT INTO former_name (name, team, at) SELECT 'f' || n, 1, n FROM thing;

-- Members of t: a tenth have left, a tenth are stuck, a tenth are offline, and a tenth have
-- failed.
INSERT INTO agent (id, team, name, role, created_at, active_at, status, gone)
SELECT 1000 + n, 1, 'a' || n, CASE WHEN x % 3 = 0 THEN 'tester' ELSE 'coder' END, past, past,
	CASE WHEN n < 60 THEN enum('agent_status.ready') WHEN y % 10 = 0 THEN enum('agent_status.stuck')
		WHEN y % 10 = 1 THEN enum('agent_status.offline') WHEN y % 10 = 2 THEN enum('agent_status.failed')
		ELSE enum('agent_status.ready') END, n > 60 AND x % 10 = 0
FROM thing, size;
INSERT INTO agent_skill (agent, n, skill) SELECT 1000 + n, 0, 'skill' || (y % 3) FROM thing;
INSERT INTO name_given_up (team, name, generation) SELECT 1, 'g' || n, 1 FROM thing;
INSERT INTO agent_inbox (agent, operator)
SELECT id, kind = enum('agent_kind.operator') FROM agent WHERE id > 2;
INSERT INTO rate (agent, category, full_at) SELECT 1000 + n, enum('rate_category.default'), 1 FROM thing;
INSERT INTO reservation (id, team, agent, generation, paths, stem, shared, lease_ms, lease_until, created_at)
SELECT n, 1, 1000 + n, 1, 'src/' || n || '/**', 'src/' || n, 0, 172800000, far, past FROM thing, size;
INSERT INTO pair_sent (sender, recipient, due_at, asked_at)
SELECT 1000 + n, 1001 + n, now - 1000, now - 1000 FROM thing, size;

-- Workspaces of the members: a tenth are destroyed, a tenth have failed, and a tenth are
-- stopped.
INSERT INTO workspace (id, team, agent, name, backend, path, state, was_up, created_at, changed_at, slot)
SELECT n, 1, 1000 + n, 'w' || n, enum('backend_kind.folder'), '/w/' || n,
	CASE WHEN n > 20 AND x % 10 = 0 THEN enum('workspace_state.destroyed')
		WHEN n > 20 AND x % 10 = 1 THEN enum('workspace_state.failed')
		WHEN n > 20 AND x % 10 = 2 THEN enum('workspace_state.stopped')
		ELSE enum('workspace_state.ready') END, 1, past, past + n, n + 1 FROM thing, size;
UPDATE agent SET workspace = id - 1000 WHERE id BETWEEN 1001 AND 9999;
INSERT INTO snapshot (id, workspace, name, state, created_at)
SELECT n, n, 'first', enum('snapshot_state.ready'), past FROM thing, size;

-- Of ten tasks, five are completed, one has failed, one is cancelled, and three are pending.
-- One of the pending tasks waits for the failed task.
INSERT INTO task (id, team, number, slug, title, priority, state, open_deps, created_by, created_at,
	updated_at, ended_at, ended_by, parts, awaited)
SELECT n, 1, n, 'x', 'Mend part ' || n || ' of the parser', 1 + x % 5, s, n % 10 = 6, 1, past + n,
	past + 2 * n, CASE WHEN s <> enum('task_state.pending') THEN CASE WHEN y % 2 THEN past ELSE now - 1000 END + n END,
	CASE WHEN s <> enum('task_state.pending') THEN 1001 END,
	(n % 10 = 6) * 8 + (z % 4 = 0) + (n = 11) * 4, n % 10 = 4
FROM (SELECT n, x, y, z, CASE n % 10 WHEN 4 THEN enum('task_state.failed') WHEN 5 THEN enum('task_state.cancelled')
	WHEN 6 THEN enum('task_state.pending') WHEN 7 THEN enum('task_state.pending')
	WHEN 8 THEN enum('task_state.pending') ELSE enum('task_state.completed') END AS s FROM row), size;
-- The ready tasks of priority 1 are assigned to agent 1002.
UPDATE task SET assignee = 1002 WHERE state = enum('task_state.pending') AND open_deps = 0 AND priority = 1;
INSERT INTO task_dep (task, dep) SELECT n, n - 2 FROM row WHERE n % 10 = 6;
UPDATE task SET stuck = 1 WHERE id % 10 = 6;
INSERT INTO task_tag (task, n, tag, team, priority, number)
SELECT k.id, 0, CASE WHEN y % 5 = 0 THEN 'rare' ELSE 'common' END, 1, k.priority, k.number
FROM task k JOIN row ON n = k.id WHERE z % 4 = 0;
-- Four of ten members hold one of the last tasks. A quarter of the held tasks are blocked, and
-- the leases of two held tasks have ended.
UPDATE task SET state = CASE id % 5 WHEN 0 THEN enum('task_state.blocked') WHEN 1 THEN enum('task_state.claimed')
		ELSE enum('task_state.in_progress') END,
	owner = 1000 + 2 * (id - (SELECT rows - things / 2 FROM size)), owner_generation = 1, lease_ms = 172800000,
	lease_until = CASE WHEN id % 5 THEN (SELECT far FROM size) END, open_deps = 0, ended_at = NULL, ended_by = NULL
WHERE id > (SELECT rows - things / 2 FROM size) AND id % 10 NOT IN (4, 6);
UPDATE task SET lease_until = (SELECT now - 1000 FROM size)
WHERE id IN (SELECT rows - 19 FROM size UNION SELECT rows - 9 FROM size);
INSERT INTO task_note (id, task, agent, at, text) SELECT n, 11, 1001, past, 'a note of the parser' FROM row, size;
UPDATE task SET notes = (SELECT rows FROM size) WHERE id = 11;

-- Of five message copies for a1 to a50, two are still queued, and half of these copies are
-- urgent. Each further member has one queued copy.
INSERT INTO message (id, team, sender, at, urgent, to_all, ack_required, type, content, thread)
SELECT n, 1, other, past + n, 0, 0, n % 3 = 0, CASE n % 7 WHEN 0 THEN 'task_assignment' ELSE 'text' END,
	'the parser is on its way', CASE WHEN n % 2 THEN 'long' WHEN n % 500 < 20 THEN 'short' || (n / 500) END
FROM row, size;
INSERT INTO delivery (message, agent, lane, state, attempt, due_at, done_at, ack_due_at, owed_team, owed_to)
SELECT n, who, CASE WHEN z % 2 THEN enum('delivery_lane.urgent') ELSE enum('delivery_lane.normal') END,
	CASE WHEN z % 5 < 2 THEN enum('delivery_state.queued') ELSE enum('delivery_state.acked') END, z % 5 >= 2,
	CASE WHEN z % 5 = 1 THEN far END, CASE WHEN z % 5 >= 2 THEN past + n END,
	CASE WHEN n % 3 = 0 THEN past + n END, n % 3 = 0, (n % 3 = 0) * other
FROM row, size;
INSERT INTO delivery (message, agent, lane, state)
SELECT n, 1000 + n, enum('delivery_lane.normal'), enum('delivery_state.queued') FROM thing WHERE n > 50;
UPDATE agent_inbox SET queued = c.n FROM (SELECT agent, count(*) AS n FROM delivery
	WHERE state = enum('delivery_state.queued') GROUP BY agent) c WHERE c.agent = agent_inbox.agent;

-- Of ten commands, two are open, and seven have results that were not collected yet.
INSERT INTO assignment (message, team, agent, sender, task, label, command, timeout_s, state, started_at)
SELECT n, 1, who, other, CASE WHEN y % 2 THEN n END, 'work ' || n, 'true', 60,
	CASE z % 10 WHEN 0 THEN enum('assignment_state.queued') WHEN 1 THEN enum('assignment_state.running')
		ELSE enum('assignment_state.done') END, past
FROM row, size;
INSERT INTO result (message, team, agent, sender, success, exit_code, stdout, stderr, elapsed_s,
	stored_at, collected_at, seen)
SELECT message, team, agent, sender, 1, 0, 'done', '', 1, past, CASE WHEN y % 8 = 0 THEN past END, 1
FROM assignment JOIN row ON n = message, size WHERE state = enum('assignment_state.done');
UPDATE agent_inbox SET assignments = c.n FROM (SELECT agent, count(*) AS n FROM assignment
	WHERE state <> enum('assignment_state.done') GROUP BY agent) c WHERE c.agent = agent_inbox.agent;

-- Events of messages and of tasks.
DELETE FROM event;
INSERT INTO event (seq, at, kind, team, actor, via, subject, target)
SELECT n, past + n, CASE WHEN z % 2 THEN enum('event.message.sent') WHEN z % 4 THEN enum('event.task.created')
	ELSE enum('event.task.noted') END, 1, who, 0, CASE WHEN z % 4 THEN n ELSE 11 END, 0
FROM row, size;

INSERT INTO turn (id, team, agent, generation, host, state, request, queued_at, started_at, ended_at, size, kept)
SELECT n, 1, who, 1, 1, enum('turn_state.done'), 1, past, past + n, past + n, 4, 4 FROM row, size;
INSERT INTO turn_output (turn, start, at, text) SELECT n, 0, past, 'said' FROM row, size;
INSERT INTO turn_message (turn, message) SELECT n, n FROM row;
INSERT INTO session (name, proof, version, client, toolsets, structured, level, watches, opened_at, used_at)
SELECT 's' || n, '', '1', 'c', '', 0, 0, '[]', past, past FROM thing, size;
INSERT INTO replay (key, caller, op, args, made, at)
SELECT CAST(printf('%016d', n) AS BLOB), 1001, 1, 1, n, now FROM row, size;

-- Sets the stored counts that calls would have kept up to date.
UPDATE team SET next_task = (SELECT rows + 1 FROM size), max_vms = 100000 WHERE id = 1;
UPDATE board SET (waiting, claimed, in_progress, blocked, completed, failed, cancelled) =
	(SELECT count(*) FILTER (WHERE state = enum('task_state.pending') AND open_deps > 0),
		count(*) FILTER (WHERE state = enum('task_state.claimed')),
		count(*) FILTER (WHERE state = enum('task_state.in_progress')),
		count(*) FILTER (WHERE state = enum('task_state.blocked')),
		count(*) FILTER (WHERE state = enum('task_state.completed')),
		count(*) FILTER (WHERE state = enum('task_state.failed')),
		count(*) FILTER (WHERE state = enum('task_state.cancelled')) FROM task),
	assignments = (SELECT count(*) FROM assignment WHERE state <> enum('assignment_state.done')),
	members = (SELECT count(*) FROM agent WHERE team = 1 AND gone = 0) - 1,
	vms = (SELECT count(*) FROM workspace WHERE state <> enum('workspace_state.destroyed')),
	guests = (SELECT count(*) FROM workspace WHERE state = enum('workspace_state.ready')),
	reserved = (SELECT count(*) FROM team WHERE parent = 1 AND destroyed_at IS NULL)
WHERE team = 1;
