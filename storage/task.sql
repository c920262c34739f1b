-- The board.  A lease ends at its exact time: every statement itself compares lease_until with
-- :now.  task_lapsed and task_lapse only write down an end that has already come.

-- name: task_number
-- Task numbers count up in each team and are never reused.
UPDATE team SET next_task = next_task + 1 WHERE id = :team
RETURNING next_task - 1 AS number;

-- name: task_new_id
-- row: new_id
SELECT coalesce(max(id), 0) + 1 AS id FROM task;

-- name: task_add
-- The first claim of a new task has an epoch above counts_from: see state_renew.
INSERT INTO task (id, team, number, slug, title, description, priority, assignee, epoch,
	created_by, created_at, updated_at)
VALUES (:id, :team, :number, :slug, :title, :description, :priority, nullif(:assignee, 0),
	(SELECT counts_from FROM state WHERE one = 1), :created_by, :now, :now);

-- columns: state_now
-- The state of a task `k`, even if the end of its lease is not written down yet.
CASE WHEN k.lease_until <= :now THEN k.after_lapse ELSE k.state END AS state_now

-- columns: task
k.id, k.team, k.number, k.slug, k.title, k.description, k.priority, k.state, k.owner,
	k.owner_generation, k.epoch, k.lease_ms, k.lease_until, k.assignee, k.open_deps, k.attempts,
	k.created_by, k.created_at, k.updated_at, k.result

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
-- The tasks that an agent holds now, latest change first.  A caller asks for two rows to learn
-- whether the agent holds only one task.
SELECT {columns.task}, k.state AS state_now
FROM task k WHERE k.owner = :agent AND +k.team = :team
	AND (k.lease_until IS NULL OR k.lease_until > :now)
ORDER BY k.updated_at DESC, k.number LIMIT :limit;

-- name: task_held_count
-- How many tasks an agent holds now.
SELECT count(*) AS n FROM task WHERE owner = :agent AND +team = :team
	AND (lease_until IS NULL OR lease_until > :now);

-- name: task_by_id
-- row: task
SELECT {columns.task}, {columns.state_now}
FROM task k WHERE k.id = :id;

-- name: task_whole
-- text: holder_name assignee_name creator_name
-- A task with the names of its agents.  `parts` tells which other tables hold parts of the
-- task.
SELECT k.id, k.number, k.title, k.description, k.priority, k.state, k.owner, k.epoch,
	{columns.state_now}, k.lease_until, k.open_deps, k.attempts, k.created_at, k.updated_at,
	k.ended_at, k.result, k.parts, k.notes, o.name AS holder_name, s.name AS assignee_name, c.name AS creator_name
FROM task k JOIN agent c ON c.id = k.created_by
LEFT JOIN agent o ON o.id = coalesce(k.owner, k.ended_by)
LEFT JOIN agent s ON s.id = k.assignee
WHERE k.id = :id;

-- name: task_has
-- Records in `parts` that other tables hold these parts of the task from now on.
UPDATE task SET parts = parts | :parts WHERE id = :id AND parts & :parts <> :parts;

-- name: task_lines
-- row: task_line
-- text: holder_name assignee_name
-- The board, along the index of its order.  The caller stops reading when a page is full.
SELECT {columns.board_line}, {columns.state_now}
FROM board_line k
WHERE k.team = :team AND (k.priority, k.number) > (:priority, :number)
ORDER BY k.priority, k.number;

-- name: task_lines_open
-- row: task_line
-- text: holder_name assignee_name
-- A page of the tasks that have not ended, each state along the index of the board's order.  A
-- task whose lease has ended is listed only if it is pending again.
SELECT {columns.board_line}, {columns.state_now}
FROM board_line k
WHERE k.team = :team AND k.state = {task_state.claimed}
	AND (k.lease_until > :now OR k.after_lapse = {task_state.pending})
	AND (k.priority, k.number) > (:priority, :number)
UNION ALL SELECT {columns.board_line}, {columns.state_now}
FROM board_line k
WHERE k.team = :team AND k.state = {task_state.in_progress}
	AND (k.lease_until > :now OR k.after_lapse = {task_state.pending})
	AND (k.priority, k.number) > (:priority, :number)
UNION ALL SELECT {columns.board_line}, k.state AS state_now
FROM board_line k
WHERE k.team = :team AND k.state = {task_state.blocked}
	AND (k.priority, k.number) > (:priority, :number)
UNION ALL SELECT {columns.board_line}, k.state AS state_now
FROM board_line k
WHERE k.team = :team AND k.state = {task_state.pending}
	AND (k.priority, k.number) > (:priority, :number)
ORDER BY priority, number LIMIT :limit;

-- name: task_lines_in
-- row: task_line
-- text: holder_name assignee_name
-- A page of the tasks in the wanted states.  Each state is read along the index of the board's
-- order.  Tasks that an ended lease brings into a wanted state are included.
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
-- The tasks that an agent holds and that have the tag :tag.  If :tag is NULL, tags do not
-- matter.
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
-- The tasks with a tag, along the index of the board's order.
SELECT {columns.board_line}, {columns.state_now}
FROM task_tag g JOIN board_line k ON k.id = g.task
WHERE g.team = :team AND g.tag = :tag AND (g.priority, g.number) > (:priority, :number)
	AND NOT EXISTS (SELECT 1 FROM task_tag o WHERE o.task = g.task AND o.tag = g.tag AND o.n < g.n)
ORDER BY g.priority, g.number;

-- columns: ready_line
{columns.task_line}, NULL AS lease_until, NULL AS ended_at, NULL AS holder_name,
	s.name AS assignee_name, {task_state.pending} AS state_now

-- name: task_ready_lines
-- row: task_line
-- text: holder_name assignee_name
-- Tasks that can be claimed now, best first: pending tasks without open dependencies.  Tasks
-- that are pending only because their lease has ended are included.
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
-- All dependencies of a board.
SELECT d.task, d.dep FROM task k JOIN task_dep d ON d.task = k.id
WHERE k.team = :team;

-- name: task_lapsed
-- Claims whose lease has ended but whose row does not show the end yet.  An :id of 0 means the
-- claims of all tasks.
SELECT id, team, owner, attempts, number, state FROM task
WHERE lease_until <= :now AND (:id = 0 OR id = :id)
ORDER BY lease_until NULLS FIRST LIMIT :limit;

-- name: task_lapse
-- Ends a lapsed claim.  The task is pending again under a new epoch, or failed if its claims
-- have lapsed too often.  The claim has already computed after_lapse.  So callers who read
-- before this statement runs see the same state.
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
--~ This statement is the heart of cadre.  One UPDATE finds the row of a task and changes it, and
--~ its WHERE clause is the rule: the task is pending, has no open dependency and is meant for
--~ nobody else.  Two claims cannot both find this row pending, because SQLite runs one writing
--~ transaction at a time.  No lock of ours, no order of events and no clever code decides between
--~ two claims, and any reader can check the rule here.
--~
--~ `epoch` grows with each claim of a task and with each end of a claim.  An agent that was cut
--~ off for an hour still has the epoch of its old claim.  Statements that complete a task ask for
--~ the epoch.  So this agent cannot end work that belongs to another agent by now.
--~ `lease_until` is the time at which the claim ends by itself.  Statements compare this time with
--~ the time of the call, so no process has to be alive to write the end down.  `after_lapse` is
--~ the state of the task after this end.
--~
--~ The answer now takes the way back: COMMIT (storage/store.c), the answer to the connection
--~ (conn_answer() in core/host/conn.c), the socket, and the shell.
--~
--~ Next: tools/cadre/screen/print.c
-- name: task_claim
-- Exactly one claimer wins.  The task must be pending, without open dependencies, and assigned
-- to nobody or to this agent.
UPDATE task SET state = {task_state.claimed}, owner = :agent, owner_generation = :generation,
	epoch = epoch + 1, lease_ms = :lease_ms, lease_until = :now + :lease_ms,
	after_lapse = CASE WHEN attempts + 1 >= :max_attempts THEN {task_state.failed} ELSE {task_state.pending} END,
	updated_at = :now
WHERE id = :id AND state = {task_state.pending} AND open_deps = 0
	AND (assignee IS NULL OR assignee = :agent);

-- name: task_best
-- The best ready task that is assigned to nobody, by priority, then by age.
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
-- An owner renews his running lease.  A blocked task needs no lease, so its lease_until is
-- NULL.
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
	result = coalesce(:result, result),
	attempts = attempts + CAST(:state = {task_state.failed} AS INTEGER)
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch)
	AND (state = {task_state.blocked} OR (state IN {task_state.claimed in_progress} AND lease_until > :now));

-- name: task_release
-- The owner gives the task back.  The next claim has another epoch.
UPDATE task SET state = {task_state.pending}, owner = NULL, owner_generation = NULL, lease_until = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1, updated_at = :now
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch)
	AND (state = {task_state.blocked} OR (state IN {task_state.claimed in_progress} AND lease_until > :now));

-- name: task_unclaim
-- The answer that granted the claim was lost.  So the claim ends, unless its owner has begun
-- the task.
UPDATE task SET state = {task_state.pending}, owner = NULL, owner_generation = NULL, lease_until = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1, updated_at = :now
WHERE id = :id AND owner = :agent AND epoch = :epoch AND state = {task_state.claimed};

-- name: task_retry
UPDATE task SET state = {task_state.pending}, attempts = 0, updated_at = :now,
	ended_by = NULL, ended_at = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch)
WHERE id = :id AND state = {task_state.failed};

-- name: task_cancel
-- Cancels any open task, under a new epoch.  So calls of the task's owner are refused from now
-- on.
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
-- :seen is the time at which the caller saw the task.  If :seen is not 0, the task is updated
-- only if nobody has changed the task since.  No process can change the task between the check
-- and the update.
UPDATE task SET title = coalesce(:title, title),
	description = coalesce(:description, description),
	priority = CASE WHEN :priority > 0 THEN :priority ELSE priority END,
	updated_at = :now
WHERE id = :id AND (:seen = 0 OR updated_at = :seen);

-- name: task_in_the_way
SELECT EXISTS (SELECT 1 FROM task_dep WHERE dep = :dep) AS any;

-- name: task_unblocks
-- A completed task no longer blocks other tasks.
UPDATE task SET open_deps = open_deps - 1
WHERE id IN (SELECT task FROM task_dep WHERE dep = :dep)
RETURNING id, number, open_deps, state;

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
-- The dependencies for which a task waits.  The WHERE clause need not look at leases, since a
-- completed task holds no lease.
SELECT o.number, CASE WHEN o.lease_until <= :now THEN o.after_lapse ELSE o.state END AS state_now
FROM task_dep d JOIN task o ON o.id = d.dep
WHERE d.task = :task AND o.state <> {task_state.completed} ORDER BY o.number LIMIT :limit;

-- name: task_way
-- scan ok: the rows of the recursion
-- A step on the way from task `from` back to `task` along dependencies, if there is a way.  The
-- step is a dependency of `from` that is `task` itself or that waits for `task`.  The statement
-- visits every task that waits for `task` only once, however many ways there are.
WITH RECURSIVE waits(id) AS (
	SELECT :task UNION SELECT d.task FROM waits JOIN task_dep d ON d.dep = waits.id)
SELECT o.id, o.number FROM task_dep d JOIN task o ON o.id = d.dep
WHERE d.task = :from AND d.dep IN (SELECT id FROM waits) ORDER BY o.number LIMIT 1;

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
-- Finds the task that keeps :task from being completed.  If :task itself failed or was called
-- off, :task is found.  Otherwise the first failed or cancelled task before :task is found.
-- `why` tells why the found task failed or was called off.
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
-- A task has failed, was called off, is on the board again or waits for other tasks.  So
-- `stuck` is set anew for this task and for every task that waits for this task.  `stuck` says
-- whether a failed or cancelled task is in the way.
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
-- Tags are sorted in the order of the board, so each tag repeats the priority of its task.
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
-- The newest notes, newest first.
SELECT a.name, n.at, n.text FROM task_note n JOIN agent a ON a.id = n.agent
WHERE n.task = :task ORDER BY n.id DESC LIMIT :limit;

-- name: task_notes_from
-- Notes, oldest first.
SELECT a.name, n.at, n.text FROM task_note n JOIN agent a ON a.id = n.agent
WHERE n.task = :task ORDER BY n.id LIMIT :limit OFFSET :offset;

-- name: task_count_note
-- Counts a note.  A note also changes the task.
UPDATE task SET parts = parts | :parts, notes = notes + 1, updated_at = :now WHERE id = :id;

-- name: task_history
SELECT e.seq, e.at, e.kind, e.actor, a.name, e.detail
FROM event e LEFT JOIN agent a ON a.id = e.actor
WHERE e.subject = :task AND e.kind BETWEEN {events.task} AND e.seq > :after
ORDER BY e.seq LIMIT :limit;

-- name: task_gap
-- During a gap no lease could be renewed.  So leases that were granted before the gap become
-- longer by the gap.  The beginning of the gap is exact only to 5 s.  A lease that was granted
-- within these 5 s counts as granted before the gap.  If the clock was set back (gap_ms < 0),
-- ended leases are moved as well: an ended lease stays ended.
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
-- A lease was granted at a time that is now in the future, since the clock was put back.  The
-- whole lease is left, counted from now.
UPDATE task SET lease_until = :now + lease_ms
WHERE lease_until IS NOT NULL AND lease_until > :now + lease_ms
	AND NOT EXISTS (SELECT 1 FROM team t WHERE t.id = task.team AND t.stopped_at IS NOT NULL);

-- name: delivery_from_future
-- scan ok: messages that are leased or have an end, along their index
-- A message was handed out at a time that is now in the future.  The lease of this message is
-- moved back to begin now.  A message that is held longer than the longest lease is now held
-- for the longest lease, counted from now.
UPDATE delivery SET fetched_at = CASE WHEN fetched_at > :now THEN :now ELSE fetched_at END,
	due_at = CASE WHEN fetched_at > :now AND due_at - fetched_at < {most.lease_seconds} * 1000
		THEN due_at - (fetched_at - :now) ELSE :now + {most.lease_seconds} * 1000 END
WHERE due_at IS NOT NULL AND state IN {delivery_state.open} AND state = {delivery_state.fetched}
	AND (fetched_at > :now OR due_at > :now + {most.lease_seconds} * 1000)
	AND NOT EXISTS (SELECT 1 FROM agent a JOIN team t ON t.id = a.team
		WHERE a.id = delivery.agent AND t.stopped_at IS NOT NULL);

-- name: delayed_leap
-- scan ok: delayed messages, few
-- A gap does not change the time at which a delayed message is due.  But when the clock is set,
-- this time moves with the clock.
UPDATE delayed SET due_at = due_at + :leap_ms;

-- name: delayed_from_future
-- A message that is due after `:latest`, the longest delay, was sent by a clock that was put
-- back since.  Such a message is due now.
UPDATE delayed SET due_at = :now WHERE due_at > :latest;

-- name: task_bidden
-- Whether a person or a plan made a task.  A task of a plan was made by an agent of another
-- team, or by the operator.
SELECT EXISTS (SELECT 1 FROM task k JOIN agent c ON c.id = k.created_by
	WHERE k.id = :id AND (c.kind = {agent_kind.operator} OR c.team <> k.team)) AS so;

-- name: life_leap
-- scan ok: delayed messages, few
-- The life of a message has a fixed length, and a gap does not make it longer.  But when the
-- clock is set, the end of the life moves with the clock.  A message that had expired before
-- :since, when the clock was set ahead, stays expired.
UPDATE message SET expires_at = expires_at + :leap_ms
WHERE expires_at IS NOT NULL AND (expires_at > :since OR :leap_ms < 0)
	AND id IN (SELECT message FROM delivery WHERE due_at IS NOT NULL AND state IN {delivery_state.open}
		UNION ALL SELECT message FROM delayed);

-- name: life_leap_waiting
-- As life_leap, for the copies that wait in inboxes.
UPDATE delivery SET due_at = due_at + :leap_ms
WHERE due_at IS NOT NULL AND state IN {delivery_state.open} AND state IN {delivery_state.waiting}
	AND (due_at > :since OR :leap_ms < 0);

-- name: ack_leap
-- scan ok: awaited acknowledgements, along their index
UPDATE delivery SET ack_due_at = ack_due_at + :leap_ms
WHERE ack_due_at IS NOT NULL AND state IN {delivery_state.open};

-- name: task_give_back
-- The generation of the owner has ended.  The task is pending again under a new epoch.
UPDATE task SET state = {task_state.pending}, owner = NULL, owner_generation = NULL, lease_until = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1, updated_at = :now
WHERE id = :id AND owner IS NOT NULL;

-- name: task_renew_epochs
-- scan ok: once, after a restore
-- After a restore, the next claim of a task gets an epoch that nobody can have had since the
-- backup.  A claim that is held continues under its own epoch.  The end of that claim raises
-- the epoch in the same way.
UPDATE task SET epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) WHERE owner IS NULL;
