-- Budgets: what a team may spend of tokens, money, time and messages.  Workspaces are counted
-- from their own rows.
CREATE TABLE budget (
	team INTEGER NOT NULL REFERENCES team(id),
	kind INTEGER NOT NULL,
	most INTEGER NOT NULL DEFAULT 0 CHECK (most >= 0), -- the limit; 0: none
	used INTEGER NOT NULL DEFAULT 0, -- by the team, and by those below it that have ended
	since INTEGER, -- of time: `used` goes on with the clock from here
	told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1, 2)), -- 1: little is left, 2: nothing
	PRIMARY KEY (team, kind)
) STRICT, WITHOUT ROWID;
ALTER TABLE team ADD COLUMN limits INTEGER NOT NULL DEFAULT 0; -- its budgets with a limit
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

ALTER TABLE workspace ADD COLUMN fault TEXT; -- why it failed

-- A team whose workspace could not be made is not there yet.
DROP VIEW v_team;
CREATE VIEW v_team AS
SELECT t.name AS team,
	CASE
	WHEN t.destroyed_at IS NOT NULL THEN 'destroyed'
	WHEN EXISTS (SELECT 1 FROM workspace w
		WHERE w.team = t.id AND w.state IN {workspace_state.creating failed}
			AND w.was_up = 0) THEN 'creating'
	WHEN EXISTS (SELECT 1 FROM task k WHERE k.team = t.id AND k.state IN {task_state.claimed in_progress}
		AND k.lease_until > (SELECT ms FROM v_now)) THEN 'working'
	WHEN EXISTS (SELECT 1 FROM task k WHERE k.team = t.id AND k.state = {task_state.blocked})
		THEN 'working'
	WHEN EXISTS (SELECT 1 FROM assignment x
		WHERE x.team = t.id AND x.state IN {assignment_state.open} AND x.state = {assignment_state.running}) THEN 'working'
	WHEN NOT EXISTS (SELECT 1 FROM task k WHERE k.team = t.id
		AND k.state BETWEEN {task_state.open})
		AND EXISTS (SELECT 1 FROM result r
		WHERE r.team = t.id AND r.collected_at IS NULL) THEN 'completing'
	ELSE 'ready' END AS state,
	(SELECT count(*) FROM agent a
		WHERE a.team = t.id AND a.gone = 0 AND a.kind = {agent_kind.member}) AS members,
	(SELECT count(*) FROM task k
		WHERE k.team = t.id AND k.state BETWEEN {task_state.open}) AS open_tasks,
	t.inbox_capacity, t.max_vms,
	(SELECT p.name FROM team p WHERE p.id = t.parent) AS parent,
	strftime('%Y-%m-%dT%H:%M:%fZ', t.created_at / 1000.0, 'unixepoch') AS created_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', t.destroyed_at / 1000.0, 'unixepoch')
		AS destroyed_at,
	printf('%08x-%04x-7%03x-%04x-%012x', t.created_at >> 16, t.created_at & 65535,
		s.id_a, 32768 | (2 << 10) | s.id_b,
		(((t.id + t.created_at * 2442737) & 281474976710655) | s.id_c)
		- (((t.id + t.created_at * 2442737) & 281474976710655) & s.id_c)) AS id
FROM team t JOIN state s ON s.one = 1;

DELETE FROM word;
{words}
