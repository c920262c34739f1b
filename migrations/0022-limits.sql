-- Limits: how often an agent may call, and how soon one may speak to another again.
CREATE TABLE rate (
	agent INTEGER NOT NULL,
	category INTEGER NOT NULL,
	full_at INTEGER NOT NULL, -- microseconds since 1970: when all calls are there again
	PRIMARY KEY (agent, category)
) STRICT, WITHOUT ROWID;

-- The messages of a pair of the last minute, and the last one.
CREATE TABLE pair_sent (
	sender INTEGER NOT NULL,
	recipient INTEGER NOT NULL,
	due_at INTEGER NOT NULL, -- when it was or is to be delivered
	asked_at INTEGER NOT NULL, -- when it was sent
	level INTEGER NOT NULL DEFAULT 0, -- so often the wait was doubled
	PRIMARY KEY (sender, recipient, due_at)
) STRICT, WITHOUT ROWID;
CREATE VIEW v_rate AS
SELECT t.name AS team, a.name AS agent,
	(SELECT word FROM word WHERE list = 'rate_category' AND n = r.category) AS category,
	strftime('%Y-%m-%dT%H:%M:%fZ', r.full_at / 1000000.0, 'unixepoch') AS full_at
FROM rate r JOIN agent a ON a.id = r.agent JOIN team t ON t.id = a.team
WHERE a.gone = 0 AND r.full_at > (SELECT ms FROM v_now) * 1000;

CREATE VIEW v_pair AS
SELECT t.name AS team, s.name AS sender, r.name AS recipient,
	strftime('%Y-%m-%dT%H:%M:%fZ', p.asked_at / 1000.0, 'unixepoch') AS sent_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', p.due_at / 1000.0, 'unixepoch') AS due_at
FROM pair_sent p JOIN agent s ON s.id = p.sender JOIN agent r ON r.id = p.recipient
JOIN team t ON t.id = s.team;
