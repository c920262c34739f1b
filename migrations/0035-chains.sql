-- Chains of turns: how many turns lie between a message, or the words of an agent, and the last
-- word of a person.
ALTER TABLE message ADD COLUMN chain INTEGER NOT NULL DEFAULT 0 CHECK (chain >= 0);
ALTER TABLE agent ADD COLUMN chain INTEGER NOT NULL DEFAULT 0 CHECK (chain >= 0);

-- Turns that an agent began since a person's last word, and within an hour from hour_at on; turns
-- in a row that mail stopped; and turns in a row that ended at the limit of the client's plan.
ALTER TABLE runner ADD COLUMN hour_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runner ADD COLUMN hour_turns INTEGER NOT NULL DEFAULT 0 CHECK (hour_turns >= 0);
ALTER TABLE runner ADD COLUMN stopped INTEGER NOT NULL DEFAULT 0 CHECK (stopped >= 0);
ALTER TABLE runner ADD COLUMN limited INTEGER NOT NULL DEFAULT 0 CHECK (limited >= 0);

CREATE INDEX agent_runner ON agent(team, id) WHERE gone = 0 AND runs = 1;

DROP VIEW inbox;
CREATE VIEW inbox AS
SELECT d.message, d.agent, d.lane, d.state, d.attempt, d.due_at, d.after_lapse,
	d.request, d.session, d.seen, m.sender, m.at, m.ack_required, m.type, m.content,
	m.thread, m.reply_to, m.metadata, m.expires_at, p.at AS reply_at,
	CASE m.abroad WHEN 0 THEN a.name
		ELSE (SELECT t.name || '/' || a.name FROM team t WHERE t.id = a.team) END
		AS sender_name, m.chain
FROM delivery d JOIN message m ON m.id = d.message JOIN agent a ON a.id = m.sender
LEFT JOIN message p ON p.id = m.reply_to;

DROP VIEW v_message;
CREATE VIEW v_message AS
SELECT m.id AS seq, t.name AS team, a.name AS sender,
	CASE WHEN m.to_all THEN '*' ELSE (SELECT group_concat(r.name, ' ')
		FROM delivery d JOIN agent r ON r.id = d.agent
		WHERE d.message = m.id) END AS recipients,
	m.type, CASE WHEN m.urgent THEN 'urgent' ELSE 'normal' END AS priority, m.thread,
	m.reply_to, m.content, m.metadata,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.at / 1000.0, 'unixepoch') AS sent_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', m.expires_at / 1000.0, 'unixepoch') AS expires_at,
	printf('%08x-%04x-7%03x-%04x-%012x', m.at >> 16, m.at & 65535, s.id_a,
		32768 | (1 << 10) | s.id_b,
		(((m.id + m.at * 2442737) & 281474976710655) | s.id_c)
		- (((m.id + m.at * 2442737) & 281474976710655) & s.id_c)) AS id,
	m.chain
FROM message m JOIN state s ON s.one = 1 JOIN team t ON t.id = m.team
JOIN agent a ON a.id = m.sender;
