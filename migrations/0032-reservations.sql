-- Reservations: leases on paths, given from the top of the project.  One counts while its lease
-- runs, in the generation of its holder that took it.
CREATE TABLE reservation (
	id INTEGER NOT NULL PRIMARY KEY,
	team INTEGER NOT NULL REFERENCES team(id),
	agent INTEGER NOT NULL REFERENCES agent(id),
	generation INTEGER NOT NULL,
	paths TEXT NOT NULL, -- a glob
	shared INTEGER NOT NULL, -- others may hold shared ones of the same paths
	reason TEXT,
	lease_ms INTEGER NOT NULL,
	lease_until INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX reservation_of ON reservation(agent, paths);
CREATE INDEX reservation_team ON reservation(team, id);
CREATE INDEX reservation_due ON reservation(lease_until);

CREATE VIEW v_reservation AS
SELECT t.name AS team, r.paths, a.name AS agent,
	CASE WHEN r.shared THEN 'shared' ELSE 'exclusive' END AS mode, r.reason,
	strftime('%Y-%m-%dT%H:%M:%fZ', r.created_at / 1000.0, 'unixepoch') AS since,
	CASE WHEN t.stopped_at IS NULL
		THEN strftime('%Y-%m-%dT%H:%M:%fZ', r.lease_until / 1000.0, 'unixepoch') END
		AS lease_until
FROM reservation r JOIN team t ON t.id = r.team JOIN agent a ON a.id = r.agent
WHERE r.lease_until > (SELECT ms FROM v_now) AND a.gone = 0 AND a.generation = r.generation
ORDER BY t.name, r.paths, a.name;

DELETE FROM word;
{words}
