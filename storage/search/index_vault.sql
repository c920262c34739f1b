-- The index of the vault's notes.

-- name: index_notes
-- row: index_note
-- scan ok: all notes are compared with the files
SELECT path, ino, mtime, size FROM vault_note ORDER BY path;

-- name: index_notes_own
-- row: index_note
-- scan ok: all notes that show no rows, along their index
SELECT path, ino, mtime, size FROM vault_note WHERE mirrored = 0 ORDER BY path;

-- name: index_notes_tagged
-- row: index_note
-- scan ok: a :tag of NULL means any tag
SELECT n.path, n.ino, n.mtime, n.size FROM vault_note n
WHERE :tag IS NULL
	OR EXISTS (SELECT 1 FROM vault_tag t WHERE t.doc = n.doc AND t.tag = :tag)
ORDER BY n.mtime DESC, n.path;

-- name: index_notes_matching
-- row: index_note
-- text: match
SELECT n.path, n.ino, n.mtime, n.size
FROM vault_text x JOIN vault_note n ON n.doc = x.rowid
WHERE vault_text MATCH :match AND (:tag IS NULL
	OR EXISTS (SELECT 1 FROM vault_tag t WHERE t.doc = n.doc AND t.tag = :tag))
ORDER BY n.mtime DESC, n.path;

-- name: index_tags
-- scan ok: all tags are listed
SELECT t.tag, n.path FROM vault_tag t JOIN vault_note n ON n.doc = t.doc ORDER BY t.tag;

-- name: index_add_vault
INSERT INTO vault_note(path, ino, mtime, size, mirrored)
VALUES (:path, :ino, :mtime, :size, :mirrored);

-- name: index_add_vault_text
-- text: scope
INSERT INTO vault_text(rowid, scope, body) VALUES (:doc, :scope, :body);

-- name: index_add_vault_tag
INSERT OR IGNORE INTO vault_tag(doc, tag) VALUES (:doc, :tag);

-- name: index_untag
DELETE FROM vault_tag WHERE doc = (SELECT doc FROM vault_note WHERE path = :path);

-- name: index_drop_note
DELETE FROM vault_note WHERE path = :path;

-- name: index_stale
-- scan ok: counted only after notes have changed
-- The number of unused documents minus twice the number of used documents.
SELECT coalesce(max(doc), 0) - 3 * count(*) AS excess FROM vault_note;
