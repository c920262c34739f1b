-- The index of the state's rows. The index is made anew when its version changes (see
-- search.h).
DROP TABLE IF EXISTS place;
DROP TABLE IF EXISTS task_body;
DROP TABLE IF EXISTS message_text;
DROP TABLE IF EXISTS task_text;
DROP TABLE IF EXISTS title_text;
DROP TABLE IF EXISTS note_text;

-- The numbers of the last rows that the index holds. The table has one row.
CREATE TABLE place (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	version INTEGER NOT NULL,
	incarnation TEXT NOT NULL, -- the id of the state
	boot TEXT NOT NULL, -- the machine's boot id while a process has search.db open for writing.
		-- If the machine has another boot id now, pages that were not synced may be
		-- lost.
	whole INTEGER NOT NULL, -- 0 while rows older than `event` are still missing
	event INTEGER NOT NULL,
	message INTEGER NOT NULL,
	note INTEGER NOT NULL,
	task INTEGER NOT NULL
) STRICT;
INSERT INTO place VALUES (1, 0, '', '', 0, 0, 0, 0, 0);

-- The text of each task in the index, since index_forget_task needs the text. The first line is
-- the title.
CREATE TABLE task_body (
	id INTEGER PRIMARY KEY,
	team INTEGER NOT NULL,
	body TEXT NOT NULL
) STRICT;

-- A row's number in the index is the negated number of the row in the state, so that the newest
-- rows are found first. FTS5 can start at the least number immediately. To start at the
-- greatest number, FTS5 must first read all rows of the word in each part of the index.
CREATE VIRTUAL TABLE message_text USING fts5(scope, body, content='', columnsize=0,
	tokenize='unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE task_text USING fts5(scope, body, content='', columnsize=0,
	tokenize='unicode61 remove_diacritics 2');
-- The titles have an index of their own. In a column of task_text, a search for titles would
-- read every task whose text has the word.
CREATE VIRTUAL TABLE title_text USING fts5(scope, body, content='', columnsize=0,
	tokenize='unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE note_text USING fts5(scope, body, content='', columnsize=0,
	tokenize='unicode61 remove_diacritics 2');
INSERT INTO message_text(message_text, rank) VALUES ('usermerge', 2);
INSERT INTO task_text(task_text, rank) VALUES ('usermerge', 2);
INSERT INTO title_text(title_text, rank) VALUES ('usermerge', 2);
INSERT INTO note_text(note_text, rank) VALUES ('usermerge', 2);

-- For each word of the query and of the scope, a search opens each part of the index. For each
-- word in each part, the search reads a whole page, even if the part has few hits. So the pages
-- of the index are small. Four pages of the index fit into one page of the file.
INSERT INTO message_text(message_text, rank) VALUES ('pgsz', 1000);
INSERT INTO task_text(task_text, rank) VALUES ('pgsz', 1000);
INSERT INTO title_text(title_text, rank) VALUES ('pgsz', 1000);
INSERT INTO note_text(note_text, rank) VALUES ('pgsz', 1000);

PRAGMA user_version = 8;
