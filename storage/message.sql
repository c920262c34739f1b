-- Messages, deliveries and inboxes.

-- name: message_new_id
-- row: new_id
SELECT coalesce(max(id), 0) + 1 AS id FROM message;

-- name: message_add
-- late
INSERT INTO message (id, team, sender, at, urgent, to_all, ack_required, type, content,
	thread, reply_to, expires_at, metadata, abroad, chain)
VALUES (:id, :team, :sender, :now, :urgent, :to_all, :ack_required, :type, :content,
	:thread, nullif(:reply_to, 0), nullif(:expires_at, 0), :metadata, :abroad, :chain);

-- name: message_newest
SELECT coalesce(max(id), 0) AS id FROM message;

-- name: message_from
-- The first message whose number is :id or more.
SELECT id, team, at FROM message WHERE id >= :id ORDER BY id LIMIT 1;

-- name: message_head
-- The columns of a message that are needed for a reply to the message, or for its receipt.
SELECT id, team, sender, at, thread, type, abroad, redacted_at FROM message WHERE id = :id;

-- name: message_came
-- Returns a row if the message comes from another team and an agent of the team :team has a
-- copy.
SELECT 1 AS so FROM message m JOIN delivery d ON d.message = m.id JOIN agent a ON a.id = d.agent
WHERE m.id = :message AND m.abroad <> 0 AND a.team = :team LIMIT 1;

-- name: message_redact
-- A message loses its text only once.  A later redaction does not overwrite the name of the
-- first redactor.
UPDATE message SET content = :content, metadata = NULL, redacted_at = :now
WHERE id = :id AND redacted_at IS NULL;

-- name: deliveries_read
-- Counts the copies of a message that were handed out at least once. A text that was read
-- cannot be taken back.
SELECT count(*) AS n FROM delivery WHERE message = :message AND attempt > 0;

-- name: delivery_add
-- late
-- If an acknowledgement is awaited, `owed_team` and `owed_to` name the team and the agent
-- that wait for the acknowledgement.
INSERT INTO delivery (message, agent, lane, state, due_at, ack_due_at, owed_team, owed_to)
VALUES (:message, :agent, :lane, {delivery_state.queued}, nullif(:expires_at, 0), nullif(:ack_due_at, 0),
	:owed_team, :owed_to);

-- name: delivery_add_all
-- A broadcast reaches every living member except :sender and the observers, who read no inbox
-- (see who_observes). All other statements for broadcasts choose the members by the condition
-- that delivery_add_all has.
INSERT INTO delivery (message, agent, lane, state, due_at, ack_due_at, owed_team, owed_to)
SELECT :message, id, :lane, {delivery_state.queued}, nullif(:expires_at, 0), nullif(:ack_due_at, 0),
	:owed_team, :owed_to FROM agent
WHERE team = :team AND gone = 0 AND kind = {agent_kind.member} AND id <> :sender
	AND (role <> 'observer' OR name = 'lead');

-- name: delayed_add
-- late
-- Stores a copy that enters the recipient's inbox at `due_at`.
INSERT INTO delayed (message, agent, due_at) VALUES (:message, :agent, :due_at);

-- name: delayed_due
-- int: from_team
-- Delayed copies that are due by now, in the order of `due_at`. An :agent of 0 means the copies
-- of every recipient.
SELECT d.message, d.agent, d.due_at, m.urgent, m.ack_required, m.expires_at, m.team AS from_team,
	m.sender, a.team, t.inbox_capacity
FROM delayed d JOIN message m ON m.id = d.message JOIN agent a ON a.id = d.agent
JOIN team t ON t.id = a.team
WHERE d.due_at <= :now AND (:agent = 0 OR d.agent = :agent)
ORDER BY d.due_at, d.message LIMIT :limit;

-- name: delayed_of
-- Counts an agent's delayed copies that are due by now, are in no inbox yet, and have not
-- expired.
SELECT count(*) AS n FROM delayed d JOIN message m ON m.id = d.message
WHERE d.agent = :agent AND d.due_at <= :now AND (m.expires_at IS NULL OR m.expires_at > :now);

-- name: delayed_deliver
-- A delayed copy enters the inbox.  Nothing is added if the recipient already has the message
-- from a member whose mail the recipient took over.
INSERT INTO delivery (message, agent, lane, state, due_at, ack_due_at, owed_team, owed_to)
VALUES (:message, :agent, :lane, {delivery_state.queued}, nullif(:expires_at, 0), nullif(:ack_due_at, 0),
	:owed_team, :owed_to)
ON CONFLICT (message, agent) DO NOTHING;

-- name: delayed_drop
-- Removes a message's copy for one agent from the table of delayed copies.
DELETE FROM delayed WHERE message = :message AND agent = :agent;

-- name: delayed_move
-- int: to
-- Moves the delayed messages of a leaving member to another member, who gets each message at
-- the time for which the message was delayed. A message is not moved if the member :to already
-- has a copy.
UPDATE delayed SET agent = :to
WHERE agent = :agent
	AND NOT EXISTS (SELECT 1 FROM delayed o WHERE o.message = delayed.message AND o.agent = :to)
	AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = delayed.message AND d.agent = :to);

-- name: delayed_give_up
-- scan ok: delayed messages, few
-- All delayed messages for an agent, or for a whole team, enter the inboxes now. From then on,
-- these messages are treated like all other mail.
INSERT INTO delivery (message, agent, lane, state)
SELECT d.message, d.agent, CASE m.urgent WHEN 0 THEN {delivery_lane.normal} ELSE {delivery_lane.urgent} END,
	{delivery_state.queued}
FROM delayed d JOIN message m ON m.id = d.message JOIN agent a ON a.id = d.agent
WHERE (d.agent = :agent OR a.team = :team)
	AND NOT EXISTS (SELECT 1 FROM delivery o WHERE o.message = d.message AND o.agent = d.agent);

-- name: delayed_given_up
-- scan ok: agents, few
DELETE FROM delayed
WHERE agent = :agent OR agent IN (SELECT id FROM agent WHERE team = :team);

-- name: inbox_count
-- late
-- Counts a message in the inbox of its recipient.
UPDATE agent_inbox SET queued = queued + 1 WHERE agent = :agent;

-- name: inbox_count_all
-- Counts a broadcast in each inbox that has room. A full inbox drops a message to make room, so
-- that the inbox's count stays the same.
UPDATE agent_inbox SET queued = queued + 1
WHERE agent IN (SELECT id FROM agent
		WHERE team = :team AND gone = 0 AND kind = {agent_kind.member} AND id <> :sender
			AND (role <> 'observer' OR name = 'lead'))
	AND (:inbox_capacity = 0 OR queued < :inbox_capacity);

-- name: inbox_full_due
-- Inboxes that may be full, and that contain expired messages or messages whose lease has
-- ended.
SELECT a.id FROM agent a JOIN agent_inbox i ON i.agent = a.id
WHERE a.team = :team AND a.gone = 0 AND a.kind = {agent_kind.member} AND a.id <> :sender
	AND (a.role <> 'observer' OR a.name = 'lead')
	AND i.queued + i.leased >= :inbox_capacity
	AND EXISTS (SELECT 1 FROM inbox_due u WHERE +u.agent = a.id AND u.due_at <= :now);

-- name: inbox_drop_all
-- For each full inbox, writes an event about the message that the inbox drops to make room for
-- a broadcast. The dropped message is the message that inbox_oldest would find.
INSERT INTO event (seq, at, kind, team, actor, via, subject, target)
SELECT (SELECT coalesce(max(seq), 0) FROM event) + row_number() OVER (), :now, :kind, :team, :actor, :via, coalesce((SELECT d.message FROM delivery d
	WHERE d.agent = a.id AND d.lane = {delivery_lane.normal} AND d.state IN {delivery_state.open} AND d.state <> {delivery_state.fetched}
	ORDER BY d.message LIMIT 1), (SELECT d.message FROM delivery d
	WHERE d.agent = a.id AND d.lane = {delivery_lane.urgent} AND d.state IN {delivery_state.open} AND d.state <> {delivery_state.fetched}
	ORDER BY d.message LIMIT 1)), a.id
FROM agent a JOIN agent_inbox i ON i.agent = a.id
WHERE a.team = :team AND a.gone = 0 AND a.kind = {agent_kind.member} AND a.id <> :sender
	AND (a.role <> 'observer' OR a.name = 'lead')
	AND i.queued >= :inbox_capacity
RETURNING seq, subject AS message, target AS agent;

-- name: delivery_drop_all
-- Drops the copies that the events of inbox_drop_all name. Events of other writers may lie
-- between these events. If such an event names a copy, the copy is already dropped.
UPDATE delivery SET state = {delivery_state.dropped}, due_at = NULL, done_at = :now
WHERE (message, agent) IN (SELECT subject, target FROM event
	WHERE seq BETWEEN :first AND :last AND team = :team AND kind = :kind)
	AND state IN {delivery_state.waiting};

-- name: inbox_over
-- Inboxes that hold more messages than their capacity.
SELECT a.id FROM agent a JOIN agent_inbox i ON i.agent = a.id
WHERE a.team = :team AND a.gone = 0 AND a.kind = {agent_kind.member} AND i.queued > :inbox_capacity;

-- name: inbox_oldest
-- Finds the message that a full inbox drops, which is the inbox's oldest normal message.
-- Without a normal message, the inbox drops its oldest urgent message. A message under a lease
-- is not in the inbox, and is not dropped. Two searches along the index are needed, since a
-- single search would have to sort the whole inbox.
SELECT coalesce((SELECT d.message FROM delivery d
	WHERE d.agent = :agent AND d.lane = {delivery_lane.normal} AND d.state IN {delivery_state.open} AND d.state <> {delivery_state.fetched}
	ORDER BY d.message LIMIT 1), (SELECT d.message FROM delivery d
	WHERE d.agent = :agent AND d.lane = {delivery_lane.urgent} AND d.state IN {delivery_state.open} AND d.state <> {delivery_state.fetched}
	ORDER BY d.message LIMIT 1)) AS message;

-- name: inbox_since
-- The time at which the oldest open message of an inbox was sent: 0 if no message is open.
SELECT coalesce(min(m.at), 0) AS at
FROM (SELECT {delivery_lane.urgent} AS lane UNION ALL SELECT {delivery_lane.normal}) l
JOIN message m ON m.id = (SELECT d.message FROM delivery d
	WHERE d.agent = :agent AND d.lane = l.lane AND d.state IN {delivery_state.open}
	ORDER BY d.message LIMIT 1);

-- name: delivery_drop
UPDATE delivery SET state = {delivery_state.dropped}, due_at = NULL, done_at = :now
WHERE message = :message AND agent = :agent AND state IN {delivery_state.waiting};

-- name: inbox_state
-- The counters of an inbox.
SELECT queued, leased, assignments, collected_at FROM agent_inbox WHERE agent = :agent;

-- name: inbox_opened
-- row: inbox_opened
-- int: came
-- The counters of an inbox that is about to be read, and whether a delayed message is due by
-- now.
SELECT queued, leased, assignments, collected_at,
	EXISTS (SELECT 1 FROM delayed d WHERE d.agent = :agent AND d.due_at <= :now) AS came
FROM agent_inbox WHERE agent = :agent;

-- name: inbox_less
-- late
UPDATE agent_inbox SET queued = queued - :queued, leased = leased - :leased
WHERE agent = :agent;

-- name: inbox_lapsed
-- row: inbox_lapsed
-- Leases of an agent's inbox that have ended, and waiting messages that have expired. Few rows
-- are due, so a search over the due rows is cheaper than a search over the inbox.
SELECT d.message, d.agent, d.lane, d.state, d.after_lapse, m.team, m.expires_at
FROM delivery d JOIN message m ON m.id = d.message
WHERE +d.agent = :agent AND d.state IN {delivery_state.open} AND d.due_at <= :now;

-- name: inbox_overdue
-- int: queued leased
-- Counts an inbox's ended leases and expired messages whose rows do not show the end yet.
-- `queued`: the number that must be added to the inbox's counter `queued`, which may be
-- negative. `leased`: how many leases have ended.
SELECT coalesce(sum(CAST(until > :now AS INTEGER) - waits), 0) AS queued,
	coalesce(sum(held), 0) AS leased
FROM inbox_due WHERE +agent = :agent AND due_at <= :now;

-- name: delivery_due
-- row: inbox_lapsed
-- Deliveries whose lease has ended or whose message has expired, oldest first.
SELECT d.message, d.agent, d.lane, d.state, d.after_lapse, m.team, m.expires_at
FROM delivery d JOIN message m ON m.id = d.message
WHERE d.due_at IS NOT NULL AND d.state IN {delivery_state.open} AND d.due_at <= :now
ORDER BY d.due_at NULLS FIRST LIMIT :limit;

-- name: delivery_requeue
-- When a lease has ended, the message waits again, and expires at its old time. While the
-- message waits again, `request` is the negated number of the request that handed the message
-- out last. Until the message is handed out again, delivery_take, delivery_shown and
-- inbox_ack_session can still acknowledge the last hand-out.
UPDATE delivery SET state = {delivery_state.queued}, due_at = nullif(:expires_at, 0), request = -request
WHERE message = :message AND agent = :agent AND state = {delivery_state.fetched};

-- name: delivery_end
-- The message leaves the inbox for good, with :state as its last state.
UPDATE delivery SET state = :state, due_at = NULL, done_at = :now
WHERE message = :message AND agent = :agent AND state IN {delivery_state.open};

-- name: inbox_requeued
UPDATE agent_inbox SET queued = queued + 1, leased = leased - 1 WHERE agent = :agent;

-- name: inbox_urgent
-- How many urgent messages inbox_next would hand out, plus how many urgent delayed messages are
-- due by now. At most :most messages of each of the two groups are counted.
SELECT (SELECT count(*) FROM (SELECT message FROM inbox
	WHERE agent = :agent AND lane = {delivery_lane.urgent} AND state IN {delivery_state.open}
		AND (state IN {delivery_state.waiting} AND (due_at IS NULL OR due_at > :now)
			OR state = {delivery_state.fetched} AND due_at <= :now AND after_lapse = {delivery_state.queued}
				AND (expires_at IS NULL OR expires_at > :now)) LIMIT :most) x)
	+ (SELECT count(*) FROM (SELECT y.message FROM delayed y JOIN message m ON m.id = y.message
		WHERE y.agent = :agent AND y.due_at <= :now AND m.urgent <> 0
			AND (m.expires_at IS NULL OR m.expires_at > :now) LIMIT :most) z) AS n;

-- name: notice_waits
-- Whether a notice of the kind :type still waits in the inbox of a team's operator.
SELECT EXISTS (SELECT 1 FROM inbox WHERE agent = (SELECT id FROM agent
		WHERE team = :team AND name = 'operator' AND gone = 0)
	AND lane IN {delivery_lane.mail} AND state IN {delivery_state.open}
	AND state IN {delivery_state.waiting} AND type = :type) AS so;

-- name: inbox_next
-- row: inbox
-- text: sender_name
-- The messages to hand out next. Urgent messages come first, and messages of equal urgency are
-- ordered by number. A lease ends, and a message expires, at the exact time, even if the row
-- does not show the end yet. When the last allowed lease ends, the message is dead.
SELECT message, lane, state, attempt, sender, at, ack_required, type, content, thread,
	reply_to, metadata, sender_name, reply_at, due_at, chain, session,
	abs(request) AS request, seen
FROM inbox
WHERE agent = :agent AND lane IN {delivery_lane.mail} AND state IN {delivery_state.open}
	AND (state IN {delivery_state.waiting} AND (due_at IS NULL OR due_at > :now)
		OR state = {delivery_state.fetched} AND due_at <= :now AND after_lapse = {delivery_state.queued}
			AND (expires_at IS NULL OR expires_at > :now))
ORDER BY lane, message LIMIT :limit;

-- name: inbox_came
-- row: inbox
-- text: sender_name
-- Delayed messages that are due by now and are in no inbox yet, in the form in which the
-- messages will be handed out.
SELECT d.message, CASE m.urgent WHEN 0 THEN {delivery_lane.normal} ELSE {delivery_lane.urgent} END AS lane,
	{delivery_state.queued} AS state, 0 AS attempt, m.sender, m.at, m.ack_required, m.type,
	m.content, m.thread, m.reply_to, m.metadata,
	CASE m.abroad WHEN 0 THEN a.name
		ELSE (SELECT t.name || '/' || a.name FROM team t WHERE t.id = a.team) END AS sender_name,
	p.at AS reply_at, d.due_at, m.chain, 0 AS session, 0 AS request, 0 AS seen
FROM delayed d JOIN message m ON m.id = d.message JOIN agent a ON a.id = m.sender
LEFT JOIN message p ON p.id = m.reply_to
WHERE d.agent = :agent AND d.due_at <= :now AND (m.expires_at IS NULL OR m.expires_at > :now)
ORDER BY d.due_at, d.message LIMIT :limit;

-- name: inbox_held
-- row: inbox
-- text: sender_name
-- Messages that a request still holds under a lease.
SELECT message, lane, state, attempt, sender, at, ack_required, type, content, thread,
	reply_to, metadata, sender_name, reply_at, due_at, chain, session,
	abs(request) AS request, seen
FROM inbox
WHERE agent = :agent AND lane IN {delivery_lane.mail} AND state IN {delivery_state.open} AND state = {delivery_state.fetched}
	AND request = :request AND due_at > :now
ORDER BY lane, message LIMIT :limit;

-- name: inbox_unseen
-- row: inbox
-- text: sender_name
-- Messages that a session holds, while no answer with these messages is known to have arrived.
-- A session keeps a message until the message's lease ends, even if several answers with the
-- message were lost. Without :often, only messages that were handed out fewer than :most times
-- are listed, in order. With :often, only messages that were handed out at least :most times
-- are listed, messages with the fewest hand-outs first.
SELECT message, lane, state, attempt, sender, at, ack_required, type, content, thread,
	reply_to, metadata, sender_name, reply_at, due_at, chain, session,
	abs(request) AS request, seen
FROM inbox
WHERE agent = :agent AND lane IN {delivery_lane.mail} AND state IN {delivery_state.open} AND state = {delivery_state.fetched}
	AND session = :session AND seen = 0 AND due_at > :now
	AND CAST(attempt >= :most AS INTEGER) = :often
ORDER BY CASE WHEN :often <> 0 THEN attempt ELSE 0 END, lane, message
LIMIT :limit;

-- name: delivery_seen
-- Marks the messages of a request whose answer has arrived. The marked messages may be
-- acknowledged, even after the leases of the messages have ended.
UPDATE delivery SET seen = 1
WHERE agent = :agent AND lane IN {delivery_lane.mail} AND state IN {delivery_state.open} AND request IN (:request, -:request);

-- name: delivery_take
-- int: late
-- Acknowledges the messages of a request that takes messages for good. The request's answer has
-- arrived. `late`: the message's lease had already ended.
UPDATE delivery SET state = {delivery_state.acked}, due_at = NULL, done_at = :now
WHERE agent = :agent AND lane IN {delivery_lane.mail} AND state IN {delivery_state.open} AND request IN (:request, -:request)
RETURNING message, request < 0 AS late;

-- name: delivery_unhand
-- The answer to a request probably reached nobody, so the request's messages wait again.  The
-- hand-out counts as an attempt only if the answer was `sent`, since a sent answer may have
-- been seen.
UPDATE delivery SET state = {delivery_state.queued}, attempt = attempt - CAST(:sent = 0 AS INTEGER), after_lapse = {delivery_state.queued},
	due_at = (SELECT m.expires_at FROM message m WHERE m.id = message),
	session = NULL, request = NULL,
	fetched_at = CASE WHEN :sent <> 0 OR attempt > 1 THEN fetched_at END
WHERE agent = :agent AND lane IN {delivery_lane.mail} AND state IN {delivery_state.open} AND state = {delivery_state.fetched} AND request = :request
	AND seen = 0
RETURNING message;

-- name: delivery_fetch
-- late
-- Hands a message out under a lease, or for good if :lease_until is 0.
UPDATE delivery SET state = CASE WHEN :lease_until = 0 THEN {delivery_state.acked} ELSE {delivery_state.fetched} END,
	attempt = attempt + 1,
	after_lapse = CASE WHEN attempt + 1 >= :max_attempts THEN {delivery_state.dead} ELSE {delivery_state.queued} END, due_at = nullif(:lease_until, 0), session = :session,
	request = nullif(:request, 0), fetched_at = :now, seen = 0, shown_at = NULL,
	done_at = CASE WHEN :lease_until = 0 THEN :now END
WHERE message = :message AND agent = :agent AND state IN {delivery_state.open};

-- name: inbox_fetched
-- late
UPDATE agent_inbox SET queued = queued - :n, leased = leased + :leased
WHERE agent = :agent;

-- name: inbox_ack_session
-- int: late
-- A session's next receive acknowledges each message that the session was handed earlier, if
-- the message is known to have arrived. :arrived is a request whose answer has arrived
-- according to the caller. `late`: the message's lease has ended, and the message waits again.
UPDATE delivery SET state = {delivery_state.acked}, due_at = NULL, done_at = :now
WHERE agent = :agent AND lane IN {delivery_lane.mail} AND state IN {delivery_state.open} AND session = :session
	AND (seen = 1 OR request IN (:arrived, -:arrived))
RETURNING message, request < 0 AS late;

-- name: delivery_shown
-- int: late held
-- The messages of a hand-out are in the context of the recipient's model. So no message of the
-- hand-out is handed out again when its lease ends. If a copy asks for an acknowledgement, the
-- recipient holds the copy without a time limit. Such a hold ends when the recipient
-- acknowledges or answers the copy (delivery_ack), or gets a new generation (agent_unlease). A
-- copy that asks for no acknowledgement is finished. `late`: the lease had ended, and the
-- message waited again. `held` is computed from the state, since SQLite 3.40 computes IS NULL
-- wrongly in RETURNING.
UPDATE delivery SET state = CASE WHEN ack_due_at IS NULL THEN {delivery_state.acked} ELSE {delivery_state.fetched} END,
	due_at = NULL, shown_at = :now, seen = 1,
	done_at = CASE WHEN ack_due_at IS NULL THEN :now END
WHERE agent = :agent AND lane IN {delivery_lane.mail} AND state IN {delivery_state.open} AND request IN (:request, -:request)
	AND shown_at IS NULL
RETURNING message, CAST(request < 0 AS INTEGER) AS late,
	CAST(state = {delivery_state.fetched} AS INTEGER) AS held;

-- name: delivery_ack
-- A message can be acknowledged only while the recipient holds it. The recipient holds a
-- message while the message's lease runs. If the message was shown, the recipient holds the
-- message without a time limit.
UPDATE delivery SET state = {delivery_state.acked}, due_at = NULL, done_at = :now
WHERE message = :message AND agent = :agent AND state = {delivery_state.fetched} AND lane IN {delivery_lane.mail}
	AND (due_at IS NULL OR due_at > :now);

-- name: delivery_answer
-- An answer acknowledges the answered message, also a message that was seen without a receive, and a
-- message whose lease has ended. A message that is dead or expired stays so.
UPDATE delivery SET state = {delivery_state.acked}, due_at = NULL, done_at = :now
WHERE message = :message AND agent = :agent AND state IN {delivery_state.open} AND lane IN {delivery_lane.mail}
	AND (due_at IS NULL OR due_at > :now OR state = {delivery_state.fetched} AND after_lapse = {delivery_state.queued});

-- name: delivery_of
SELECT message, agent, lane, state, attempt, due_at, notified_at, fetched_at, done_at
FROM delivery WHERE message = :message AND agent = :agent;

-- name: deliveries
-- text: after address
-- The copies of a message, ordered by the recipient's name. A lease ends at its exact time,
-- even if the row does not show the end yet.
SELECT a.name, CASE :abroad WHEN 0 THEN a.name
		ELSE (SELECT t.name || '/' || a.name FROM team t WHERE t.id = a.team) END AS address, d.agent, d.attempt, d.notified_at, d.fetched_at, d.shown_at, d.done_at,
	CASE WHEN d.state IN {delivery_state.open} THEN d.ack_due_at END AS ack_due_at,
	CASE WHEN d.state NOT IN {delivery_state.open} OR d.due_at IS NULL OR d.due_at > :now THEN d.state
		WHEN d.state IN {delivery_state.waiting} THEN {delivery_state.expired}
		WHEN d.after_lapse = {delivery_state.dead} THEN {delivery_state.dead}
		WHEN (SELECT m.expires_at FROM message m WHERE m.id = d.message) <= :now
		THEN {delivery_state.expired} ELSE {delivery_state.queued} END AS state
FROM delivery d JOIN agent a ON a.id = d.agent
WHERE d.message = :message AND (:after IS NULL OR a.name > :after)
ORDER BY a.name LIMIT :limit;

-- name: deliveries_delayed
-- text: after address
-- The copies of a message that are still delayed, ordered by the recipient's name.
SELECT a.name, CASE :abroad WHEN 0 THEN a.name
		ELSE (SELECT t.name || '/' || a.name FROM team t WHERE t.id = a.team) END AS address, d.due_at
FROM delayed d JOIN agent a ON a.id = d.agent
WHERE d.message = :message AND (:after IS NULL OR a.name > :after)
ORDER BY a.name LIMIT :limit;

-- name: acks_overdue
-- text: sender_name to_name
-- Copies of a team's messages that should have been acknowledged by now, longest overdue first.
-- With :agent, only copies whose acknowledgement is owed to this agent are listed. A lease ends
-- at its exact time, even if the row does not show the end yet. An expired message needs no
-- acknowledgement, so its copies are not listed.
SELECT message, at, ack_due_at, attempt, content, sender_name, to_name,
	CASE WHEN state = {delivery_state.fetched} AND due_at <= :now THEN {delivery_state.queued} ELSE state END AS state_now,
	agent
FROM owed
WHERE :agent = 0 AND owed_team = :team AND ack_due_at <= :now
	AND (due_at IS NULL OR due_at > :now
	OR (state = {delivery_state.fetched} AND after_lapse = {delivery_state.queued}
		AND (expires_at IS NULL OR expires_at > :now)))
UNION ALL
SELECT message, at, ack_due_at, attempt, content, sender_name, to_name,
	CASE WHEN state = {delivery_state.fetched} AND due_at <= :now THEN {delivery_state.queued} ELSE state END AS state_now,
	agent
FROM owed
WHERE :agent <> 0 AND owed_to = :agent AND ack_due_at <= :now AND +owed_team = :team
	AND (due_at IS NULL OR due_at > :now
	OR (state = {delivery_state.fetched} AND after_lapse = {delivery_state.queued}
		AND (expires_at IS NULL OR expires_at > :now)))
ORDER BY ack_due_at, message, agent LIMIT :limit OFFSET :offset;

-- name: deliveries_count
-- Counts the copies of a message that are or were in inboxes.
SELECT count(*) AS n FROM delivery WHERE message = :message;

-- name: delayed_count
-- Counts the copies of a message that are still delayed.
SELECT count(*) AS n FROM delayed WHERE message = :message;

-- name: message_said
-- The last message that an agent has sent, among the newest 10,000 messages of the state.
SELECT id, at, to_all, content FROM message
WHERE id > (SELECT max(id) FROM message) - 10000 AND team = :team AND sender = :agent
	AND redacted_at IS NULL
ORDER BY id DESC LIMIT 1;

-- name: envelopes_thread
-- Lists a conversation, which is the messages of a thread that the agent :agent sent or got.
-- Only messages with a number above :after are listed. An :agent of 0 means every agent.
-- Messages from other teams are included.
-- row: envelope
-- text: name to_name
SELECT e.id, e.sender, e.at, e.urgent, e.to_all, e.ack_required, e.type, e.content, e.thread,
	e.reply_to, e.metadata, e.name, e.reply_at, e.to_name
FROM (SELECT m.id FROM message m
	WHERE m.team = :team AND m.thread = :thread AND m.id > :after
		AND (:agent = 0 OR m.sender = :agent OR EXISTS (SELECT 1 FROM delivery d
			WHERE d.message = m.id AND d.agent = :agent))
	UNION ALL SELECT m.id FROM message m
	WHERE m.abroad = 1 AND m.team <> :team AND m.thread = :thread AND m.id > :after
		AND EXISTS (SELECT 1 FROM delivery d JOIN agent r ON r.id = d.agent
			WHERE d.message = m.id AND +r.team = :team AND :agent IN (0, d.agent))
	ORDER BY 1 LIMIT :limit) x JOIN envelope e ON e.id = x.id
ORDER BY x.id;

-- name: envelope_one
-- row: envelope
-- text: name to_name
SELECT id, sender, at, urgent, to_all, ack_required, type, content, thread, reply_to,
	metadata, name, reply_at, to_name
FROM envelope
WHERE id = :id AND (team = :team OR (abroad <> 0 AND EXISTS (SELECT 1 FROM delivery d
		JOIN agent r ON r.id = d.agent WHERE d.message = envelope.id AND r.team = :team)))
	AND (:agent = 0 OR sender = :agent OR EXISTS (SELECT 1 FROM delivery d
		WHERE d.message = envelope.id AND d.agent = :agent));

-- name: message_copies
-- text: names
-- The names of a message's first 20 recipients, and of the first 100 copies how many there are,
-- wait, are held, and are acknowledged. `total` counts the copies in inboxes, unless :all is 1.
SELECT coalesce(group_concat(CASE WHEN k <= 20 THEN name END, ', '), '') AS names, count(*) AS n,
	count(*) FILTER (WHERE state IN {delivery_state.waiting}) AS queued,
	count(*) FILTER (WHERE state = {delivery_state.fetched}) AS held,
	count(*) FILTER (WHERE state = {delivery_state.acked}) AS acked,
	CASE :all WHEN 0 THEN (SELECT count(*) FROM delivery WHERE message = :message) ELSE 0 END AS total
FROM (SELECT row_number() OVER () AS k, c.state,
		CASE :abroad WHEN 0 THEN a.name
			ELSE (SELECT t.name || '/' || a.name FROM team t WHERE t.id = a.team) END AS name
	FROM (SELECT agent, state FROM delivery WHERE message = :message
		UNION ALL SELECT agent, {delivery_state.queued} FROM delayed WHERE message = :message
		LIMIT 100) c JOIN agent a ON a.id = c.agent) copies;

-- name: envelopes_before
-- Messages with a number below :before and not below :since, newest first. SQLite reads two
-- indexes backwards: the primary key, and an index of the messages that were sent to other
-- teams.
-- row: envelope
-- text: name to_name
SELECT e.id, e.sender, e.at, e.urgent, e.to_all, e.ack_required, e.type, e.content, e.thread,
	e.reply_to, e.metadata, e.name, e.reply_at, e.to_name
FROM (SELECT m.id FROM message m
	WHERE m.id < :before AND m.id >= :since AND m.team = :team
		AND (:agent = 0 OR m.sender = :agent OR EXISTS (SELECT 1 FROM delivery d
			WHERE d.message = m.id AND d.agent = :agent))
		AND (:other = 0 OR m.sender = :other OR EXISTS (SELECT 1 FROM delivery d
			WHERE d.message = m.id AND d.agent = :other)
			OR EXISTS (SELECT 1 FROM delayed y WHERE y.message = m.id AND y.agent = :other))
	UNION ALL SELECT m.id FROM message m
	WHERE m.abroad = 1 AND m.id < :before AND m.id >= :since AND m.team <> :team
		AND EXISTS (SELECT 1 FROM delivery d JOIN agent r ON r.id = d.agent
			WHERE d.message = m.id AND +r.team = :team AND :agent IN (0, d.agent))
		AND (:other = 0 OR m.sender = :other OR EXISTS (SELECT 1 FROM delivery d
			WHERE d.message = m.id AND d.agent = :other)
			OR EXISTS (SELECT 1 FROM delayed y WHERE y.message = m.id AND y.agent = :other))
	ORDER BY 1 DESC LIMIT :limit) x JOIN envelope e ON e.id = x.id
ORDER BY x.id DESC;

-- name: reply_of
-- The first answer to a message, among the answers that were delivered to :agent. `lapsed`:
-- whether the lease of the answer's delivery has ended.
SELECT m.id, d.state, d.state IN {delivery_state.open} AND d.due_at <= :now AS lapsed FROM message m JOIN delivery d ON d.message = m.id
WHERE m.reply_to = :message AND d.agent = :agent AND d.lane IN {delivery_lane.mail}
ORDER BY m.id LIMIT 1;

-- name: reply_free
-- The first message without `reply_to` that a recipient of a message has sent to :agent since,
-- if :agent has not settled it.
SELECT m.id, d.state, d.due_at <= :now AS lapsed FROM delivery d JOIN message m ON m.id = d.message
WHERE d.agent = :agent AND d.lane IN {delivery_lane.mail} AND d.state IN {delivery_state.open}
	AND d.message > :message AND m.reply_to IS NULL
	AND EXISTS (SELECT 1 FROM delivery q WHERE q.message = :message AND q.agent = m.sender)
ORDER BY m.id LIMIT 1;

-- name: message_asked
-- Whether one of the last 500 messages before :before went from :self to :sender.
SELECT EXISTS (SELECT 1 FROM (SELECT id, sender FROM message WHERE id < :before ORDER BY id DESC LIMIT 500) m
	JOIN delivery d ON d.message = m.id AND d.agent = :sender
	WHERE m.sender = :self) AS so;

-- name: delivery_notify
-- text: messages
-- The recipient's guest has taken the messages (an array of message numbers). Each listed
-- message that is still queued becomes notified.
UPDATE delivery SET state = {delivery_state.notified}, notified_at = :now
WHERE message IN (SELECT j.value FROM json_each(:messages) j) AND agent = :agent
	AND state = {delivery_state.queued}
RETURNING message;

-- name: delivery_told
-- Counts the messages with a number below :before that were sent to the guest and still wait.
-- The host sends messages in the order of their numbers. So no message below :before is still
-- queued, and the count need not skip queued rows.
-- Each lane has a count of its own, because `lane IN (...)` would build a table at each call.
SELECT (SELECT count(*) FROM delivery d WHERE d.agent = :agent
		AND d.lane = {delivery_lane.urgent} AND d.state IN {delivery_state.open}
		AND d.state = {delivery_state.notified} AND d.message < :before)
	+ (SELECT count(*) FROM delivery d WHERE d.agent = :agent
		AND d.lane = {delivery_lane.normal} AND d.state IN {delivery_state.open}
		AND d.state = {delivery_state.notified} AND d.message < :before) AS n;

-- name: delivery_pushes
-- text: sender_name
-- Deliveries that the host must send to a guest, in order. With `again`, texts that were sent
-- to an earlier guest are listed too. With `again`, assignments that were sent to an earlier
-- guest are listed if both guests use the same spool. With `assignments` only assignments are
-- listed. With `texts` no assignment is listed. For a stopped team no assignment is listed.
SELECT o.message, m.at, m.urgent, m.type, m.content, m.thread, m.reply_to, m.metadata,
	CASE m.abroad WHEN 0 THEN a.name
		ELSE (SELECT t.name || '/' || a.name FROM team t WHERE t.id = a.team) END AS sender_name,
	r.name AS to_name, CASE WHEN m.reply_to IS NOT NULL
		THEN (SELECT p.at FROM message p WHERE p.id = m.reply_to) END AS reply_at,
	x.label, x.command, x.workdir, x.env, x.timeout_s, x.offered
FROM (SELECT d.message, d.lane FROM delivery d
	WHERE d.agent = :agent AND d.lane = {delivery_lane.urgent} AND d.state IN {delivery_state.open}
		AND :assignments = 0 AND d.message > :after AND (d.due_at IS NULL OR d.due_at > :now)
		AND (d.state = {delivery_state.queued} OR (:again <> 0 AND d.state = {delivery_state.notified}))
	UNION ALL SELECT d.message, d.lane FROM delivery d
	WHERE d.agent = :agent AND d.lane = {delivery_lane.normal} AND d.state IN {delivery_state.open}
		AND :assignments = 0 AND d.message > :after AND (d.due_at IS NULL OR d.due_at > :now)
		AND (d.state = {delivery_state.queued} OR (:again <> 0 AND d.state = {delivery_state.notified}))
	UNION ALL SELECT d.message, d.lane FROM delivery d
	WHERE d.agent = :agent AND d.lane = {delivery_lane.assignment} AND d.state IN {delivery_state.open}
		AND :texts = 0 AND d.message > :after AND (d.due_at IS NULL OR d.due_at > :now)
		AND (d.state = {delivery_state.queued} OR (:again <> 0 AND d.state = {delivery_state.notified}))
		AND NOT EXISTS (SELECT 1 FROM agent g JOIN team s ON s.id = g.team
			WHERE g.id = d.agent AND s.stopped_at IS NOT NULL)
	ORDER BY 1 LIMIT :limit) o
JOIN message m ON m.id = o.message JOIN agent a ON a.id = m.sender JOIN agent r ON r.id = :agent
LEFT JOIN assignment x ON x.message = o.message AND o.lane = {delivery_lane.assignment}
ORDER BY o.message;
