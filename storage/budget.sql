-- Budgets: what teams may spend.  The remainder of a budget is its limit, less the use (by the
-- clock too), less the limits of the living teams below.  A negative remainder counts as 0.

-- name: budget_rows
-- row: budget
-- int: reserved
SELECT kind, most, used + coalesce((:now - since) / 1000, 0) AS used, reserved, told
FROM spending WHERE team = :team ORDER BY kind;

-- name: budget_row
-- row: budget
-- int: reserved
SELECT kind, most, used + coalesce((:now - since) / 1000, 0) AS used, reserved, told
FROM spending WHERE team = :team AND kind = :kind;

-- name: budget_over
-- row: budget
-- int: reserved
-- The first budget of a team of which nothing is left: a team that has one makes no new
-- claims, assignments, members and teams below it.
SELECT s.kind, s.most, s.used + coalesce((:now - s.since) / 1000, 0) AS used, s.reserved, s.told
FROM spending s
WHERE s.team = :team AND s.most > 0
	AND s.most <= s.used + coalesce((:now - s.since) / 1000, 0) + s.reserved
ORDER BY s.kind LIMIT 1;

-- name: budget_add
-- If the team above has a limit, the new team's limit must be within what is left of that limit.
-- 0 means no limit, which a team below a team with a limit cannot have.
INSERT INTO budget (team, kind, most, since)
SELECT t.id, :kind, :most, CASE WHEN :most > 0 AND :kind = {budget_kind.seconds} THEN :now END
FROM team t LEFT JOIN spending p ON p.team = t.parent AND p.kind = :kind
WHERE t.id = :team AND (coalesce(p.most, 0) = 0 OR (:most > 0
	AND p.most - p.used - coalesce((:now - p.since) / 1000, 0) - p.reserved >= :most))
ON CONFLICT DO NOTHING;

-- name: budget_reserve
-- The limits that a team has left to the living teams below it, counted anew.
UPDATE budget SET reserved = (SELECT coalesce(sum(c.most), 0) FROM team k JOIN budget c ON c.team = k.id
	WHERE k.parent = budget.team AND k.destroyed_at IS NULL AND c.kind = budget.kind)
WHERE team = :team;

-- name: budget_set
-- A lowered limit, or the first limit of a team, is not below what is used and reserved.  A
-- raised limit takes the difference from what the team above has left.  Below a team with a limit
-- every team has a limit.  Time is counted while it is limited.
UPDATE budget SET most = :most,
	used = CASE WHEN :most = 0 THEN used + coalesce((:now - since) / 1000, 0) ELSE used END,
	since = CASE WHEN :most = 0 OR kind <> {budget_kind.seconds} THEN NULL
		ELSE coalesce(since, (SELECT :now FROM team t
			WHERE t.id = budget.team AND t.stopped_at IS NULL)) END
WHERE team = :team AND kind = :kind
	AND (:most = 0 OR ((budget.most > 0 AND :most >= budget.most
			OR :most >= used + coalesce((:now - since) / 1000, 0)
			+ (SELECT s.reserved FROM spending s
				WHERE s.team = budget.team AND s.kind = budget.kind))
		AND NOT EXISTS (SELECT 1 FROM team k JOIN budget c ON c.team = k.id
			WHERE k.parent = budget.team AND k.destroyed_at IS NULL
			AND c.kind = budget.kind AND c.most = 0)))
	AND NOT EXISTS (SELECT 1 FROM team t JOIN spending p ON p.team = t.parent
		WHERE t.id = budget.team AND p.kind = budget.kind AND p.most > 0 AND (:most = 0
		OR (:most > budget.most
		AND p.most - p.used - coalesce((:now - p.since) / 1000, 0) - p.reserved
			< :most - budget.most)));

-- name: budget_count
-- How many budgets of a team have a limit; most teams have none, and every call asks.
UPDATE team SET limits = (SELECT count(*) FROM budget b WHERE b.team = team.id AND b.most > 0)
WHERE id = :team;

-- name: budget_unlimited
-- The first living team directly below that has no limit.
SELECT k.name FROM team k JOIN budget c ON c.team = k.id
WHERE k.parent = :team AND k.destroyed_at IS NULL AND c.kind = :kind AND c.most = 0
ORDER BY k.name LIMIT 1;

-- name: budget_spend
-- Spending is counted, be it more than was left; the count stays a number.
UPDATE budget SET used = CASE WHEN used > 4000000000000000000 THEN used ELSE used + :n END
WHERE team = :team AND kind = :kind;

-- name: budget_message
-- A message counts where its team has a limit on them, and one is left.
UPDATE budget SET used = used + 1
WHERE team = :team AND kind = {budget_kind.messages} AND (SELECT s.most - s.used - s.reserved
	FROM spending s WHERE s.team = :team AND s.kind = {budget_kind.messages}) > 0;

-- name: budget_stop
-- The clock of a team that ends, or is stopped, stands still.
UPDATE budget SET used = used + (:now - since) / 1000, since = NULL
WHERE team = :team AND since IS NOT NULL;

-- name: budget_go_on
UPDATE budget SET since = :now
WHERE team = :team AND kind = {budget_kind.seconds} AND most > 0 AND since IS NULL;

-- name: budget_return
-- The team above takes over what was spent by a team that ends, but time, which has passed
-- there as well; the rest comes back to it, since that limit is no more reserved.
UPDATE budget SET used = used + (SELECT c.used FROM budget c
	WHERE c.team = :team AND c.kind = budget.kind)
WHERE team = (SELECT parent FROM team WHERE id = :team) AND kind <> {budget_kind.seconds};

-- name: budget_turned
-- int: reserved level
-- Budgets of a team of which now more or less is left than was told: 1, a fifth or less of what
-- it has not reserved for others; 2, nothing.
SELECT y.kind, y.most, y.used, y.reserved, y.told, y.level
FROM (SELECT x.kind, x.most, x.used, x.reserved, x.told,
		CASE WHEN x.most = 0 THEN 0 WHEN x.most <= x.used + x.reserved THEN 2
		WHEN x.most - x.reserved >= 5 * (x.most - x.used - x.reserved) THEN 1
		ELSE 0 END AS level
	FROM (SELECT s.kind, s.most, s.used + coalesce((:now - s.since) / 1000, 0) AS used,
			s.reserved, s.told
		FROM spending s WHERE s.team = :team) x) y
WHERE y.told <> y.level
ORDER BY y.kind;

-- name: budget_clocks
-- text: name
-- The teams with a limit on time.
SELECT t.id, t.name, t.inbox_capacity
FROM budget b JOIN team t ON t.id = b.team
WHERE b.since IS NOT NULL ORDER BY b.since NULLS FIRST;

-- name: budget_tell
UPDATE budget SET told = :told WHERE team = :team AND kind = :kind;

-- name: budget_leap
-- Time that is only the clock's is not spent.
UPDATE budget SET since = since + :leap_ms WHERE since IS NOT NULL;

-- name: budget_from_future
-- A clock that was put back since does not give back what was spent, as far as the newest event
-- tells.
UPDATE budget SET since = :now, used = used + coalesce((SELECT (e.at - budget.since) / 1000
	FROM event e WHERE e.seq = (SELECT max(seq) FROM event) AND e.at > budget.since), 0)
WHERE since > :now;
