-- Every team that had a name before, and when it gave the name up: several may have had one
-- after the other, and who proves by a token that it is of one of them is found there.
CREATE TABLE former_name (
	name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
	team INTEGER NOT NULL REFERENCES team(id),
	at INTEGER NOT NULL,
	PRIMARY KEY (name, team)
) STRICT, WITHOUT ROWID;
INSERT INTO former_name (name, team, at) SELECT name, team, 0 FROM team_former;
DROP TABLE team_former;
