-- Limits: each agent's buckets, which limit its calls, and the recent messages from each sender
-- to each recipient.

-- name: rate_row
-- When an agent's bucket for a category of calls is full again.
SELECT full_at FROM rate WHERE agent = :agent AND category = :category;

-- name: rate_keep
-- Writes a bucket that was read in this transaction, or that the host keeps in memory.
INSERT INTO rate (agent, category, full_at) VALUES (:agent, :category, :full_at)
ON CONFLICT (agent, category) DO UPDATE SET full_at = excluded.full_at;

-- name: rate_clean
-- Deletes the rows of full buckets, since a full bucket needs no row.
-- scan ok: a few rows for each agent
DELETE FROM rate WHERE full_at < :now_us;

-- name: limit_agents
-- The members of a team, ordered by name, with the times at which their buckets are full.
-- int: plain creates execs messages
-- text: after
SELECT a.id, a.name,
	coalesce((SELECT r.full_at FROM rate r WHERE r.agent = a.id
		AND r.category = {rate_category.default}), 0) AS plain,
	coalesce((SELECT r.full_at FROM rate r WHERE r.agent = a.id
		AND r.category = {rate_category.create}), 0) AS creates,
	coalesce((SELECT r.full_at FROM rate r WHERE r.agent = a.id
		AND r.category = {rate_category.exec}), 0) AS execs,
	coalesce((SELECT r.full_at FROM rate r WHERE r.agent = a.id
		AND r.category = {rate_category.team_message}), 0) AS messages
FROM agent a
WHERE a.team = :team AND a.gone = 0 AND a.kind = {agent_kind.member}
	AND (:agent = 0 OR a.id = :agent) AND (:after IS NULL OR a.name > :after)
ORDER BY a.name LIMIT :limit;

-- name: pair_last
-- The message with the latest `due_at` that a sender has sent to a recipient.
SELECT due_at, level FROM pair_sent
WHERE sender = :sender AND recipient = :recipient ORDER BY due_at DESC LIMIT 1;

-- name: pair_before
-- Sorts a pair's messages by `due_at`, latest first, skips :skip messages, and returns the next
-- message.
SELECT due_at FROM pair_sent
WHERE sender = :sender AND recipient = :recipient
ORDER BY due_at DESC LIMIT 1 OFFSET :skip;

-- name: pair_add
INSERT INTO pair_sent (sender, recipient, due_at, asked_at, level)
VALUES (:sender, :recipient, :due_at, :now, :level);

-- name: pair_forget
-- late
-- A message no longer limits its pair if the message was due more than a minute ago. A
-- message with a sending time in the future also does not limit its pair, since such a time
-- means that the clock was put back.
DELETE FROM pair_sent
WHERE sender = :sender AND recipient = :recipient AND (due_at < :before OR asked_at > :now);

-- name: pair_used
-- text: to_name
-- int: sent
-- For each recipient, counts how many of an agent's messages are still delayed or were due in
-- the last minute.
-- scan ok: a few rows for each pair
SELECT p.recipient,
	CASE WHEN r.team = s.team THEN r.name
		ELSE (SELECT t.name FROM team t WHERE t.id = r.team) || '/' || r.name END
		AS to_name,
	count(*) AS sent
FROM agent s JOIN pair_sent p ON p.sender = s.id JOIN agent r ON r.id = p.recipient
WHERE s.id = :agent AND p.due_at > :since
GROUP BY p.recipient, r.name, r.team, s.team
ORDER BY r.name;

-- name: pair_clean
-- scan ok: a few rows for each pair
DELETE FROM pair_sent WHERE due_at < :before;
