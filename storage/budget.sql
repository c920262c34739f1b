-- Budgets: how much teams may spend. The remainder of a budget is the limit, minus the used
-- amount, minus the limits of the living teams directly below. While time is being counted, the
-- used amount of a time budget also includes the time since `since`. A negative remainder
-- counts as 0.

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
-- The first used-up budget of a team. A team with a used-up budget gets no new claims, no new
-- assignments, no new members and no new teams below.
SELECT s.kind, s.most, s.used + coalesce((:now - s.since) / 1000, 0) AS used, s.reserved, s.told
FROM spending s
WHERE s.team = :team AND s.most > 0
	AND s.most <= s.used + coalesce((:now - s.since) / 1000, 0) + s.reserved
ORDER BY s.kind LIMIT 1;

-- name: budget_add
-- If the team above has a limit, the new team's limit must not exceed the remainder of that
-- limit. The limit 0 means no limit. If the team above has a limit, the limit 0 is refused.
INSERT INTO budget (team, kind, most, since)
SELECT t.id, :kind, :most, CASE WHEN :most > 0 AND :kind = {budget_kind.seconds} THEN :now END
FROM team t LEFT JOIN spending p ON p.team = t.parent AND p.kind = :kind
WHERE t.id = :team AND (coalesce(p.most, 0) = 0 OR (:most > 0
	AND p.most - p.used - coalesce((:now - p.since) / 1000, 0) - p.reserved >= :most))
ON CONFLICT DO NOTHING;

-- name: budget_reserve
-- Sets `reserved` to the sum of the limits of the living teams directly below.
UPDATE budget SET reserved = (SELECT coalesce(sum(c.most), 0) FROM team k JOIN budget c ON c.team = k.id
	WHERE k.parent = budget.team AND k.destroyed_at IS NULL AND c.kind = budget.kind)
WHERE team = :team;

-- name: budget_set
-- A lowered limit, or a team's first limit, must be at least the used amount plus the reserved
-- amount. If a limit is raised, the remainder of the team above must be at least the difference
-- between the new limit and the old limit. If a team has a limit, every team below has a limit,
-- too. Time is counted only while the budget of time has a limit.
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
-- Stores how many budgets of a team have a limit. Every call reads the number, and for most
-- teams the number is 0.
UPDATE team SET limits = (SELECT count(*) FROM budget b WHERE b.team = team.id AND b.most > 0)
WHERE id = :team;

-- name: budget_unlimited
-- The first team, by name, of the living teams directly below :team whose budget :kind has no
-- limit.
SELECT k.name FROM team k JOIN budget c ON c.team = k.id
WHERE k.parent = :team AND k.destroyed_at IS NULL AND c.kind = :kind AND c.most = 0
ORDER BY k.name LIMIT 1;

-- name: budget_spend
-- Adds the whole amount :n to the used amount, even if the remainder was less. If the used
-- amount is above 4e18, nothing is added, so the sum cannot overflow.
UPDATE budget SET used = CASE WHEN used > 4000000000000000000 THEN used ELSE used + :n END
WHERE team = :team AND kind = :kind;

-- name: budget_message
-- Counts a message if the budget of messages has a limit and a remainder. Without a limit or a
-- remainder, changes no row.
UPDATE budget SET used = used + 1
WHERE team = :team AND kind = {budget_kind.messages} AND (SELECT s.most - s.used - s.reserved
	FROM spending s WHERE s.team = :team AND s.kind = {budget_kind.messages}) > 0;

-- name: budget_stop
-- Stops counting the time of a team that ends or is stopped.
UPDATE budget SET used = used + (:now - since) / 1000, since = NULL
WHERE team = :team AND since IS NOT NULL;

-- name: budget_go_on
UPDATE budget SET since = :now
WHERE team = :team AND kind = {budget_kind.seconds} AND most > 0 AND since IS NULL;

-- name: budget_return
-- When a team ends, adds the team's used amounts to the budgets of the team above. Time is not
-- added, since the same time has passed in the team above. The rest of the ended team's limit
-- becomes free in the team above, because the limit is no longer reserved.
UPDATE budget SET used = used + (SELECT c.used FROM budget c
	WHERE c.team = :team AND c.kind = budget.kind)
WHERE team = (SELECT parent FROM team WHERE id = :team) AND kind <> {budget_kind.seconds};

-- name: budget_turned
-- int: reserved level
-- A team's budgets for which the present level differs from `told`. `told` is the level that
-- was last reported to the team. At level 1, a fifth or less of the unreserved part of the
-- limit is left. At level 2, nothing is left.
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
-- The teams whose time is being counted, because their time has a limit.
SELECT t.id, t.name, t.inbox_capacity
FROM budget b JOIN team t ON t.id = b.team
WHERE b.since IS NOT NULL ORDER BY b.since NULLS FIRST;

-- name: budget_tell
UPDATE budget SET told = :told WHERE team = :team AND kind = :kind;

-- name: budget_leap
-- If the clock was set forward, the skipped time does not count as used time.
UPDATE budget SET since = since + :leap_ms WHERE since IS NOT NULL;

-- name: budget_from_future
-- If the clock was put back, the time that a team used before is still counted as used. The
-- used time is counted up to the newest event.
UPDATE budget SET since = :now, used = used + coalesce((SELECT (e.at - budget.since) / 1000
	FROM event e WHERE e.seq = (SELECT max(seq) FROM event) AND e.at > budget.since), 0)
WHERE since > :now;
