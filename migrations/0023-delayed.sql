-- Copies of messages that come into an inbox later, since they were sent too soon behind others.
-- Until then they are in no inbox.
CREATE TABLE delayed (
	message INTEGER NOT NULL,
	agent INTEGER NOT NULL,
	due_at INTEGER NOT NULL,
	PRIMARY KEY (message, agent)
) STRICT, WITHOUT ROWID;
CREATE INDEX delayed_due ON delayed(due_at);
CREATE INDEX delayed_agent ON delayed(agent, due_at);

-- They were leases that nobody held.
INSERT INTO delayed (message, agent, due_at)
SELECT message, agent, due_at FROM delivery
WHERE state IN {delivery_state.open} AND state = {delivery_state.fetched} AND attempt = 0
	AND due_at IS NOT NULL;
UPDATE agent_inbox SET leased = leased - (SELECT count(*) FROM delayed d WHERE d.agent = agent_inbox.agent);
DELETE FROM delivery WHERE state IN {delivery_state.open} AND state = {delivery_state.fetched} AND attempt = 0
	AND due_at IS NOT NULL;

CREATE INDEX agent_holder ON agent(holder) WHERE holder IS NOT NULL AND gone = 0;

-- Messages with their recipients, also those that have not come yet.
DROP VIEW envelope;
CREATE VIEW envelope AS
SELECT m.id, m.team, m.sender, m.at, m.urgent, m.to_all, m.ack_required, m.type,
	m.content, m.thread, m.reply_to, m.metadata, m.abroad, p.at AS reply_at,
	CASE m.abroad WHEN 0 THEN a.name
		ELSE (SELECT t.name || '/' || a.name FROM team t WHERE t.id = a.team) END AS name,
	(SELECT CASE m.abroad WHEN 0 THEN r.name
		ELSE (SELECT t.name || '/' || r.name FROM team t WHERE t.id = r.team) END
		FROM agent r
		WHERE r.id = coalesce((SELECT d.agent FROM delivery d WHERE d.message = m.id LIMIT 1),
			(SELECT d.agent FROM delayed d WHERE d.message = m.id LIMIT 1))) AS to_name
FROM message m JOIN agent a ON a.id = m.sender
LEFT JOIN message p ON p.id = m.reply_to;

CREATE VIEW v_delayed AS
SELECT t.name AS team, r.name AS agent, m.id AS seq, s.name AS sender,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.at / 1000.0, 'unixepoch') AS sent_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', d.due_at / 1000.0, 'unixepoch') AS due_at
FROM delayed d JOIN message m ON m.id = d.message JOIN agent s ON s.id = m.sender
JOIN agent r ON r.id = d.agent JOIN team t ON t.id = r.team;
