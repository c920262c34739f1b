-- Names that living teams had before a rename: who knows only the old name is told the new
-- one, and an identity that is kept under it finds its agent.
CREATE TABLE team_former (
	name TEXT PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 64),
	team INTEGER NOT NULL REFERENCES team(id) -- the last one that gave the name up
) STRICT, WITHOUT ROWID;
