-- The event log, status and cleaning.

-- name: events_after
-- row: event_line
-- text: team_name actor_name by
-- Events with numbers above :after and up to :upto. The caller may choose a team, kinds of
-- events and an actor. The actor is any agent with the name :by, or the actor :actor, such as
-- the operator. No index contains kinds or actors, since every event would have to update such
-- an index. Therefore, if a caller chooses kinds or an actor, the caller must also set :upto,
-- to limit the search.
-- scan ok: agents, few
SELECT e.seq, e.at, e.kind, e.team, e.actor, e.via, e.subject, e.target, e.detail,
	t.name AS team_name, a.name AS actor_name
FROM event e LEFT JOIN team t ON t.id = e.team LEFT JOIN agent a ON a.id = e.actor
WHERE e.seq > :after AND (:upto = 0 OR e.seq <= :upto) AND (:team = 0 OR e.team = :team)
	AND (:low = 0 OR e.kind BETWEEN :low AND :high AND (:kinds >> CAST(e.kind - :low AS INTEGER)) & 1 = 1)
	AND (:by IS NULL OR e.actor = :actor
		OR e.actor IN (SELECT b.id FROM agent b WHERE b.name = :by AND (:team = 0 OR b.team = :team)))
ORDER BY e.seq LIMIT :limit;

-- name: event_message_text
-- text: text
-- The beginning of a message, or the label of a command, if the agent :agent sent or got the
-- message. An :agent of 0 means every agent.
SELECT CASE WHEN x.message IS NULL THEN substr(m.content, 1, 200) ELSE substr(x.label, 1, 200) END AS text, m.to_all
FROM message m LEFT JOIN assignment x ON x.message = m.id
WHERE m.id = :id AND (:agent = 0 OR m.sender = :agent OR EXISTS (SELECT 1 FROM delivery d
	WHERE d.message = m.id AND d.agent = :agent));

-- name: event_note_text
-- text: text
-- The beginning of the note that was written on a task at a time.
SELECT substr(text, 1, 200) AS text FROM task_note WHERE task = :task AND at = :at
ORDER BY id DESC LIMIT 1;

-- name: event_criterion_text
-- text: text
SELECT substr(text, 1, 200) AS text FROM task_criterion WHERE task = :task AND n = :n;

-- name: notify_mail
-- Whether a message was sent to the operator's place in a team.
SELECT EXISTS (SELECT 1 FROM delivery d JOIN agent o ON o.id = d.agent
	WHERE d.message = :message AND o.kind = {agent_kind.operator}) AS mail;

-- name: notify_message
-- The text of a message, for the configured `notify.command`.
SELECT content FROM message WHERE id = :id;

-- name: notify_task
-- The outcome of a task, for the configured `notify.command`.
SELECT title, result FROM task WHERE id = :id;

-- name: events_newest
-- text: by
-- Finds the newest :limit events with numbers from :since to :upto. Returns the number of the
-- first found event minus 1, and the count of the found events. The filters are those of
-- events_after.
-- scan ok: backwards to the `limit`-th event; the caller limits how far
SELECT coalesce(min(seq), :upto + 1) - 1 AS seq, count(*) AS n FROM (
	SELECT seq FROM event WHERE seq BETWEEN :since AND :upto AND (:team = 0 OR team = :team)
		AND (:low = 0 OR kind BETWEEN :low AND :high AND (:kinds >> CAST(kind - :low AS INTEGER)) & 1 = 1)
		AND (:by IS NULL OR actor = :actor
			OR actor IN (SELECT b.id FROM agent b WHERE b.name = :by AND (:team = 0 OR b.team = :team)))
	ORDER BY seq DESC LIMIT :limit) e;

-- name: event_actor_known
-- Whether a present or former member has this name, in one team or in any team.
SELECT EXISTS (SELECT 1 FROM agent WHERE name = :name AND (:team = 0 OR team = :team)) AS known;

-- name: event_since
-- Finds the first event at or after the time :at. Times have no index, so the statement halves
-- the range of event numbers again and again. A later event has a later time, with two
-- exceptions: the clock was set back, or an import added the events of another state. After
-- such an exception, the time :at may be passed at several places in the log. The result is
-- then the event at one of these places, and some events before the result may be younger than
-- :at.
WITH RECURSIVE half(low, high) AS (
	SELECT coalesce((SELECT min(seq) FROM event), 1), coalesce((SELECT max(seq) FROM event), 0) + 1
	UNION ALL
	SELECT CASE WHEN e.at < :at THEN e.seq + 1 ELSE h.low END,
		CASE WHEN e.at < :at THEN h.high ELSE (h.low + h.high) / 2 END
	FROM half h JOIN event e ON e.seq = (SELECT min(x.seq) FROM event x WHERE x.seq >= (h.low + h.high) / 2)
	WHERE h.low < h.high)
SELECT max(low) AS seq FROM half;

-- name: event_first
-- The number of the first event after the number :after.
SELECT coalesce(min(seq), 1) AS seq FROM event WHERE seq > :after;

-- name: waiting_all
-- Counts the waiting messages in the inboxes of at most :most agents of a team. If :team is 0,
-- counts the waiting messages in the first :most non-empty inboxes of the state.
-- scan ok: inboxes that are not empty, one search in the index for each inbox
WITH RECURSIVE holds(agent, n) AS (
	SELECT min(agent), 1 FROM delivery WHERE :team = 0 AND state IN {delivery_state.open}
	UNION ALL SELECT (SELECT min(d.agent) FROM delivery d
		WHERE d.state IN {delivery_state.open} AND d.agent > h.agent), h.n + 1
	FROM holds h WHERE h.agent IS NOT NULL AND h.n < :most),
looked(agent) AS (
	SELECT a.id FROM holds h JOIN agent a ON a.id = h.agent WHERE a.gone = 0
	UNION ALL SELECT l.id FROM (SELECT id FROM agent WHERE team = :team AND gone = 0 LIMIT :most) l)
SELECT coalesce(sum(i.queued), 0) + coalesce((SELECT sum(CAST(until > :now AS INTEGER) - waits)
		FROM inbox_due u WHERE u.due_at <= :now AND +u.agent IN (SELECT agent FROM looked)), 0) AS n
FROM looked h JOIN agent_inbox i ON i.agent = h.agent;

-- name: gc_events
-- Deletes old events, but neither the newest event nor events that a follower has not read yet.
DELETE FROM event WHERE seq IN (SELECT seq FROM event
	WHERE seq < :keep AND at < :before ORDER BY seq LIMIT :limit);

-- name: gc_count
-- scan ok: only before a gc that a caller has to confirm
-- Counts the events and messages from the time :from on that a complete `cadre gc` would
-- delete.
SELECT (SELECT count(*) FROM event
		WHERE seq < :keep_events AND at >= :from AND at < :before) AS events,
	(SELECT count(*) FROM message m
		WHERE m.id < :keep_messages AND m.at >= :from AND m.at < :before
	AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id AND d.state IN {delivery_state.open})
	AND NOT EXISTS (SELECT 1 FROM delayed d WHERE d.message = m.id)
	AND NOT EXISTS (SELECT 1 FROM assignment x WHERE x.message = m.id
		AND (x.state IN {assignment_state.open} OR EXISTS (SELECT 1 FROM result r
			WHERE r.message = m.id AND r.collected_at IS NULL)))) AS messages;

-- name: gc_messages
-- Old messages without an open or delayed copy, without an open assignment, and without a
-- result that nobody has collected.
SELECT m.id FROM message m WHERE m.id > :after AND m.id < :keep AND m.at < :before
	AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id AND d.state IN {delivery_state.open})
	AND NOT EXISTS (SELECT 1 FROM delayed d WHERE d.message = m.id)
	AND NOT EXISTS (SELECT 1 FROM assignment x WHERE x.message = m.id
		AND (x.state IN {assignment_state.open} OR EXISTS (SELECT 1 FROM result r
			WHERE r.message = m.id AND r.collected_at IS NULL)))
ORDER BY m.id LIMIT :limit;

-- name: message_last
SELECT coalesce(max(id), 0) AS id FROM message;

-- name: gc_result
DELETE FROM result WHERE message = :message;

-- name: gc_assignment
DELETE FROM assignment WHERE message = :message;

-- name: gc_deliveries
DELETE FROM delivery WHERE message = :message;

-- name: gc_message
DELETE FROM message WHERE id = :message;

-- name: gc_replay
-- Idempotency keys are kept for a day.
-- scan ok: a slice in the background
DELETE FROM replay WHERE (key, caller) IN (SELECT key, caller FROM replay
	WHERE at < :before LIMIT :limit);

-- name: changes_since
-- text: actor_name
-- Changes of a team's agents and tasks after the event :after, newest first: changes of an agent's
-- status or name, and of a task's state, holder or assignee. The return of an offline agent is left
-- out. Looks at most at the newest :looks events.
-- scan ok: backwards over the events since a wait began; :looks limits how far
SELECT e.kind, e.actor, e.subject, e.target, e.detail, a.name AS actor_name
FROM event e LEFT JOIN agent a ON a.id = e.actor
WHERE e.seq > :after AND e.seq > (SELECT max(x.seq) FROM event x) - :looks
	AND e.team = :team
	AND (e.kind = {event.agent_status} AND coalesce(e.target, 0) <> e.subject
		OR e.kind = {event.agent_updated} AND e.detail IS NOT NULL
		OR e.kind IN {event.task_created task_ready task_claimed task_started}
		OR e.kind IN {event.task_blocked task_unblocked task_assigned}
		OR e.kind IN {event.task_completed task_failed task_cancelled task_released}
		OR e.kind IN {event.task_lapsed task_retried task_reopened})
ORDER BY e.seq DESC LIMIT :limit;
