-- The board.  A lease is over at its instant: every
-- statement compares lease_until with :now by itself, and task_lapsed with
-- task_lapse only write down what is true already.

-- name: task_number
-- Numbers count up in each team and are never reused.
UPDATE team SET next_task = next_task + 1 WHERE id = :team
RETURNING next_task - 1 AS number;

-- name: task_new_id
-- row: new_id
SELECT coalesce(max(id), 0) + 1 AS id FROM task;

-- name: task_add
-- A new task's first claim has the next epoch: see state_renew.
INSERT INTO task (id, team, number, slug, title, description, priority, assignee, epoch,
	created_by, created_at, updated_at)
VALUES (:id, :team, :number, :slug, :title, :description, :priority, nullif(:assignee, 0),
	(SELECT counts_from FROM state WHERE one = 1), :created_by, :now, :now);

-- columns: state_now
-- The state of a task `k`, whether or not the end of its lease is written down.
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
-- The tasks that an agent holds now, the latest change first: a caller asks for two rows,
-- to know whether there is one only.
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
-- A task with the names in it; `parts` names the other tables that hold more of it.
SELECT k.id, k.number, k.title, k.description, k.priority, k.state, k.owner, k.epoch,
	{columns.state_now}, k.lease_until, k.open_deps, k.attempts, k.created_at, k.updated_at,
	k.ended_at, k.result, k.parts, k.notes, o.name AS holder_name, s.name AS assignee_name, c.name AS creator_name
FROM task k JOIN agent c ON c.id = k.created_by
LEFT JOIN agent o ON o.id = coalesce(k.owner, k.ended_by)
LEFT JOIN agent s ON s.id = k.assignee
WHERE k.id = :id;

-- name: task_has
-- Notes that other tables hold these parts of the task from now on.
UPDATE task SET parts = parts | :parts WHERE id = :id AND parts & :parts <> :parts;

-- name: task_lines
-- row: task_line
-- text: holder_name assignee_name
-- The board, along the index of its order; the caller stops where its page is full.
SELECT {columns.board_line}, {columns.state_now}
FROM board_line k
WHERE k.team = :team AND (k.priority, k.number) > (:priority, :number)
ORDER BY k.priority, k.number;

-- name: task_lines_open
-- row: task_line
-- text: holder_name assignee_name
-- A page of the tasks that are not over, each state along the index of its order; one whose lease
-- has ended is pending again, or over.
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
-- A page of the tasks in the wanted states: of each state along the index of the board's order,
-- with the tasks that an ended lease brings into the state.
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
-- The tasks that an agent holds, with a tag (NULL: any).
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
-- The tasks with a tag, along the index of their order.
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
-- Tasks that can be claimed now, best first: pending, without open dependencies, also
-- where only an ended lease makes them so.
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
-- Claims whose lease is over and not yet ended in their rows; of a task, or of all (0).
SELECT id, team, owner, attempts, number, state FROM task
WHERE lease_until <= :now AND (:id = 0 OR id = :id)
ORDER BY lease_until NULLS FIRST LIMIT :limit;

-- name: task_lapse
-- Ends a lapsed claim: back to pending under a new epoch, or failed when that happened
-- too often.  The claim has computed after_lapse already, so that callers who read before
-- this runs see the same.
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
--~ This is the heart of it.  One UPDATE finds the row and changes it, and its WHERE is the
--~ rule: pending, no open dependency, meant for nobody else.  Two claims cannot both find
--~ it so, because SQLite runs one writing transaction at a time.  No lock of ours, no
--~ order of events, no clever code decides it, and any reader can check the rule here.
--~
--~ `epoch` grows with each claim of a task and each end of one.  An agent that was cut off
--~ for an hour comes back with the epoch of its old claim; statements that complete a task
--~ ask for the epoch, so it cannot end work that is somebody else's by now.  `lease_until`
--~ is when the claim is over, by itself: statements compare it with the time of the call,
--~ and nobody has to be alive to write that down.  `after_lapse` says what the task is then.
--~
--~ Now the way back: COMMIT (storage/store.c), the answer to the connection (conn_answer()
--~ in core/host/conn.c), the socket, and the shell.
--~
--~ Next: tools/cadre/screen/print.c
-- name: task_claim
-- Exactly one claimer wins: the task must be pending, without open dependencies, and
-- assigned to nobody or to this agent.
UPDATE task SET state = {task_state.claimed}, owner = :agent, owner_generation = :generation,
	epoch = epoch + 1, lease_ms = :lease_ms, lease_until = :now + :lease_ms,
	after_lapse = CASE WHEN attempts + 1 >= :max_attempts THEN {task_state.failed} ELSE {task_state.pending} END,
	updated_at = :now
WHERE id = :id AND state = {task_state.pending} AND open_deps = 0
	AND (assignee IS NULL OR assignee = :agent);

-- name: task_best
-- The best ready task that is meant for nobody, by priority, then age.
SELECT id, epoch, priority, number FROM task
WHERE team = :team AND state = {task_state.pending} AND open_deps = 0 AND (assignee IS NOT NULL) = FALSE
ORDER BY priority, number LIMIT 1;

-- name: task_best_own
-- row: task_best
-- The best ready task that is meant for an agent.
SELECT id, epoch, priority, number FROM task
WHERE team = :team AND state = {task_state.pending} AND open_deps = 0 AND assignee = :agent
ORDER BY priority, number LIMIT 1;

-- name: task_start
UPDATE task SET state = {task_state.in_progress}, updated_at = :now
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch) AND state = {task_state.claimed} AND lease_until > :now;

-- name: task_renew
-- An owner renews his live lease; a blocked task needs none, which its lease_until says.
UPDATE task SET lease_ms = CASE WHEN :lease_ms > 0 THEN :lease_ms ELSE lease_ms END,
	lease_until = CASE WHEN state = {task_state.blocked} THEN NULL ELSE :now
		+ CASE WHEN :lease_ms > 0 THEN :lease_ms ELSE lease_ms END END
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch)
	AND (state = {task_state.blocked} OR (state IN {task_state.claimed in_progress} AND lease_until > :now))
RETURNING epoch, lease_until;

-- name: task_block
-- A blocked task keeps its owner, without a lease that could run out.
UPDATE task SET state = {task_state.blocked}, lease_until = NULL, updated_at = :now
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch) AND state IN {task_state.claimed in_progress} AND lease_until > :now;

-- name: task_unblock
UPDATE task SET state = {task_state.in_progress}, lease_until = :now + lease_ms, updated_at = :now
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch) AND state = {task_state.blocked};

-- name: task_finish
-- The owner ends the task as completed or failed (:state), under the epoch of his claim.
UPDATE task SET state = :state, owner = NULL, owner_generation = NULL,
	lease_until = NULL, updated_at = :now, ended_at = :now, ended_by = :agent,
	result = coalesce(:result, result),
	attempts = attempts + CAST(:state = {task_state.failed} AS INTEGER)
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch)
	AND (state = {task_state.blocked} OR (state IN {task_state.claimed in_progress} AND lease_until > :now));

-- name: task_release
-- The owner gives the task back; the next claim has another epoch.
UPDATE task SET state = {task_state.pending}, owner = NULL, owner_generation = NULL, lease_until = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1, updated_at = :now
WHERE id = :id AND owner = :agent AND owner_generation = :generation
	AND (:epoch < 0 OR epoch = :epoch)
	AND (state = {task_state.blocked} OR (state IN {task_state.claimed in_progress} AND lease_until > :now));

-- name: task_unclaim
-- The answer that granted the claim was lost: the claim ends, unless its owner has
-- begun.
UPDATE task SET state = {task_state.pending}, owner = NULL, owner_generation = NULL, lease_until = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1, updated_at = :now
WHERE id = :id AND owner = :agent AND epoch = :epoch AND state = {task_state.claimed};

-- name: task_retry
UPDATE task SET state = {task_state.pending}, attempts = 0, updated_at = :now,
	ended_by = NULL, ended_at = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch)
WHERE id = :id AND state = {task_state.failed};

-- name: task_cancel
-- Cancels any open task, under a new epoch, so that its owner is refused from now on.
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
-- If the call says when the caller saw the task (seen, else 0), only an unchanged task is
-- updated.  No process can change the task between the check and the update.
UPDATE task SET title = coalesce(:title, title),
	description = coalesce(:description, description),
	priority = CASE WHEN :priority > 0 THEN :priority ELSE priority END,
	updated_at = :now
WHERE id = :id AND (:seen = 0 OR updated_at = :seen);

-- name: task_in_the_way
SELECT EXISTS (SELECT 1 FROM task_dep WHERE dep = :dep) AS any;

-- name: task_unblocks
-- A completed task blocks no other task any more.
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
-- Counts the dependencies that are not completed, as open_deps keeps them.
UPDATE task SET open_deps = (SELECT count(*) FROM task_dep d JOIN task o ON o.id = d.dep
	WHERE d.task = task.id AND o.state <> {task_state.completed})
WHERE id = :id RETURNING open_deps;

-- name: task_deps
SELECT o.number, CASE WHEN o.lease_until <= :now THEN o.after_lapse ELSE o.state END AS state_now
FROM task_dep d JOIN task o ON o.id = d.dep WHERE d.task = :task ORDER BY o.number;

-- name: task_blockers
-- The dependencies that a task waits for; a task that is completed holds no lease.
SELECT o.number, CASE WHEN o.lease_until <= :now THEN o.after_lapse ELSE o.state END AS state_now
FROM task_dep d JOIN task o ON o.id = d.dep
WHERE d.task = :task AND o.state <> {task_state.completed} ORDER BY o.number LIMIT :limit;

-- name: task_way
-- scan ok: the rows of the recursion
-- A step on the way from task `from` back to `task` along dependencies, if there is
-- a way: a dependency of `from` that is `task` or waits for it.  It visits every task
-- that waits for `task` once, however many ways there are.
WITH RECURSIVE waits(id) AS (
	SELECT :task UNION SELECT d.task FROM waits JOIN task_dep d ON d.dep = waits.id)
SELECT o.id, o.number FROM task_dep d JOIN task o ON o.id = d.dep
WHERE d.task = :from AND d.dep IN (SELECT id FROM waits) ORDER BY o.number LIMIT 1;

-- name: tasks_behind
-- scan ok: the rows of the recursion
-- The first :limit of the pending tasks that wait for a task, themselves or through others.
WITH RECURSIVE behind(id) AS (
	SELECT d.task FROM task_dep d WHERE d.dep = :task
	UNION SELECT d.task FROM behind b JOIN task_dep d ON d.dep = b.id)
SELECT k.number FROM behind b JOIN task k ON k.id = b.id
WHERE k.state = {task_state.pending} ORDER BY k.number LIMIT :limit;

-- name: task_hindrance
-- scan ok: the rows of the recursion
-- text: why
-- Finds what keeps a task from being completed: the task itself where that failed or was called off,
-- else the first such task before that one.  Tells why the found one failed or was called off.
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
-- A task has failed, was called off, is on the board again or waits for others.  So `stuck` is set
-- anew for the task and for every task that waits for it: whether a failed or cancelled task is in
-- the way.
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
-- Tags stand in the order of the board.
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
-- Notes from the oldest on.
SELECT a.name, n.at, n.text FROM task_note n JOIN agent a ON a.id = n.agent
WHERE n.task = :task ORDER BY n.id LIMIT :limit OFFSET :offset;

-- name: task_count_note
-- Counts a note, which changes the task.
UPDATE task SET parts = parts | :parts, notes = notes + 1, updated_at = :now WHERE id = :id;

-- name: task_history
SELECT e.seq, e.at, e.kind, e.actor, a.name, e.detail
FROM event e LEFT JOIN agent a ON a.id = e.actor
WHERE e.subject = :task AND e.kind BETWEEN {events.task} AND e.seq > :after
ORDER BY e.seq LIMIT :limit;

-- name: task_gap
-- During a gap no lease could be renewed: leases granted before it become longer by it.
-- The beginning of the gap is known to 5 s; a lease granted in these counts as before.  A
-- clock that was set back (gap_ms < 0) also moves leases that had ended, so they stay
-- ended.
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
-- A lease that was granted at a time which is to come, since the clock was put back: all
-- of it is left, from now on.
UPDATE task SET lease_until = :now + lease_ms
WHERE lease_until IS NOT NULL AND lease_until > :now + lease_ms
	AND NOT EXISTS (SELECT 1 FROM team t WHERE t.id = task.team AND t.stopped_at IS NOT NULL);

-- name: delivery_from_future
-- scan ok: messages that are leased or have an end, along their index
-- The same for a message that was handed out at such a time.  A message that is held longer
-- than the longest lease is now held for the longest lease, counted from now.
UPDATE delivery SET fetched_at = CASE WHEN fetched_at > :now THEN :now ELSE fetched_at END,
	due_at = CASE WHEN fetched_at > :now AND due_at - fetched_at < {most.lease_seconds} * 1000
		THEN due_at - (fetched_at - :now) ELSE :now + {most.lease_seconds} * 1000 END
WHERE due_at IS NOT NULL AND state IN {delivery_state.open} AND state = {delivery_state.fetched}
	AND (fetched_at > :now OR due_at > :now + {most.lease_seconds} * 1000)
	AND NOT EXISTS (SELECT 1 FROM agent a JOIN team t ON t.id = a.team
		WHERE a.id = delivery.agent AND t.stopped_at IS NOT NULL);

-- name: delayed_leap
-- scan ok: the few that are delayed
-- A delayed message comes at its time whatever gap there was, but a clock that is set takes
-- that time along.
UPDATE delayed SET due_at = due_at + :leap_ms;

-- name: delayed_from_future
-- A message that would come after `:latest`, the longest delay, was sent by a clock that was put back
-- since: it comes now.
UPDATE delayed SET due_at = :now WHERE due_at > :latest;

-- name: task_bidden
-- Whether a person or a plan made a task: a plan is an agent's of another team, or the operator's.
SELECT EXISTS (SELECT 1 FROM task k JOIN agent c ON c.id = k.created_by
	WHERE k.id = :id AND (c.kind = {agent_kind.operator} OR c.team <> k.team)) AS so;

-- name: life_leap
-- scan ok: the few that are delayed
-- A message lives so long, and a gap does not make that longer; but the end of its life goes
-- along with the clock.  A message that was over before :since, when the clock was set ahead, stays
-- over.
UPDATE message SET expires_at = expires_at + :leap_ms
WHERE expires_at IS NOT NULL AND (expires_at > :since OR :leap_ms < 0)
	AND id IN (SELECT message FROM delivery WHERE due_at IS NOT NULL AND state IN {delivery_state.open}
		UNION ALL SELECT message FROM delayed);

-- name: life_leap_waiting
-- The same in the inboxes where it waits.
UPDATE delivery SET due_at = due_at + :leap_ms
WHERE due_at IS NOT NULL AND state IN {delivery_state.open} AND state IN {delivery_state.waiting}
	AND (due_at > :since OR :leap_ms < 0);

-- name: ack_leap
-- scan ok: acknowledgements that are waited for, along their index
UPDATE delivery SET ack_due_at = ack_due_at + :leap_ms
WHERE ack_due_at IS NOT NULL AND state IN {delivery_state.open};

-- name: task_give_back
-- The generation of the owner is over: back to pending under a new epoch.
UPDATE task SET state = {task_state.pending}, owner = NULL, owner_generation = NULL, lease_until = NULL,
	epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) + 1, updated_at = :now
WHERE id = :id AND owner IS NOT NULL;

-- name: task_renew_epochs
-- scan ok: once, after a restore
-- In a restored state the next claim of a task gets an epoch that nobody can have had
-- since the backup.  A claim that is held goes on under its own epoch, and the end of
-- that claim raises the epoch in the same way.
UPDATE task SET epoch = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > epoch), epoch) WHERE owner IS NULL;
