-- Statements that count rows of a state, for the monitoring of a host. The number of rows that
-- a statement of this file reads does not grow with the finished messages or the past events of
-- a state.

-- name: metrics_now
-- always
-- scan ok: agents, few; delayed copies, which are due soon; the row of the state
-- How many message copies wait in inboxes, are handed out, or are delayed. The row also says
-- how many commands are open, how many claims have a running lease, and which event is the
-- newest.
-- int: event
SELECT (SELECT coalesce(sum(i.queued), 0) FROM agent_inbox i) AS queued,
	(SELECT coalesce(sum(i.leased), 0) FROM agent_inbox i) AS leased,
	(SELECT coalesce(sum(i.assignments), 0) FROM agent_inbox i) AS assignments,
	(SELECT count(*) FROM delayed) AS delayed,
	(SELECT count(*) FROM task k WHERE k.lease_until IS NOT NULL AND k.lease_until > :now) AS claims,
	(SELECT coalesce(max(e.seq), 0) FROM event e) AS event,
	s.incarnation
FROM state s WHERE s.one = 1;

-- name: metrics_oldest
-- scan ok: agents, few; for each agent the first rows of its inbox
-- The sending time of the message that has waited longest in an inbox. The statement returns no
-- row if no message waits.
SELECT m.at FROM message m WHERE m.id = (SELECT min(x.message) FROM (
	SELECT (SELECT d.message FROM delivery d
		WHERE d.agent = i.agent AND d.lane = {delivery_lane.normal}
			AND d.state IN {delivery_state.open} AND d.state IN {delivery_state.waiting}
		ORDER BY d.message LIMIT 1) AS message
	FROM agent_inbox i WHERE i.queued > 0
	UNION ALL SELECT (SELECT d.message FROM delivery d
		WHERE d.agent = i.agent AND d.lane = {delivery_lane.urgent}
			AND d.state IN {delivery_state.open} AND d.state IN {delivery_state.waiting}
		ORDER BY d.message LIMIT 1)
	FROM agent_inbox i WHERE i.queued > 0) x);

-- name: metrics_guests
-- scan ok: living workspaces, few
-- How many living workspaces are in each state.
SELECT state, count(*) AS n FROM workspace WHERE state IN {workspace_state.living} GROUP BY state;

-- name: metrics_budgets
-- scan ok: living teams, few
-- The budgets of living teams that have a limit, and how much of each budget is left. The
-- budget of workspaces is listed only if a team has workspaces, or has living teams below it.
-- text: team
-- int: kind most rest
SELECT b.team, b.kind, b.most, b.rest FROM (
	SELECT t.name AS team, s.kind, s.most,
		s.most - s.used - coalesce((:now - s.since) / 1000, 0) - s.reserved AS rest
	FROM team t JOIN spending s ON s.team = t.id
	WHERE t.destroyed_at IS NULL AND t.limits > 0 AND s.most > 0
	UNION ALL SELECT t.name, {budget_kind.vms}, t.max_vms, t.max_vms
		- (SELECT count(*) FROM workspace w
			WHERE w.team = t.id AND w.state IN {workspace_state.living})
		- (SELECT coalesce(sum(c.max_vms), 0) FROM team c
			WHERE c.parent = t.id AND c.destroyed_at IS NULL)
	FROM team t WHERE t.destroyed_at IS NULL AND t.max_vms > 0
		AND (EXISTS (SELECT 1 FROM workspace w
			WHERE w.team = t.id AND w.state IN {workspace_state.living})
		OR EXISTS (SELECT 1 FROM team c
			WHERE c.parent = t.id AND c.destroyed_at IS NULL))) b
ORDER BY b.team, b.kind LIMIT :limit;

-- name: metrics_events
-- How many events of each kind have a number in (:after, :last].
SELECT kind, count(*) AS n FROM event WHERE seq > :after AND seq <= :last GROUP BY kind;
