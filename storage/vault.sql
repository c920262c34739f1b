-- Changes of the vault's files: see core/vault/vault.h.

-- name: vault_move_add
-- Records a write to a file in advance. The write itself is made after the COMMIT.
INSERT INTO vault_move (event, from_path, to_path, ino, mtime, size, was_ino, was_mtime,
	was_size)
VALUES (:event, :from_path, :to_path, :ino, :mtime, :size, :was_ino, :was_mtime, :was_size);

-- name: vault_moves
-- row: vault_move
-- scan ok: rows of writes that are under way, and of the last writes made
SELECT event, from_path, to_path, ino, mtime, size, was_ino, was_mtime, was_size
FROM vault_move ORDER BY event;

-- name: vault_move_of
-- row: vault_move
-- scan ok: rows of writes that are under way, and of the last writes made
SELECT event, from_path, to_path, ino, mtime, size, was_ino, was_mtime, was_size
FROM vault_move WHERE from_path = :from_path;

-- name: vault_move_made
DELETE FROM vault_move WHERE event = :event;

-- name: event_told
-- The event of the write that an earlier call under the same key made. A repeated call is
-- answered from this event.
SELECT detail FROM event WHERE seq = :seq;

-- name: vault_team
-- The living team to which a folder belongs.
SELECT id, created_at FROM team WHERE name = :name AND destroyed_at IS NULL;

-- name: vault_teams
-- scan ok: a list of all teams, few
-- The present names of teams.
SELECT id, name, created_at FROM team WHERE destroyed_at IS NULL ORDER BY id;
