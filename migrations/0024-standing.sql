-- A message that is held in a stopped team says no end of that, which stands still.
DROP VIEW v_inbox;
CREATE VIEW v_inbox AS
SELECT t.name AS team, r.name AS agent, m.id AS seq, a.name AS sender, m.type,
	CASE WHEN m.urgent THEN 'urgent' ELSE 'normal' END AS priority,
	CASE WHEN d.state = {delivery_state.fetched} AND d.due_at > (SELECT ms FROM v_now) THEN 'fetched'
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
