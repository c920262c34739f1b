-- The statements of the board. A lease ends at its exact time, since statements that depend on
-- a lease compare lease_until with :now. task_lapsed finds leases that have already ended, and
-- task_lapse stores the end of such a lease.

-- name: task_number
-- Task numbers increase in each team and are never reused.
UPDATE team SET next_task = next_task + 1 WHERE id = :team
RETURNING next_task - 1 AS number;

-- name: task_new_id
-- row: new_id
SELECT coalesce(max(id), 0) + 1 AS id FROM task;

-- name: task_add
-- The first claim of a new task gets an epoch above counts_from, which state_renew raises.
INSERT INTO task (id, team, number, slug, title, description, priority, assignee, epoch,
	created_by, created_at, updated_at)
VALUES (:id, :team, :number, :slug, :title, :description, :priority, nullif(:assignee, 0),
	(SELECT counts_from FROM state WHERE one = 1), :created_by, :now, :now);

-- columns: state_now
-- The state of a task `k`, even if the end of the task's lease is not stored yet.
CASE WHEN k.lease_until <= :now THEN k.after_lapse ELSE k.state END AS state_now

-- columns: task
k.id, k.team, k.number, k.slug, k.title, k.description, k.priority, k.state, k.owner,
	k.owner_generation, k.epoch, k.lease_ms, k.lease_until, k.assignee, k.open_deps, k.attempts,
	k.created_by, k.created_at, k.updated_at, k.result, k.parts, k.ended_by, k.branch, k.commit_id

-- columns: task_line
k.id, k.number, k.title, k.priority, k.epoch, k.updated_at, k.open_deps, k.stuck

-- columns: board_line
{columns.task_line}, k.lease_until, k.ended_at, k.holder_name, k.assignee_name

-- name: task_by_number
-- row: task
SELECT {columns.task}, {columns.state_now}
FROM task k WHERE k.team = :team AND k.number = :number;

-- name: task_held
-- row: task
-- The tasks that an agent holds now: tasks in work before blocked tasks, then the latest change
-- first. A caller sets :limit to 2 to learn whether the agent holds exactly one task.
SELECT {columns.task}, k.state AS state_now
FROM task k WHERE k.owner = :agent AND +k.team = :team
	AND (k.lease_until IS NULL OR k.lease_until > :now)
ORDER BY CASE k.state WHEN {task_state.blocked} THEN 1 ELSE 0 END, k.updated_at DESC, k.number LIMIT :limit;

-- name: task_also_held
-- The tasks that an agent holds now besides :but, in the order of their creation, which is the
-- order of the index. So SQLite sorts nothing.
SELECT k.number FROM task k WHERE k.owner = :agent AND +k.team = :team AND k.id <> :but
	AND (k.lease_until IS NULL OR k.lease_until > :now)
ORDER BY k.id LIMIT :limit;

-- name: task_claimed_at
-- text: blocked also
-- When a held task was claimed, why the task is blocked, and the owner's further tasks.
SELECT {columns.claimed_at} AS at, {columns.blocked_why} AS blocked, {columns.held_also} AS also
FROM task k WHERE k.id = :task;

-- name: task_blocked
-- text: why
-- Why a task is blocked.
SELECT {columns.blocked_why} AS why FROM task k WHERE k.id = :task;

-- name: task_held_count
-- The number of tasks that an agent holds now.
SELECT count(*) AS n FROM task WHERE owner = :agent AND +team = :team
	AND (lease_until IS NULL OR lease_until > :now);

-- name: task_by_id
-- row: task
SELECT {columns.task}, {columns.state_now}
FROM task k WHERE k.id = :id;

-- name: task_whole
-- text: holder_name assignee_name creator_name
-- A task with the names of its agents. Each bit of `parts` stands for one table other than
-- `task`, and means that this table contains rows of the task.
SELECT k.id, k.number, k.title, k.description, k.priority, k.state, k.owner, k.epoch,
	{columns.state_now}, k.lease_until, k.open_deps, k.attempts, k.created_at, k.updated_at,
	k.ended_at, k.result, k.branch, k.commit_id, k.parts, k.notes, o.name AS holder_name, s.name AS assignee_name, c.name AS creator_name
FROM task k JOIN agent c ON c.id = k.created_by
LEFT JOIN agent o ON o.id = coalesce(k.owner, k.ended_by)
LEFT JOIN agent s ON s.id = k.assignee
WHERE k.id = :id;

-- name: task_has
-- Sets the bits of `parts` for tables that contain rows of the task (see task_whole).
UPDATE task SET parts = parts | :parts WHERE id = :id AND parts & :parts <> :parts;

-- columns: ready_line
{columns.task_line}, k.lease_until AS lease_until, NULL AS ended_at, NULL AS holder_name,
	s.name AS assignee_name, {task_state.pending} AS state_now

-- name: task_lines_waiting
-- row: task_line
-- text: holder_name assignee_name
-- A page of the pending tasks that wait for other tasks. The last part of the UNION finds tasks
-- that are pending because their lease has ended.
SELECT {columns.board_line}, k.state AS state_now
FROM board_line k
WHERE k.team = :team AND k.state = {task_state.pending} AND k.open_deps > 0
	AND (k.priority, k.number) > (:priority, :number)
UNION ALL
SELECT {columns.ready_line}
FROM task k LEFT JOIN agent s ON s.id = k.assignee
WHERE k.lease_until <= :now AND k.after_lapse = {task_state.pending} AND +k.team = :team AND k.open_deps > 0
	AND (k.priority, k.number) > (:priority, :number)
ORDER BY priority, number LIMIT :limit;

-- name: task_lines_in
-- row: task_line
-- text: holder_name assignee_name
-- A page of the tasks in the wanted states. Each part of the UNION reads tasks of one state
-- along an index. The last part of the UNION finds tasks that are in a wanted state because
-- their lease has ended.
SELECT {columns.task_line}, k.lease_until, k.ended_at,
	o.name AS holder_name, s.name AS assignee_name, {columns.state_now}
FROM (SELECT id, priority, number FROM task
	WHERE team = :team AND state = {task_state.pending} AND :pending <> 0
		AND (priority, number) > (:priority, :number)
	UNION ALL SELECT id, priority, number FROM task
	WHERE team = :team AND state = {task_state.claimed} AND :claimed <> 0 AND lease_until > :now
		AND (priority, number) > (:priority, :number)
	UNION ALL SELECT id, priority, number FROM task
	WHERE team = :team AND state = {task_state.in_progress} AND :in_progress <> 0 AND lease_until > :now
		AND (priority, number) > (:priority, :number)
	UNION ALL SELECT id, priority, number FROM task
	WHERE team = :team AND state = {task_state.blocked} AND :blocked <> 0
		AND (priority, number) > (:priority, :number)
	UNION ALL SELECT id, priority, number FROM task
	WHERE team = :team AND state = {task_state.completed} AND :completed <> 0
		AND (priority, number) > (:priority, :number)
	UNION ALL SELECT id, priority, number FROM task
	WHERE team = :team AND state = {task_state.failed} AND :failed <> 0
		AND (priority, number) > (:priority, :number)
	UNION ALL SELECT id, priority, number FROM task
	WHERE team = :team AND state = {task_state.cancelled} AND :cancelled <> 0
		AND (priority, number) > (:priority, :number)
	UNION ALL SELECT id, priority, number FROM task
	WHERE lease_until <= :now AND +team = :team AND ((after_lapse = {task_state.pending} AND :pending <> 0)
		OR (after_lapse = {task_state.failed} AND :failed <> 0))
		AND (priority, number) > (:priority, :number)
	ORDER BY 2, 3 LIMIT :limit) x
LEFT JOIN task k ON k.id = x.id LEFT JOIN agent o ON o.id = coalesce(k.owner, k.ended_by)
LEFT JOIN agent s ON s.id = k.assignee
ORDER BY x.priority, x.number;

-- name: task_lines_of
-- row: task_line
-- text: holder_name assignee_name
-- The tasks that an agent holds and that have the tag :tag. If :tag is NULL, tasks need no tag.
SELECT {columns.task_line}, k.lease_until, k.ended_at,
	o.name AS holder_name, s.name AS assignee_name, {columns.state_now}
FROM task k LEFT JOIN agent o ON o.id = coalesce(k.owner, k.ended_by)
LEFT JOIN agent s ON s.id = k.assignee
WHERE k.owner = :owner AND +k.team = :team AND (k.lease_until IS NULL OR k.lease_until > :now)
	AND (:tag IS NULL OR EXISTS (SELECT 1 FROM task_tag g
		WHERE g.task = k.id AND g.tag = :tag))
	AND (k.priority, k.number) > (:priority, :number)
ORDER BY k.priority, k.number;

-- name: task_lines_tagged
-- row: task_line
-- text: holder_name assignee_name
-- The tasks with the tag :tag, along the index of priority and number.
SELECT {columns.board_line}, {columns.state_now}
FROM task_tag g JOIN board_line k ON k.id = g.task
WHERE g.team = :team AND g.tag = :tag AND (g.priority, g.number) > (:priority, :number)
	AND NOT EXISTS (SELECT 1 FROM task_tag o WHERE o.task = g.task AND o.tag = g.tag AND o.n < g.n)
ORDER BY g.priority, g.number;

-- name: task_ready_lines
-- row: task_line
-- text: holder_name assignee_name
-- The tasks that can be claimed now, the best task first. A claim needs a pending task without
-- open dependencies. The last part of the UNION finds tasks that are pending because their
-- lease has ended.
SELECT {columns.ready_line}
FROM task k LEFT JOIN agent s ON s.id = k.assignee
WHERE k.team = :team AND k.state = {task_state.pending} AND k.open_deps = 0
	AND (k.assignee IS NOT NULL) = FALSE AND (k.priority, k.number) > (:priority, :number)
UNION ALL
SELECT {columns.ready_line}
FROM task k LEFT JOIN agent s ON s.id = k.assignee
WHERE k.team = :team AND k.state = {task_state.pending} AND k.open_deps = 0
	AND (k.assignee IS NOT NULL) = TRUE AND (k.priority, k.number) > (:priority, :number)
UNION ALL
SELECT {columns.ready_line}
FROM task k LEFT JOIN agent s ON s.id = k.assignee
WHERE k.lease_until <= :now AND k.after_lapse = {task_state.pending} AND +k.team = :team AND k.open_deps = 0
	AND (k.priority, k.number) > (:priority, :number)
ORDER BY 4, 2 LIMIT :limit;

-- name: task_all_lines
-- row: task_line
-- text: holder_name assignee_name
SELECT {columns.board_line}, {columns.state_now}
FROM board_line k WHERE k.team = :team ORDER BY k.priority, k.number;

-- name: task_edges
-- All dependencies between the tasks of a board.
SELECT d.task, d.dep FROM task k JOIN task_dep d ON d.task = k.id
WHERE k.team = :team;

-- columns: drawn
-- The first :most tasks of each open state of a board.
(SELECT id FROM (SELECT id FROM task WHERE team = :team AND state = {task_state.pending}
		ORDER BY priority, number LIMIT :most) p
	UNION ALL SELECT id FROM (SELECT id FROM task WHERE team = :team AND state = {task_state.claimed}
		ORDER BY priority, number LIMIT :most) c
	UNION ALL SELECT id FROM (SELECT id FROM task WHERE team = :team AND state = {task_state.in_progress}
		ORDER BY priority, number LIMIT :most) i
	UNION ALL SELECT id FROM (SELECT id FROM task WHERE team = :team AND state = {task_state.blocked}
		ORDER BY priority, number LIMIT :most) b)

-- name: task_drawn_lines
-- row: task_line
-- text: holder_name assignee_name
-- The first :most tasks of each open state of a board, and the tasks on which these depend.
WITH drawn AS {columns.drawn}
SELECT {columns.board_line}, {columns.state_now}
FROM (SELECT id FROM drawn UNION SELECT d.dep AS id FROM drawn o JOIN task_dep d ON d.task = o.id) x
JOIN board_line k ON k.id = x.id ORDER BY k.priority, k.number;

-- name: task_drawn_edges
-- row: task_edges
-- The dependencies of the tasks that task_drawn_lines reads.
WITH drawn AS {columns.drawn}
SELECT d.task, d.dep FROM drawn o JOIN task_dep d ON d.task = o.id;

-- name: task_lapsed
-- Tasks whose lease has ended, but whose row does not show the end yet. If :id is 0, the
-- statement finds the tasks of all teams.
SELECT id, team, owner, attempts, number, state, open_deps FROM task
WHERE lease_until <= :now AND (:id = 0 OR id = :id)
ORDER BY lease_until NULLS FIRST LIMIT :limit;

-- name: task_lapse
-- Ends a lapsed claim. The task becomes pending again under a new epoch, or failed if the
-- task's claims have lapsed too often. The statement of the claim has already stored the new
-- state in after_lapse. For this reason, callers who read before this statement runs see the
-- same state.
UPDATE task SET state = after_lapse,
	owner = NULL, owner_generation = NULL, lease_until = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1,
	attempts = attempts + 1, updated_at = :now,
	ended_by = CASE WHEN after_lapse = {task_state.failed} THEN owner END,
	ended_at = CASE WHEN after_lapse = {task_state.failed} THEN lease_until END,
	result = CASE WHEN after_lapse = {task_state.failed}
		THEN 'its lease ran out too often' ELSE result END
WHERE id = :id AND lease_until <= :now RETURNING state, epoch;

--~ The decision.  Station 11 of 12.
--~
--~ This statement is the heart of cadre. One UPDATE finds and changes the row of a task. The
--~ WHERE clause is the rule for a claim. By this rule, the task is pending, has no open
--~ dependency and is not assigned to another agent. Two claims cannot both find the row pending,
--~ because SQLite runs one writing transaction at a time. No lock or event of cadre decides
--~ between two claims, so any reader can check the whole rule here.
--~
--~ `epoch` grows with each claim of a task and with each end of a claim. An agent that had no
--~ connection for an hour still has the epoch of an old claim. Statements that complete a task
--~ compare the epoch. For this reason an agent with an old epoch cannot complete a task that
--~ another agent has claimed since. `lease_until` is the time at which the claim ends by itself.
--~ Statements compare lease_until with the time of the call, so the claim ends in time even if
--~ no process runs. `after_lapse` is the state of the task after the claim has ended by itself.
--~
--~ The answer now returns to the caller through COMMIT (storage/store.c), conn_answer() in
--~ core/host/conn.c, the socket, and the shell.
--~
--~ Next: tools/cadre/screen/print.c
-- name: task_claim
-- Of several claims of a task, exactly one succeeds. The task must be pending, without open
-- dependencies, and assigned to nobody or to this agent.
UPDATE task SET state = {task_state.claimed}, owner = :agent, owner_generation = :generation,
	epoch = epoch + 1, lease_ms = :lease_ms, lease_until = :now + :lease_ms,
	after_lapse = CASE WHEN attempts + 1 >= :max_attempts THEN {task_state.failed} ELSE {task_state.pending} END,
	updated_at = :now
WHERE id = :id AND state = {task_state.pending} AND open_deps = 0
	AND (assignee IS NULL OR assignee = :agent);

-- name: task_best
-- The best ready task that is assigned to nobody, by priority and then by number.
SELECT id, epoch, priority, number FROM task
WHERE team = :team AND state = {task_state.pending} AND open_deps = 0 AND (assignee IS NOT NULL) = FALSE
ORDER BY priority, number LIMIT 1;

-- name: task_best_own
-- row: task_best
-- The best ready task that is assigned to the agent.
SELECT id, epoch, priority, number FROM task
WHERE team = :team AND state = {task_state.pending} AND open_deps = 0 AND assignee = :agent
ORDER BY priority, number LIMIT 1;

-- name: task_start
UPDATE task SET state = {task_state.in_progress}, updated_at = :now
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch) AND state = {task_state.claimed} AND lease_until > :now;

-- name: task_renew
-- Renews the running lease of a task for the task's owner. A blocked task needs no lease, so
-- lease_until stays NULL.
UPDATE task SET lease_ms = CASE WHEN :lease_ms > 0 THEN :lease_ms ELSE lease_ms END,
	lease_until = CASE WHEN state = {task_state.blocked} THEN NULL ELSE :now
		+ CASE WHEN :lease_ms > 0 THEN :lease_ms ELSE lease_ms END END
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch)
	AND (state = {task_state.blocked} OR (state IN {task_state.claimed in_progress} AND lease_until > :now))
RETURNING epoch, lease_until;

-- name: task_block
-- A blocked task keeps its owner, but has no lease that could end.
UPDATE task SET state = {task_state.blocked}, lease_until = NULL, updated_at = :now
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch) AND state IN {task_state.claimed in_progress} AND lease_until > :now;

-- name: task_unblock
UPDATE task SET state = {task_state.in_progress}, lease_until = :now + lease_ms, updated_at = :now
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch) AND state = {task_state.blocked};

-- name: task_finish
-- The owner ends the task as completed or failed (:state), under the epoch of the owner's
-- claim.
UPDATE task SET state = :state, owner = NULL, owner_generation = NULL,
	lease_until = NULL, updated_at = :now, ended_at = :now, ended_by = :agent,
	result = coalesce(:result, result), branch = coalesce(:branch, branch),
	commit_id = coalesce(:commit_id, commit_id),
	attempts = attempts + CAST(:state = {task_state.failed} AS INTEGER)
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch)
	AND (state = {task_state.blocked} OR (state IN {task_state.claimed in_progress} AND lease_until > :now));

-- name: task_release
-- The owner gives the task back. The epoch grows, so the next claim has another epoch.
UPDATE task SET state = {task_state.pending}, owner = NULL, owner_generation = NULL, lease_until = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1, updated_at = :now
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch)
	AND (state = {task_state.blocked} OR (state IN {task_state.claimed in_progress} AND lease_until > :now));

-- name: task_unclaim
-- Ends a claim after the answer to the claim was lost. The claim does not end if the owner has
-- already begun the task.
UPDATE task SET state = {task_state.pending}, owner = NULL, owner_generation = NULL, lease_until = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1, updated_at = :now
WHERE id = :id AND owner = :agent AND epoch = :epoch AND state = {task_state.claimed}
RETURNING open_deps;

-- name: task_retry
UPDATE task SET state = {task_state.pending}, attempts = 0, updated_at = :now,
	ended_by = NULL, ended_at = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch)
WHERE id = :id AND state = {task_state.failed} RETURNING open_deps;

-- name: task_reopen
-- A completed task becomes pending again under a new epoch. The caller keeps the result as a
-- note.
UPDATE task SET state = {task_state.pending}, attempts = 0, updated_at = :now,
	ended_by = NULL, ended_at = NULL, result = NULL, branch = NULL, commit_id = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1
WHERE id = :id AND state = {task_state.completed};

-- name: task_cancel
-- Cancels any open task, under a new epoch. Because of the new epoch, later calls of the task's
-- owner are refused.
UPDATE task SET state = {task_state.cancelled}, owner = NULL, owner_generation = NULL, lease_until = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1,
	updated_at = :now, ended_at = :now, ended_by = :agent, stuck = 0
WHERE id = :id AND state IN {task_state.open};

-- name: task_assign
-- Only a pending task can be assigned to an agent.
UPDATE task SET assignee = nullif(:assignee, 0), updated_at = :now
WHERE id = :id AND state = {task_state.pending};

-- name: task_touch
UPDATE task SET updated_at = :now WHERE id = :id;

-- name: task_set_text
-- :seen is the task's `updated_at` as the caller read it. If :seen is not 0, the task is
-- updated only if `updated_at` is still :seen. No process can change the task between the check
-- and the update.
UPDATE task SET title = coalesce(:title, title),
	description = coalesce(:description, description),
	priority = CASE WHEN :priority > 0 THEN :priority ELSE priority END,
	updated_at = :now
WHERE id = :id AND (:seen = 0 OR updated_at = :seen);

-- name: task_in_the_way
SELECT EXISTS (SELECT 1 FROM task_dep WHERE dep = :dep) AS any;

-- name: task_unblocks
-- For each task that depends on the completed task :dep, lowers the number of open dependencies
-- by one.
UPDATE task SET open_deps = open_deps - 1
WHERE id IN (SELECT task FROM task_dep WHERE dep = :dep)
RETURNING id, number, open_deps, state;

-- name: task_reblocks
-- row: task_unblocks
-- For each task that depends on the reopened task :dep, raises the number of open dependencies
-- by one.
UPDATE task SET open_deps = open_deps + 1
WHERE id IN (SELECT task FROM task_dep WHERE dep = :dep)
RETURNING id, number, open_deps, state;

-- name: task_dependents
-- The tasks that depend on :dep, by number.
SELECT k.id, k.number, k.state, {columns.state_now}
FROM task_dep d JOIN task k ON k.id = d.task WHERE d.dep = :dep ORDER BY k.number;

-- name: task_outcomes
-- The tasks on which :task depends and that have a result, a branch or a commit, by number.
SELECT o.number, o.title, o.branch, o.commit_id, CASE WHEN length(o.result) > 300
	THEN substr(o.result, 1, 299) || '…' ELSE o.result END AS result
FROM task_dep d JOIN task o ON o.id = d.dep
WHERE d.task = :task AND (o.result IS NOT NULL OR o.branch IS NOT NULL OR o.commit_id IS NOT NULL)
ORDER BY o.number LIMIT :limit;

-- name: task_dep_add
INSERT INTO task_dep (task, dep) VALUES (:task, :dep) ON CONFLICT DO NOTHING;

-- name: task_await
UPDATE task SET awaited = 1 WHERE id = :id AND awaited = 0;

-- name: task_dep_clear
DELETE FROM task_dep WHERE task = :task;

-- name: task_count_deps
-- Counts the dependencies that are not completed, and stores the count in open_deps.
UPDATE task SET open_deps = (SELECT count(*) FROM task_dep d JOIN task o ON o.id = d.dep
	WHERE d.task = task.id AND o.state <> {task_state.completed})
WHERE id = :id RETURNING open_deps;

-- name: task_deps
SELECT o.number, CASE WHEN o.lease_until <= :now THEN o.after_lapse ELSE o.state END AS state_now
FROM task_dep d JOIN task o ON o.id = d.dep WHERE d.task = :task ORDER BY o.number;

-- name: task_blockers
-- The dependencies of a task that are not completed. The WHERE clause need not compare leases,
-- since a completed task has no lease.
SELECT o.number, CASE WHEN o.lease_until <= :now THEN o.after_lapse ELSE o.state END AS state_now,
	o.open_deps
FROM task_dep d JOIN task o ON o.id = d.dep
WHERE d.task = :task AND o.state <> {task_state.completed} ORDER BY o.number LIMIT :limit;

-- name: task_way
-- scan ok: the rows of the recursion
-- Finds a task on which :from depends, and which is :task or waits for :task. The caller goes
-- from task to task in this way, to show a cycle. The statement visits each task that waits for
-- :task only once.
WITH RECURSIVE waits(id) AS (
	SELECT :task UNION SELECT d.task FROM waits JOIN task_dep d ON d.dep = waits.id)
SELECT o.id, o.number FROM task_dep d JOIN task o ON o.id = d.dep
WHERE d.task = :from AND d.dep IN (SELECT id FROM waits) ORDER BY o.number LIMIT 1;

-- name: task_held_up
-- The first :limit pending tasks that depend on a task.
SELECT k.number FROM task_dep d JOIN task k ON k.id = d.task
WHERE d.dep = :task AND k.state = {task_state.pending} ORDER BY d.task LIMIT :limit;

-- name: tasks_behind
-- scan ok: the rows of the recursion
-- The first :limit pending tasks that wait for a task, directly or through other tasks.
WITH RECURSIVE behind(id) AS (
	SELECT d.task FROM task_dep d WHERE d.dep = :task
	UNION SELECT d.task FROM behind b JOIN task_dep d ON d.dep = b.id)
SELECT k.number FROM behind b JOIN task k ON k.id = b.id
WHERE k.state = {task_state.pending} ORDER BY k.number LIMIT :limit;

-- name: task_hindrance
-- scan ok: the rows of the recursion
-- text: why
-- Finds the failed or cancelled task that prevents the completion of :task. If :task itself
-- failed or was cancelled, the statement finds :task. Otherwise the statement finds the failed
-- or cancelled task with the lowest number for which :task waits. `why` is the reason why the
-- found task failed or was cancelled.
WITH RECURSIVE before(id) AS (
	SELECT k.id FROM task k WHERE k.id = :task
		AND (k.stuck = 1 OR k.state IN {task_state.failed cancelled})
	UNION SELECT d.dep FROM before b JOIN task_dep d ON d.task = b.id)
SELECT k.id, k.number, k.state,
	CASE WHEN k.state = {task_state.failed} AND k.result IS NOT NULL THEN substr(k.result, 1, 200)
	ELSE (SELECT e.detail FROM event e WHERE e.subject = k.id AND e.kind BETWEEN {events.task}
		AND e.kind IN ({event.task_failed}, {event.task_cancelled})
		ORDER BY e.seq DESC LIMIT 1) END AS why
FROM before b JOIN task k ON k.id = b.id WHERE k.state IN {task_state.failed cancelled}
ORDER BY k.id <> :task, k.number LIMIT 1;

-- name: task_restick
-- scan ok: the rows of the recursions
-- Computes `stuck` again for :task, and for every task that waits for :task. `stuck` is 1 if
-- the task waits for a failed or cancelled task. The statement runs after :task has failed, was
-- cancelled, became pending again or got other dependencies.
UPDATE task SET stuck = CASE WHEN id IN (
	WITH RECURSIVE behind(id) AS (SELECT :task
		UNION SELECT d.task FROM behind b JOIN task_dep d ON d.dep = b.id),
	held(id) AS (SELECT d.task FROM behind b JOIN task_dep d ON d.task = b.id JOIN task o ON o.id = d.dep
		WHERE o.state IN {task_state.failed cancelled}
			OR (o.stuck = 1 AND o.id NOT IN (SELECT id FROM behind))
		UNION SELECT d.task FROM held h JOIN task_dep d ON d.dep = h.id)
	SELECT id FROM held) THEN 1 ELSE 0 END
WHERE id IN (WITH RECURSIVE behind(id) AS (SELECT :task
		UNION SELECT d.task FROM behind b JOIN task_dep d ON d.dep = b.id)
	SELECT id FROM behind) AND state = {task_state.pending};

-- name: tasks_stuck
-- row: tasks_behind
SELECT number FROM task WHERE team = :team AND stuck = 1 ORDER BY number LIMIT :limit;

-- name: task_tags
SELECT tag FROM task_tag WHERE task = :task ORDER BY n;

-- name: task_tags_clear
DELETE FROM task_tag WHERE task = :task;

-- name: task_tag_add
INSERT INTO task_tag (task, n, tag, team, priority, number)
SELECT k.id, :n, :tag, k.team, k.priority, k.number FROM task k WHERE k.id = :task;

-- name: task_tag_rank
-- Stores a task's new priority in the rows of the task's tags, since an index sorts these rows
-- by priority.
UPDATE task_tag SET priority = :priority WHERE task = :task;

-- name: task_criteria
-- into: criterion
SELECT text, done FROM task_criterion WHERE task = :task ORDER BY n;

-- name: task_criteria_clear
DELETE FROM task_criterion WHERE task = :task;

-- name: task_criterion_add
INSERT INTO task_criterion (task, n, text, done) VALUES (:task, :n, :text, :done);

-- name: task_criterion_tick
UPDATE task_criterion SET done = :done WHERE task = :task AND n = :n;

-- name: task_note_new_id
-- row: new_id
SELECT coalesce(max(id), 0) + 1 AS id FROM task_note;

-- name: task_note_add
-- late
INSERT INTO task_note (id, task, agent, at, text) VALUES (:id, :task, :agent, :now, :text);

-- name: task_notes
-- The newest :limit notes of a task, the newest note first.
SELECT a.name, n.at, n.text FROM task_note n JOIN agent a ON a.id = n.agent
WHERE n.task = :task ORDER BY n.id DESC LIMIT :limit;

-- name: task_notes_from
-- The notes of a task, the oldest note first.
SELECT a.name, n.at, n.text FROM task_note n JOIN agent a ON a.id = n.agent
WHERE n.task = :task ORDER BY n.id LIMIT :limit OFFSET :offset;

-- name: task_count_note
-- Counts a new note of a task. A note also counts as a change of the task.
UPDATE task SET parts = parts | :parts, notes = notes + 1, updated_at = :now WHERE id = :id;

-- name: task_history
SELECT e.seq, e.at, e.kind, e.actor, e.via, a.name, e.detail, t.name AS target
FROM event e LEFT JOIN agent a ON a.id = e.actor LEFT JOIN agent t ON t.id = e.target
WHERE e.subject = :task AND e.kind BETWEEN {events.task} AND e.seq > :after
ORDER BY e.seq LIMIT :limit;

-- name: task_gap
-- During a gap, a time without a host, no owner could renew a lease. For this reason, leases
-- from before the gap are extended by the length of the gap. The beginning of the gap is exact
-- only to 5 s. A lease that was granted within these 5 s counts as a lease from before the gap.
-- If the clock was set back (gap_ms < 0), ended leases are moved, too, so that an ended lease
-- stays ended.
UPDATE task SET lease_until = lease_until + :gap_ms
WHERE lease_until IS NOT NULL AND lease_until - lease_ms <= :gap_since + 5000
	AND (lease_until > :gap_since OR :gap_ms < 0);

-- name: delivery_gap
UPDATE delivery SET due_at = due_at + :gap_ms
WHERE due_at IS NOT NULL AND state IN {delivery_state.open} AND state = {delivery_state.fetched}
	AND fetched_at <= :gap_since + 5000
	AND (due_at > :gap_since OR :gap_ms < 0)
	AND NOT EXISTS (SELECT 1 FROM agent a JOIN team t ON t.id = a.team
		WHERE a.id = delivery.agent AND t.stopped_at IS NOT NULL);

-- name: task_from_future
-- scan ok: claims that are held, along their index
-- If the clock was set back, a lease may have been granted at a time that is in the future now.
-- The statement lets each of these leases begin again now.
UPDATE task SET lease_until = :now + lease_ms
WHERE lease_until IS NOT NULL AND lease_until > :now + lease_ms
	AND NOT EXISTS (SELECT 1 FROM team t WHERE t.id = task.team AND t.stopped_at IS NOT NULL);

-- name: delivery_from_future
-- scan ok: messages that are leased or have an end, along their index
-- If the clock was set back, a message may have been fetched at a time that is in the future
-- now. The statement moves the lease of such a message, so that the lease begins now. If a
-- lease would still end later than the longest allowed lease, counted from now, the lease is
-- cut to this length.
UPDATE delivery SET fetched_at = CASE WHEN fetched_at > :now THEN :now ELSE fetched_at END,
	due_at = CASE WHEN fetched_at > :now AND due_at - fetched_at < {most.lease_seconds} * 1000
		THEN due_at - (fetched_at - :now) ELSE :now + {most.lease_seconds} * 1000 END
WHERE due_at IS NOT NULL AND state IN {delivery_state.open} AND state = {delivery_state.fetched}
	AND (fetched_at > :now OR due_at > :now + {most.lease_seconds} * 1000)
	AND NOT EXISTS (SELECT 1 FROM agent a JOIN team t ON t.id = a.team
		WHERE a.id = delivery.agent AND t.stopped_at IS NOT NULL);

-- name: delayed_leap
-- scan ok: delayed messages, few
-- A gap does not change the time at which a delayed message is due. If the clock is set, the
-- due time moves with the clock.
UPDATE delayed SET due_at = due_at + :leap_ms;

-- name: delayed_from_future
-- :latest is the present time plus the longest possible delay. A delayed message can be due
-- after :latest only if the clock was set back. The statement makes these messages due now.
UPDATE delayed SET due_at = :now WHERE due_at > :latest;

-- name: task_bidden
-- Whether a person or a plan made a task. A plan's tasks are made by an agent of another team,
-- or by the operator.
SELECT EXISTS (SELECT 1 FROM task k JOIN agent c ON c.id = k.created_by
	WHERE k.id = :id AND (c.kind = {agent_kind.operator} OR c.team <> k.team)) AS so;

-- name: life_leap
-- scan ok: delayed messages, few
-- A gap does not change the time at which a message expires. If the clock is set, expires_at
-- moves with the clock. If the clock was set ahead at :since, a message that had expired before
-- :since stays expired.
UPDATE message SET expires_at = expires_at + :leap_ms
WHERE expires_at IS NOT NULL AND (expires_at > :since OR :leap_ms < 0)
	AND id IN (SELECT message FROM delivery WHERE due_at IS NOT NULL AND state IN {delivery_state.open}
		UNION ALL SELECT message FROM delayed);

-- name: life_leap_waiting
-- Like life_leap, for the copies of messages that wait in inboxes.
UPDATE delivery SET due_at = due_at + :leap_ms
WHERE due_at IS NOT NULL AND state IN {delivery_state.open} AND state IN {delivery_state.waiting}
	AND (due_at > :since OR :leap_ms < 0);

-- name: ack_leap
-- scan ok: awaited acknowledgements, along their index
UPDATE delivery SET ack_due_at = ack_due_at + :leap_ms
WHERE ack_due_at IS NOT NULL AND state IN {delivery_state.open};

-- name: task_give_back
-- Makes the task pending again under a new epoch, after the generation of the owner has ended.
UPDATE task SET state = {task_state.pending}, owner = NULL, owner_generation = NULL, lease_until = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1, updated_at = :now
WHERE id = :id AND owner IS NOT NULL;

-- name: task_renew_epochs
-- scan ok: once, after a restore
-- Raises the epochs after a restore. The next claim of a task then has an epoch that no claim
-- can have had after the backup. A running claim keeps its epoch. At the end of a running
-- claim, the epoch is raised in the same way.
UPDATE task SET epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) WHERE owner IS NULL;
