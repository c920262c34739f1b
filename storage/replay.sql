-- Replaying: the states that things had just after the event :until of the log.
--
-- The last event up to :until that changed a thing gives the thing's state at :until. The
-- oldest events may have been removed from the log. If the log has no event that changed a
-- thing, the thing's state at :until is the present state. If the log has such events only
-- after :until, the thing's state at :until is not `known`.

-- name: replay_at
-- The time of an event.
SELECT at FROM event WHERE seq = :seq;

-- name: replay_task_count
-- scan ok: tasks of a team, along their index
SELECT count(*) AS n FROM task k WHERE k.team = :team
	AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = k.id AND e.kind BETWEEN {events.task}
		AND e.kind = {event.task_created} AND e.seq > :until);

-- name: replay_tasks
-- text: owner_name
-- The tasks that existed at `until`, by number.
-- scan ok: tasks of a team, along their index
SELECT t.number, t.title,
	CAST(l.seq IS NOT NULL OR t.later = 0 AS INTEGER) AS known,
	CASE WHEN l.seq IS NULL THEN t.state
		WHEN l.kind = {event.task_claimed} THEN {task_state.claimed}
		WHEN l.kind IN {event.task_started task_unblocked} THEN {task_state.in_progress}
		WHEN l.kind = {event.task_blocked} THEN {task_state.blocked}
		WHEN l.kind = {event.task_completed} THEN {task_state.completed}
		WHEN l.kind = {event.task_failed} THEN {task_state.failed}
		WHEN l.kind = {event.task_cancelled} THEN {task_state.cancelled}
		ELSE {task_state.pending} END AS state_then,
	o.name AS owner_name
FROM (SELECT k.id, k.number, k.title, k.state, k.owner,
		(SELECT max(e.seq) FROM event e WHERE e.subject = k.id AND e.kind BETWEEN {events.task} AND e.seq <= :until
			AND e.kind IN {event.task_created task_claimed task_started task_blocked task_unblocked task_completed task_failed task_cancelled task_released task_lapsed task_retried task_reopened}) AS last,
		CAST(EXISTS (SELECT 1 FROM event e WHERE e.subject = k.id AND e.kind BETWEEN {events.task} AND e.seq > :until
			AND e.kind IN {event.task_created task_claimed task_started task_blocked task_unblocked task_completed task_failed task_cancelled task_released task_lapsed task_retried task_reopened}) AS INTEGER) AS later
	FROM task k WHERE k.team = :team
		AND NOT EXISTS (SELECT 1 FROM event e WHERE e.subject = k.id AND e.kind BETWEEN {events.task}
			AND e.kind = {event.task_created} AND e.seq > :until)) t
	LEFT JOIN event l ON l.seq = t.last
	LEFT JOIN agent o ON o.id = CASE WHEN l.seq IS NULL AND t.later = 0 THEN t.owner
		WHEN l.kind IN {event.task_claimed task_started task_blocked task_unblocked} THEN l.target END
ORDER BY t.number LIMIT :limit OFFSET :skip;

-- name: replay_mail
-- int: first next earliest
-- `first`: the first message whose sending is in the log. `next`: the first message that was
-- sent after `until`. Messages are numbered in the order in which they were sent. A `first` or
-- `next` of 0 means that the log has no such message. `earliest`: the earliest time of all
-- events from `until` on. This time may be before the time of `until`, since the clock may have
-- been put back.
-- scan ok: from the log's start, and from `until`, to the first event of a sending
SELECT coalesce((SELECT f.subject FROM event f WHERE f.kind = {event.message_sent} ORDER BY f.seq LIMIT 1), 0) AS first,
	coalesce((SELECT n.subject FROM event n WHERE n.kind = {event.message_sent} AND n.seq > :until ORDER BY n.seq LIMIT 1), 0) AS next,
	coalesce((SELECT min(e.at) FROM event e WHERE e.seq >= :until), 0) AS earliest;

-- name: replay_copies
-- text: to_name from_name
-- Copies that lay in inboxes at `until`, by recipient and number. If a copy's first event is
-- message_requeued, the copy was delayed before this event, or was moved from a member who
-- left. So such a copy entered the inbox only with its first event. Before its first event, the
-- place of a moved or delayed copy is not known. Copies that were finished before :earliest are
-- skipped early.
-- scan ok: the log and all copies, once for a call
WITH told (message, agent, last, later) AS (
	SELECT e.subject, e.target, max(CASE WHEN e.seq <= :until THEN e.seq END), min(CASE WHEN e.seq > :until THEN e.seq END)
	FROM event e JOIN agent r ON r.id = e.target
		LEFT JOIN delivery d ON d.message = e.subject AND d.agent = e.target
	WHERE r.team = :team AND e.kind BETWEEN {events.message}
		AND e.kind IN {event.message_notified message_fetched message_acked message_dropped message_expired message_dead message_requeued message_delayed}
		AND (d.message IS NULL OR d.state IN {delivery_state.open} OR d.done_at >= :earliest)
	GROUP BY e.subject, e.target),
left_at (agent, seq) AS (
	SELECT e.subject, max(e.seq) FROM event e WHERE e.kind = {event.agent_removed} AND e.team = :team GROUP BY e.subject),
copy (message, agent) AS (
	SELECT d.message, d.agent FROM delivery d JOIN agent r ON r.id = d.agent
	WHERE r.team = :team AND d.lane IN {delivery_lane.mail} AND (d.state IN {delivery_state.open} OR d.done_at >= :earliest)
	UNION SELECT message, agent FROM told)
SELECT c.message, r.name AS to_name, s.name AS from_name,
	CAST(d.message IS NOT NULL AND (l.seq IS NOT NULL OR t.later IS NULL OR c.message >= :first) AS INTEGER) AS known,
	CASE WHEN l.kind = {event.message_notified} THEN {delivery_state.notified}
		WHEN l.kind = {event.message_fetched} THEN {delivery_state.fetched}
		WHEN l.seq IS NULL AND t.later IS NULL THEN d.state
		ELSE {delivery_state.queued} END AS state_then
FROM copy c JOIN agent r ON r.id = c.agent
	LEFT JOIN delivery d ON d.message = c.message AND d.agent = c.agent
	LEFT JOIN message m ON m.id = c.message LEFT JOIN agent s ON s.id = m.sender
	LEFT JOIN told t ON t.message = c.message AND t.agent = c.agent
	LEFT JOIN left_at g ON g.agent = c.agent
	LEFT JOIN event l ON l.seq = t.last
	LEFT JOIN event n ON n.seq = t.later
WHERE (d.message IS NULL OR d.lane IN {delivery_lane.mail})
	AND (:next = 0 OR c.message < :next) AND (g.seq IS NULL OR g.seq > :until)
	AND (l.seq IS NULL OR l.kind IN {event.message_notified message_requeued}
		OR (l.kind = {event.message_fetched} AND (l.detail IS NULL OR l.detail <> 'for good')))
	AND (l.seq IS NOT NULL OR n.seq IS NULL OR n.kind <> {event.message_requeued})
	AND (l.seq IS NOT NULL OR n.seq IS NOT NULL OR d.state IN {delivery_state.open})
ORDER BY r.name, c.message LIMIT :limit OFFSET :skip;
