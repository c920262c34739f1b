-- Statements of exports and imports: see core/transfer/transfer.h. Imported rows have numbers
-- above :from. An import counts the imported rows anew, and makes tokens for the imported
-- members.

-- name: transfer_state
-- always
SELECT incarnation, created_at, id_a, id_b, id_c, counts_from FROM state WHERE one = 1;

-- name: transfer_begun
-- scan ok: until the first row
-- Whether anything ever happened in this state.
SELECT EXISTS (SELECT 1 FROM team) OR EXISTS (SELECT 1 FROM agent)
	OR EXISTS (SELECT 1 FROM event) AS so;

-- name: transfer_renew
-- Makes all cursors outside of the state invalid, since nobody has seen the events of the
-- imported rows.
UPDATE state SET incarnation = :incarnation WHERE one = 1;

-- name: transfer_adopt
-- If the state is empty, an import gives it the identity of the exported state, so that public
-- ids stay the same.
UPDATE state SET created_at = :created_at, id_a = :id_a, id_b = :id_b, id_c = :id_c,
	counts_from = :counts_from
WHERE one = 1;

-- name: transfer_depth
-- scan ok: teams, few
-- The depth of a team is one more than the depth of the team above.  This statement is run
-- until no row changes.
UPDATE team SET depth = (SELECT p.depth + 1 FROM team p WHERE p.id = team.parent)
WHERE id > :from AND parent IS NOT NULL
	AND depth <> (SELECT p.depth + 1 FROM team p WHERE p.id = team.parent);

-- name: transfer_teams
-- scan ok: teams, few
-- Tasks are numbered from 1, and no task is ever removed.
UPDATE team SET next_task = 1 + (SELECT count(*) FROM task k WHERE k.team = team.id),
	limits = (SELECT count(*) FROM budget b WHERE b.team = team.id AND b.most > 0)
WHERE id > :from;

-- name: transfer_turns_end
-- Marks the turns that ran in the exported state as interrupted, since no turn runs on in this
-- state.
UPDATE turn SET state = {turn_state.interrupted}, ended_at = :now, reason = 'its state was exported'
WHERE id > :from AND state IN {turn_state.open};

-- name: transfer_gap
-- scan ok: teams, few
-- int: number
-- A team with a gap in its task numbers, and the team's lowest task number that is greater than
-- the number of its tasks.
SELECT t.id, (SELECT min(k.number) FROM task k
	WHERE k.team = t.id AND k.number >= t.next_task) AS number
FROM team t WHERE t.id > :from
	AND EXISTS (SELECT 1 FROM task k WHERE k.team = t.id AND k.number >= t.next_task)
LIMIT 1;

-- name: transfer_clocks
-- scan ok: teams, few
-- The clock of a budget of seconds runs if the budget has a limit, and if the budget's team
-- lives and is not stopped. No clock begins in the future.
UPDATE budget SET since = CASE WHEN kind = {budget_kind.seconds} AND most > 0
	AND EXISTS (SELECT 1 FROM team t
		WHERE t.id = budget.team AND t.destroyed_at IS NULL AND t.stopped_at IS NULL)
	THEN CASE WHEN since < :now THEN since ELSE :now END END
WHERE team > :from;

-- name: transfer_budgets
-- scan ok: teams, few
INSERT INTO budget (team, kind)
SELECT t.id, k.kind FROM team t, (SELECT {budget_kind.tokens} AS kind
	UNION SELECT {budget_kind.cost} UNION SELECT {budget_kind.seconds}
	UNION SELECT {budget_kind.messages}) k
WHERE t.id > :from
ON CONFLICT DO NOTHING;

-- name: transfer_boards
-- scan ok: once in an import
INSERT INTO board (team, waiting, claimed, in_progress, blocked, completed, failed, cancelled,
	assignments, members, reserved)
SELECT t.id,
	count(k.id) FILTER (WHERE k.state = {task_state.pending} AND k.open_deps > 0),
	count(k.id) FILTER (WHERE k.state = {task_state.claimed}),
	count(k.id) FILTER (WHERE k.state = {task_state.in_progress}),
	count(k.id) FILTER (WHERE k.state = {task_state.blocked}),
	count(k.id) FILTER (WHERE k.state = {task_state.completed}),
	count(k.id) FILTER (WHERE k.state = {task_state.failed}),
	count(k.id) FILTER (WHERE k.state = {task_state.cancelled}),
	(SELECT count(*) FROM assignment x WHERE x.team = t.id AND x.state IN {assignment_state.open}),
	(SELECT count(*) FROM agent a WHERE a.team = t.id AND a.gone = 0 AND a.kind = {agent_kind.member}),
	(SELECT coalesce(sum(c.max_vms), 0) FROM team c WHERE c.parent = t.id AND c.destroyed_at IS NULL)
FROM team t LEFT JOIN task k ON k.team = t.id WHERE t.id > :from GROUP BY t.id;

-- name: transfer_reserved
-- scan ok: once in an import
UPDATE budget SET reserved = (SELECT coalesce(sum(c.most), 0) FROM team k JOIN budget c ON c.team = k.id
	WHERE k.parent = budget.team AND k.destroyed_at IS NULL AND c.kind = budget.kind)
WHERE team > :from;

-- name: transfer_tasks
-- scan ok: once in an import
UPDATE task SET notes = (SELECT count(*) FROM task_note n WHERE n.task = task.id),
	awaited = CASE WHEN (SELECT t.destroyed_at FROM team t WHERE t.id = task.team) IS NOT NULL THEN -1
		WHEN EXISTS (SELECT 1 FROM task_dep d WHERE d.dep = task.id) THEN 1 ELSE 0 END
WHERE id > :from;

-- name: transfer_stuck
-- scan ok: once in an import
UPDATE task SET stuck = CASE WHEN state = {task_state.pending} AND id IN (
	WITH RECURSIVE held(id) AS (
		SELECT d.task FROM task k JOIN task_dep d ON d.dep = k.id
		WHERE k.id > :from AND k.state IN {task_state.failed cancelled}
		UNION SELECT d.task FROM held h JOIN task_dep d ON d.dep = h.id)
	SELECT id FROM held) THEN 1 ELSE 0 END
WHERE id > :from;

-- name: transfer_tags
-- scan ok: once in an import
UPDATE task_tag SET team = (SELECT k.team FROM task k WHERE k.id = task_tag.task),
	priority = (SELECT k.priority FROM task k WHERE k.id = task_tag.task),
	number = (SELECT k.number FROM task k WHERE k.id = task_tag.task)
WHERE task > :from;

-- name: transfer_owed
-- scan ok: once in an import
UPDATE delivery SET owed_team = (SELECT m.team FROM message m WHERE m.id = delivery.message),
	owed_to = (SELECT m.sender FROM message m WHERE m.id = delivery.message)
WHERE message > :from AND ack_due_at IS NOT NULL;

-- name: transfer_deps
-- scan ok: once in an import
UPDATE task SET open_deps = (SELECT count(*) FROM task_dep d JOIN task k ON k.id = d.dep
	WHERE d.task = task.id AND k.state <> {task_state.completed})
WHERE id > :from AND EXISTS (SELECT 1 FROM task_dep d WHERE d.task = task.id);

-- name: transfer_inboxes
-- scan ok: once in an import
INSERT INTO agent_inbox (agent) SELECT a.id FROM agent a WHERE a.id > :from
ON CONFLICT DO NOTHING;

-- name: transfer_inbox_counts
-- scan ok: once in an import
UPDATE agent_inbox SET
	operator = (SELECT CAST(a.kind = {agent_kind.operator} AS INTEGER) FROM agent a WHERE a.id = agent_inbox.agent),
	queued = (SELECT count(*) FROM delivery d WHERE d.agent = agent_inbox.agent
		AND d.lane IN {delivery_lane.mail} AND d.state IN {delivery_state.open}
		AND d.state IN {delivery_state.waiting}),
	leased = (SELECT count(*) FROM delivery d WHERE d.agent = agent_inbox.agent
		AND d.lane IN {delivery_lane.mail} AND d.state IN {delivery_state.open}
		AND d.state = {delivery_state.fetched}),
	assignments = (SELECT count(*) FROM assignment x WHERE x.agent = agent_inbox.agent
		AND x.state IN {assignment_state.open})
WHERE agent > :from;

-- name: transfer_generations
-- scan ok: once in an import
-- An imported member gets a generation above counts_from, the highest generation that a lost
-- agent can have. Agents are lost when a backup is restored. With a lower generation, the
-- member's token could be the token of a lost agent.
UPDATE agent SET generation = generation + (SELECT counts_from FROM state WHERE one = 1)
WHERE id > :from AND generation <= (SELECT counts_from FROM state WHERE one = 1);

-- name: transfer_members
-- scan ok: once in an import
-- Imported members that have no token yet, since an export contains no secrets.
SELECT id, generation FROM agent
WHERE id > :from AND gone = 0 AND kind = {agent_kind.member} AND token IS NULL;

-- name: transfer_at_work
-- scan ok: open assignments, along their index
-- Agents that had open assignments when the export was made.
SELECT agent FROM assignment WHERE agent > :from AND state IN {assignment_state.open}
GROUP BY agent ORDER BY agent;

-- name: transfer_moves
-- scan ok: rows of writes that are under way, and of the last writes made
-- int: low
-- The lowest negative number of a recorded write to the vault, or 0 if there is none.
SELECT coalesce(min(CASE WHEN event < 0 THEN event ELSE 0 END), 0) AS low FROM vault_move;
