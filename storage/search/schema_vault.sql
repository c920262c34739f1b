-- The index of the vault's notes: see search_vault.h.
DROP TABLE IF EXISTS vault_note;
DROP TABLE IF EXISTS vault_tag;
DROP TABLE IF EXISTS vault_text;

CREATE TABLE vault_note (
	doc INTEGER PRIMARY KEY AUTOINCREMENT,
	path TEXT NOT NULL UNIQUE,
	ino INTEGER NOT NULL,
	mtime INTEGER NOT NULL,
	size INTEGER NOT NULL,
	mirrored INTEGER NOT NULL
) STRICT;
CREATE INDEX vault_note_own ON vault_note(path) WHERE mirrored = 0;

CREATE TABLE vault_tag (
	doc INTEGER NOT NULL,
	tag TEXT NOT NULL,
	PRIMARY KEY (tag, doc)
) STRICT, WITHOUT ROWID;
CREATE INDEX vault_tag_doc ON vault_tag(doc);

CREATE VIRTUAL TABLE vault_text USING fts5(scope, body, content='', columnsize=0,
	tokenize='unicode61 remove_diacritics 2');
