-- The statements of a guest's spool (spool.h).

-- name: spool_begin
BEGIN IMMEDIATE;

-- name: spool_commit
COMMIT;

-- name: spool_rollback
ROLLBACK;

-- name: spool_self
SELECT workspace, identity, restores, seq FROM spool WHERE one = 1;

-- name: spool_self_set
INSERT OR REPLACE INTO spool (one, workspace, identity, restores, seq)
VALUES (1, :workspace, :identity, :restores, :seq);

-- name: spool_owner_set
UPDATE spool SET workspace = :workspace WHERE one = 1;

-- name: spool_count_on
-- If somebody wrote an older copy over the file, the file contains another number, so the
-- statement changes no row.
UPDATE spool SET seq = :seq + 1 WHERE one = 1 AND identity = :identity AND seq = :seq;

-- name: spool_known
SELECT at FROM had WHERE message_id = :message_id;

-- name: spool_note
INSERT OR IGNORE INTO had (message_id, at) VALUES (:message_id, :at);

-- name: spool_prune
-- scan ok: once, when the spool is opened
-- The spool may forget the ids of assignments that came before :before, since no host delivers
-- such old assignments again.
DELETE FROM had WHERE at < :before
	AND NOT EXISTS (SELECT 1 FROM assignment a WHERE a.message_id = had.message_id)
	AND NOT EXISTS (SELECT 1 FROM result r WHERE r.message_id = had.message_id);

-- name: spool_put
INSERT INTO assignment (message_id, content) VALUES (:message_id, :content);

-- name: spool_waiting
-- scan ok: the index of waiting assignments, whose number is limited
SELECT count(*) AS n FROM assignment WHERE started_at IS NULL;

-- name: spool_next
-- row: spool_assignment
-- scan ok: the first row of the index of waiting assignments
SELECT seq, message_id, content FROM assignment WHERE started_at IS NULL
ORDER BY seq LIMIT 1;

-- name: spool_start
UPDATE assignment SET started_at = :at, task_id = :task_id
WHERE message_id = :message_id AND started_at IS NULL;

-- name: spool_drop
-- Deletes a waiting assignment, and keeps an assignment that was started.
DELETE FROM assignment WHERE message_id = :message_id AND started_at IS NULL;

-- name: spool_forget
DELETE FROM assignment WHERE message_id = :message_id;

-- name: spool_finish
-- If the assignment has a result already, the new result is ignored.
INSERT OR IGNORE INTO result (message_id, task_id, success, exit_code, interrupted,
	elapsed_secs, out, err)
VALUES (:message_id, :task_id, :success, :exit_code, :interrupted, :elapsed_secs, :out, :err);

-- name: spool_interrupt
-- scan ok: once, when the spool is opened
-- Gives a failed result to each command that ran when the guest ended.
INSERT OR IGNORE INTO result (message_id, task_id, success, exit_code, interrupted,
	elapsed_secs, out, err)
SELECT message_id, task_id, 0, -1, 1, max(0, (:now - started_at) / 1000), '',
	'interrupted: the guest ended while this ran; perhaps it is done'
FROM assignment WHERE started_at IS NOT NULL ORDER BY started_at;

-- name: spool_started_gone
-- scan ok: once, when the spool is opened
DELETE FROM assignment WHERE started_at IS NOT NULL;

-- name: spool_result
SELECT seq, message_id, task_id, success, exit_code, interrupted, elapsed_secs, out, err
FROM result WHERE seq > :after ORDER BY seq LIMIT 1;

-- name: spool_result_of
-- row: spool_result
SELECT seq, message_id, task_id, success, exit_code, interrupted, elapsed_secs, out, err
FROM result WHERE message_id = :message_id;

-- name: spool_ack
DELETE FROM result WHERE message_id = :message_id;

-- name: spool_counts
-- scan ok: the number of counted rows is limited
SELECT (SELECT count(*) FROM assignment WHERE started_at IS NULL) AS waiting,
	(SELECT count(*) FROM assignment WHERE started_at IS NOT NULL) AS running,
	(SELECT count(*) FROM result) AS results;

-- name: spool_env_set
INSERT INTO env (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: spool_env
-- text: after
SELECT name, value FROM env WHERE name > :after ORDER BY name LIMIT 1;

-- name: spool_empty_had
-- scan ok: the whole table is emptied
DELETE FROM had;

-- name: spool_empty_assignments
-- scan ok: the whole table is emptied
DELETE FROM assignment;

-- name: spool_empty_results
-- scan ok: the whole table is emptied
DELETE FROM result;
