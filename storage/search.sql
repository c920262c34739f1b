-- The rows from which the search index is made, and the rows of its hits. The index is in a
-- database of its own, search.db, whose statements are in storage/search/index.sql.

-- name: search_head
-- always
-- scan ok: the first and the last keys
-- The last row number of each table. A complete index has all rows up to the last row number of
-- each table.
SELECT s.incarnation, (SELECT coalesce(max(seq), 0) FROM event) AS newest,
	(SELECT coalesce(min(seq), 1) FROM event) AS oldest,
	(SELECT coalesce(max(id), 0) FROM message) AS last_message,
	(SELECT coalesce(max(id), 0) FROM task_note) AS last_note,
	(SELECT coalesce(max(id), 0) FROM task) AS last_task
FROM state s WHERE s.one = 1;

-- name: search_messages
-- row: search_fed
-- text: body
-- The next rows to add to the index. The index needs the rows in descending order (see
-- schema.sql). The environment of a command is left out. So only the label and the text of a
-- command can be found.
SELECT m.id, m.team, m.sender, m.to_all,
	CASE WHEN x.message IS NULL THEN m.content
		ELSE x.label || '
' || x.command END AS body
FROM message m LEFT JOIN assignment x ON x.message = m.id
WHERE m.id > :after AND m.id <= (SELECT max(id) FROM (SELECT id FROM message
	WHERE id > :after AND id <= :upto ORDER BY id LIMIT :limit) next)
ORDER BY m.id DESC;

-- name: search_recipients
SELECT agent FROM delivery WHERE message = :message
UNION ALL SELECT agent FROM delayed WHERE message = :message;

-- name: search_notes
-- row: search_fed
-- text: body
SELECT n.id, k.team, 0 AS sender, 0 AS to_all, n.text AS body FROM task_note n JOIN task k ON k.id = n.task
WHERE n.id > :after AND n.id <= (SELECT max(id) FROM (SELECT id FROM task_note
	WHERE id > :after AND id <= :upto ORDER BY id LIMIT :limit) next)
ORDER BY n.id DESC;

-- name: search_tasks
-- row: search_fed
-- text: body
SELECT id, team, 0 AS sender, 0 AS to_all, title || '
' || description || '
' || coalesce(result, '')
	AS body
FROM task WHERE id > :after AND id <= (SELECT max(id) FROM (SELECT id FROM task
	WHERE id > :after AND id <= :upto ORDER BY id LIMIT :limit) next)
ORDER BY id DESC;

-- name: search_task
-- row: search_fed
-- text: body
SELECT id, team, 0 AS sender, 0 AS to_all, title || '
' || description || '
' || coalesce(result, '')
	AS body
FROM task WHERE id = :id;

-- name: search_task_events
-- Events that may have changed a task's text, and events that removed a message's text.
SELECT seq, subject, CAST(kind = {event.message_redacted} AS INTEGER) AS redacted FROM event
WHERE seq > :after AND seq <= :upto AND (kind = {event.message_redacted}
	OR (kind BETWEEN {events.task} AND kind NOT IN {event.task_noted task_ticked}))
ORDER BY seq LIMIT :limit;

-- name: search_message_hit
-- text: body
-- The message, if its team is :team and if :agent sent or got the message. A :team or an :agent
-- of 0 means any team or any agent.
SELECT m.id, m.at, a.name, CASE WHEN x.message IS NULL THEN m.content
	ELSE x.label || '
' || x.command END AS body
FROM message m JOIN agent a ON a.id = m.sender
LEFT JOIN assignment x ON x.message = m.id
WHERE m.id = :id AND (:team = 0 OR m.team = :team)
	AND (:agent = 0 OR m.sender = :agent OR EXISTS (SELECT 1 FROM delivery d
		WHERE d.message = m.id AND d.agent = :agent));

-- name: search_task_hit
-- row: search_numbered
-- text: body
SELECT k.number, k.created_at AS at, a.name, k.title,
	k.description || '
' || coalesce(k.result, '') AS body
FROM task k JOIN agent a ON a.id = k.created_by
WHERE k.id = :id AND (:team = 0 OR k.team = :team);

-- name: search_note_hit
-- row: search_numbered
-- text: body
SELECT k.number, n.at, a.name, k.title, n.text AS body
FROM task_note n JOIN task k ON k.id = n.task JOIN agent a ON a.id = n.agent
WHERE n.id = :id AND (:team = 0 OR k.team = :team);
