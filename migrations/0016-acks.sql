-- When a message that is to be acknowledged is overdue, at the copy that is waited for:
-- so that what is overdue is found without a look at any other.

ALTER TABLE delivery ADD COLUMN ack_due_at INTEGER; -- NULL: none is asked for
CREATE INDEX delivery_owed ON delivery(ack_due_at)
	WHERE ack_due_at IS NOT NULL AND state IN {delivery_state.open};

-- Messages that were sent before this migration have an hour, the default of inbox.ack_seconds.
UPDATE delivery SET ack_due_at = (SELECT m.at + 3600000 FROM message m WHERE m.id = delivery.message)
WHERE state IN {delivery_state.open} AND lane IN {delivery_lane.mail}
	AND EXISTS (SELECT 1 FROM message m WHERE m.id = delivery.message AND m.ack_required <> 0);

-- Copies whose recipients were to acknowledge them and have not, longest first; a life
-- that is over owes nothing.
CREATE VIEW owed AS
SELECT d.message, d.agent, d.attempt, d.ack_due_at, d.state, d.due_at, d.after_lapse, m.team,
	m.sender, m.at, m.expires_at, m.content, a.name AS sender_name, r.name AS to_name
FROM delivery d JOIN message m ON m.id = d.message JOIN agent a ON a.id = m.sender
JOIN agent r ON r.id = d.agent
WHERE d.ack_due_at IS NOT NULL AND d.state IN {delivery_state.open};

CREATE VIEW v_overdue AS
SELECT t.name AS team, o.message AS seq, o.sender_name AS sender, o.to_name AS recipient,
	CASE WHEN o.state = {delivery_state.fetched} AND o.due_at > (SELECT ms FROM v_now) THEN 'fetched'
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
