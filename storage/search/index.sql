-- The index of the state's rows.  The statements that read rows for the index are in
-- ../search.sql.

-- name: index_begin
BEGIN IMMEDIATE;

-- name: index_commit
COMMIT;

-- name: index_rollback
ROLLBACK;

-- name: index_place
SELECT version, incarnation, boot, whole, event, message, note, task FROM place
WHERE one = 1;

-- name: index_advance
UPDATE place SET version = :version, incarnation = :incarnation, boot = :boot,
	whole = :whole, event = :event, message = :message, note = :note, task = :task
WHERE one = 1;

-- name: index_mark
UPDATE place SET boot = :boot WHERE one = 1;

-- name: index_touch
-- Changes no value, but makes the next checkpoint sync search.db.
UPDATE place SET boot = boot WHERE one = 1;

-- name: index_add_message
-- text: scope
INSERT INTO message_text(rowid, scope, body) VALUES (-:id, :scope, :body);

-- name: index_add_task
-- text: scope
INSERT INTO task_text(rowid, scope, body) VALUES (-:id, :scope, :body);

-- name: index_add_title
-- text: scope title
INSERT INTO title_text(rowid, scope, body) VALUES (-:id, :scope, :title);

-- name: index_add_note
-- text: scope
INSERT INTO note_text(rowid, scope, body) VALUES (-:id, :scope, :body);

-- name: index_find_message
-- row: index_hit
-- text: match
SELECT -rowid AS id FROM message_text WHERE message_text MATCH :match AND rowid > -:before
ORDER BY rowid LIMIT :limit;

-- name: index_find_title
-- row: index_hit
-- text: match
SELECT -rowid AS id FROM title_text WHERE title_text MATCH :match AND rowid > -:before
ORDER BY rowid LIMIT :limit;

-- name: index_find_task
-- row: index_hit
-- text: match
-- The tasks that match, but whose title alone does not match. If :untitled is 1, no title
-- matches, so SQLite does not look for titles.
SELECT -rowid AS id FROM task_text WHERE task_text MATCH :match AND rowid > -:before
	AND (:untitled = 1 OR rowid NOT IN (SELECT rowid FROM title_text WHERE title_text MATCH :match))
ORDER BY rowid LIMIT :limit;

-- name: index_find_note
-- row: index_hit
-- text: match
SELECT -rowid AS id FROM note_text WHERE note_text MATCH :match AND rowid > -:before
ORDER BY rowid LIMIT :limit;

-- name: index_merge_messages
-- Each transaction adds a part to the index, and a search looks into all parts. This statement
-- joins parts of a similar size, and writes up to 64 pages.
INSERT INTO message_text(message_text, rank) VALUES ('merge', 64);

-- name: index_merge_tasks
INSERT INTO task_text(task_text, rank) VALUES ('merge', 64);

-- name: index_merge_titles
INSERT INTO title_text(title_text, rank) VALUES ('merge', 64);

-- name: index_merge_notes
INSERT INTO note_text(note_text, rank) VALUES ('merge', 64);

-- name: index_old_task
SELECT body FROM task_body WHERE id = :id;

-- name: index_forget_task
-- text: scope
-- To remove a row from a contentless table, FTS5 must be given the row's contents.
INSERT INTO task_text(task_text, rowid, scope, body) VALUES ('delete', -:id, :scope, :body);

-- name: index_forget_title
-- text: scope title
INSERT INTO title_text(title_text, rowid, scope, body) VALUES ('delete', -:id, :scope, :title);

-- name: index_keep_task
INSERT OR REPLACE INTO task_body(id, team, body) VALUES (:id, :team, :body);

-- name: index_words
-- FTS5 writes the address of its API to the pointer that :api points to.
SELECT fts5(:api) AS words;
