-- Names that agents gave up by a rename, with the highest generation that one had under it then:
-- a new agent under such a name goes on above that, as it does above one that is gone.
CREATE TABLE name_given_up (
	team INTEGER NOT NULL REFERENCES team(id),
	name TEXT NOT NULL,
	generation INTEGER NOT NULL,
	PRIMARY KEY (team, name)
) STRICT, WITHOUT ROWID;
INSERT INTO name_given_up (team, name, generation)
SELECT a.team, e.detail, max(a.generation) FROM event e JOIN agent a ON a.id = e.subject
WHERE e.kind = {event.agent_updated} AND e.detail <> '' GROUP BY a.team, e.detail;
