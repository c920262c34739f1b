-- What a team may spend of tokens, money, time and messages.  Workspaces are counted from
-- their own rows.
CREATE TABLE budget (
	team INTEGER NOT NULL REFERENCES team(id),
	kind INTEGER NOT NULL,
	most INTEGER NOT NULL DEFAULT 0 CHECK (most >= 0), -- the limit; 0: none
	used INTEGER NOT NULL DEFAULT 0, -- by the team, and by those below it that have ended
	since INTEGER, -- of time: `used` goes on with the clock from here
	told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1, 2)), -- 1: little is left, 2: nothing
	PRIMARY KEY (team, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX budget_clock ON budget(since) WHERE since IS NOT NULL;

INSERT INTO budget (team, kind)
SELECT t.id, k.kind FROM team t, (SELECT {budget_kind.tokens} AS kind
	UNION SELECT {budget_kind.cost} UNION SELECT {budget_kind.seconds}
	UNION SELECT {budget_kind.messages}) k;

-- A budget with what is reserved of it: the limits of the living teams below.
CREATE VIEW spending AS
SELECT b.team, b.kind, b.most, b.used, b.since, b.told,
	(SELECT coalesce(sum(c.most), 0) FROM team k JOIN budget c ON c.team = k.id
		WHERE k.parent = b.team AND k.destroyed_at IS NULL AND c.kind = b.kind) AS reserved
FROM budget b;

CREATE VIEW v_budget AS
SELECT t.name AS team,
	(SELECT word FROM word WHERE list = 'budget_kind' AND n = s.kind) AS kind,
	nullif(s.most, 0) AS most,
	s.used + coalesce(((SELECT ms FROM v_now) - s.since) / 1000, 0) AS used, s.reserved
FROM spending s JOIN team t ON t.id = s.team
WHERE t.destroyed_at IS NULL;

DELETE FROM word;
{words}
