-- Budgets: what teams may spend.  The remainder of a budget is its limit minus the use, minus
-- the limits of the living teams below.  For a budget of time, the time since `since` belongs
-- to the use.  A negative remainder counts as 0.

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
-- The first budget of a team that is used up.  A team with a used-up budget makes no new
-- claims, assignments, members or teams below.
SELECT s.kind, s.most, s.used + coalesce((:now - s.since) / 1000, 0) AS used, s.reserved, s.told
FROM spending s
WHERE s.team = :team AND s.most > 0
	AND s.most <= s.used + coalesce((:now - s.since) / 1000, 0) + s.reserved
ORDER BY s.kind LIMIT 1;

-- name: budget_add
-- If the team above has a limit, the new team's limit must be within the remainder of that
-- limit.  0 means no limit.  Below a team with a limit, 0 is refused.
INSERT INTO budget (team, kind, most, since)
SELECT t.id, :kind, :most, CASE WHEN :most > 0 AND :kind = {budget_kind.seconds} THEN :now END
FROM team t LEFT JOIN spending p ON p.team = t.parent AND p.kind = :kind
WHERE t.id = :team AND (coalesce(p.most, 0) = 0 OR (:most > 0
	AND p.most - p.used - coalesce((:now - p.since) / 1000, 0) - p.reserved >= :most))
ON CONFLICT DO NOTHING;

-- name: budget_reserve
-- Sums up anew the limits of the living teams directly below a team.
UPDATE budget SET reserved = (SELECT coalesce(sum(c.most), 0) FROM team k JOIN budget c ON c.team = k.id
	WHERE k.parent = budget.team AND k.destroyed_at IS NULL AND c.kind = budget.kind)
WHERE team = :team;

-- name: budget_set
-- A lowered limit, or the first limit of a team, must not be below the sum of use and reserved
-- limits. A raised limit takes the difference from the remainder of the limit of the team
-- above. If a team has a limit, every team below has a limit too. Time is counted only while
-- time has a limit.
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
-- How many budgets of a team have a limit.  Most teams have no limit, and every call asks for
-- this number.
UPDATE team SET limits = (SELECT count(*) FROM budget b WHERE b.team = team.id AND b.most > 0)
WHERE id = :team;

-- name: budget_unlimited
-- The first living team without a limit, of the teams directly below.
SELECT k.name FROM team k JOIN budget c ON c.team = k.id
WHERE k.parent = :team AND k.destroyed_at IS NULL AND c.kind = :kind AND c.most = 0
ORDER BY k.name LIMIT 1;

-- name: budget_spend
-- The whole amount is counted, even if less than this amount was left. The count stops growing
-- near 4e18, so that the sum cannot overflow.
UPDATE budget SET used = CASE WHEN used > 4000000000000000000 THEN used ELSE used + :n END
WHERE team = :team AND kind = :kind;

-- name: budget_message
-- A message is counted only if its team has a limit on messages and a message is left.
UPDATE budget SET used = used + 1
WHERE team = :team AND kind = {budget_kind.messages} AND (SELECT s.most - s.used - s.reserved
	FROM spending s WHERE s.team = :team AND s.kind = {budget_kind.messages}) > 0;

-- name: budget_stop
-- When a team ends or is stopped, the clock of its budget of time is stopped.
UPDATE budget SET used = used + (:now - since) / 1000, since = NULL
WHERE team = :team AND since IS NOT NULL;

-- name: budget_go_on
UPDATE budget SET since = :now
WHERE team = :team AND kind = {budget_kind.seconds} AND most > 0 AND since IS NULL;

-- name: budget_return
-- The team above takes over the use of a team that ends. Time is not taken over, since the same
-- time has passed in the team above. The unused rest of the ended team's limit returns to the
-- team above, since the ended team's limit is no longer reserved.
UPDATE budget SET used = used + (SELECT c.used FROM budget c
	WHERE c.team = :team AND c.kind = budget.kind)
WHERE team = (SELECT parent FROM team WHERE id = :team) AND kind <> {budget_kind.seconds};

-- name: budget_turned
-- int: reserved level
-- Budgets of a team whose level differs from the level that the team was last told. Level 1: a
-- fifth or less of the unreserved part is left. Level 2: nothing is left.
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
-- The teams that have a limit on time and whose clock runs.
SELECT t.id, t.name, t.inbox_capacity
FROM budget b JOIN team t ON t.id = b.team
WHERE b.since IS NOT NULL ORDER BY b.since NULLS FIRST;

-- name: budget_tell
UPDATE budget SET told = :told WHERE team = :team AND kind = :kind;

-- name: budget_leap
-- When the clock leaps forward, the leap does not count as spent time.
UPDATE budget SET since = since + :leap_ms WHERE since IS NOT NULL;

-- name: budget_from_future
-- If the clock was put back, the time that a team had spent before stays spent. The newest
-- event shows how much time was spent.
UPDATE budget SET since = :now, used = used + coalesce((SELECT (e.at - budget.since) / 1000
	FROM event e WHERE e.seq = (SELECT max(seq) FROM event) AND e.at > budget.since), 0)
WHERE since > :now;
