-- When a hook had put a copy into the context of its recipient's model.

ALTER TABLE delivery ADD COLUMN shown_at INTEGER; -- NULL: it has not

DROP VIEW v_delivery;
CREATE VIEW v_delivery AS
SELECT d.message AS seq, t.name AS team, a.name AS recipient,
	(SELECT word FROM word WHERE list = 'delivery_state' AND n = CASE
		WHEN d.state NOT IN {delivery_state.open} OR d.due_at IS NULL
			OR d.due_at > (SELECT ms FROM v_now) THEN d.state
		WHEN d.state IN {delivery_state.waiting} THEN {delivery_state.expired}
		WHEN d.after_lapse = {delivery_state.dead} THEN {delivery_state.dead}
		WHEN (SELECT m.expires_at FROM message m WHERE m.id = d.message)
			<= (SELECT ms FROM v_now) THEN {delivery_state.expired} ELSE {delivery_state.queued} END) AS state,
	d.attempt,
	strftime('%Y-%m-%dT%H:%M:%fZ', d.notified_at / 1000.0, 'unixepoch') AS notified_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', d.fetched_at / 1000.0, 'unixepoch') AS fetched_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', d.shown_at / 1000.0, 'unixepoch') AS shown_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', d.done_at / 1000.0, 'unixepoch') AS done_at
FROM delivery d JOIN agent a ON a.id = d.agent JOIN team t ON t.id = a.team;

-- What was shown and is to be acknowledged is held without an end.
DROP VIEW v_inbox;
CREATE VIEW v_inbox AS
SELECT t.name AS team, r.name AS agent, m.id AS seq, a.name AS sender, m.type,
	CASE WHEN m.urgent THEN 'urgent' ELSE 'normal' END AS priority,
	CASE WHEN d.state = {delivery_state.fetched}
		AND (d.due_at IS NULL OR d.due_at > (SELECT ms FROM v_now)) THEN 'fetched'
		WHEN d.state = {delivery_state.notified} THEN 'notified' ELSE 'queued' END AS state,
	d.attempt, m.content,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.at / 1000.0, 'unixepoch') AS sent_at,
	CASE WHEN d.state = {delivery_state.fetched} AND t.stopped_at IS NULL
		AND d.due_at > (SELECT ms FROM v_now)
		THEN strftime('%Y-%m-%dT%H:%M:%fZ', d.due_at / 1000.0, 'unixepoch') END
		AS lease_until
FROM delivery d JOIN message m ON m.id = d.message JOIN agent r ON r.id = d.agent
JOIN team t ON t.id = r.team JOIN agent a ON a.id = m.sender
WHERE d.state IN {delivery_state.open} AND (d.due_at IS NULL OR d.due_at > (SELECT ms FROM v_now)
	OR (d.state = {delivery_state.fetched} AND d.after_lapse = {delivery_state.queued}
		AND (m.expires_at IS NULL OR m.expires_at > (SELECT ms FROM v_now))))
ORDER BY t.name, r.name, d.lane, d.message;

DROP VIEW v_overdue;
CREATE VIEW v_overdue AS
SELECT t.name AS team, o.message AS seq, o.sender_name AS sender, o.to_name AS recipient,
	CASE WHEN o.state = {delivery_state.fetched}
		AND (o.due_at IS NULL OR o.due_at > (SELECT ms FROM v_now)) THEN 'fetched'
		WHEN o.state = {delivery_state.notified} THEN 'notified' ELSE 'queued' END AS state,
	o.attempt, o.content,
	strftime('%Y-%m-%dT%H:%M:%fZ', o.at / 1000.0, 'unixepoch') AS sent_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', o.ack_due_at / 1000.0, 'unixepoch') AS due_at
FROM owed o JOIN team t ON t.id = o.team
WHERE o.ack_due_at <= (SELECT ms FROM v_now)
	AND (o.due_at IS NULL OR o.due_at > (SELECT ms FROM v_now)
	OR (o.state = {delivery_state.fetched} AND o.after_lapse = {delivery_state.queued}
		AND (o.expires_at IS NULL OR o.expires_at > (SELECT ms FROM v_now))))
ORDER BY o.ack_due_at, o.message, o.agent;
