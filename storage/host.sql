-- Statements of a running host, of commands that wait without a host, and of `cadre doctor`.

-- name: host_events
-- row: host_event
-- Events in order, with the columns from which the host finds the waiting callers to wake.
SELECT seq, kind, team, subject, target FROM event WHERE seq > :after
ORDER BY seq LIMIT :limit;

-- name: host_due
-- always
-- scan ok: open assignments; hosts, few
-- `due`: whether any time has run out, or, once in 10 s, whether a command waits for its
-- daemon. `live`: whether any task, reservation or open delivery has an end time. `alive_at`:
-- the last time at which a host ran; a gap begins there. `comes_at`: the next time at which a
-- delayed message is due, or a budget of time must be reported. 0: no such time is known. A
-- budget is reported when four fifths of its unreserved part are used, and again when the whole
-- unreserved part is used, as in budget_turned.
-- int: alive_at comes_at
SELECT (SELECT max(h.alive_at) FROM host h) AS alive_at, s.incarnation,
	(SELECT coalesce(min(e.at), 0) FROM (
		SELECT min(y.due_at) AS at FROM delayed y WHERE y.due_at > :now
		UNION ALL SELECT c.turns_at) e WHERE e.at > :now) AS comes_at,
	EXISTS (SELECT 1 FROM task WHERE lease_until IS NOT NULL AND lease_until <= :now)
	OR EXISTS (SELECT 1 FROM reservation WHERE lease_until <= :now)
	OR EXISTS (SELECT 1 FROM delivery
		WHERE due_at IS NOT NULL AND state IN {delivery_state.open} AND due_at <= :now)
	OR EXISTS (SELECT 1 FROM delayed WHERE due_at <= :now)
	OR EXISTS (SELECT 1 FROM assignment WHERE state IN {assignment_state.open} AND (
		started_at + timeout_s * 1000 + 30000 < :now
		OR (started_at IS NULL AND :now % 10000 < 1000)))
	OR (c.turns_at IS NOT NULL AND c.turns_at <= :now) AS due,
	EXISTS (SELECT 1 FROM task WHERE lease_until IS NOT NULL)
	OR EXISTS (SELECT 1 FROM reservation)
	OR EXISTS (SELECT 1 FROM delivery
		WHERE due_at IS NOT NULL AND state IN {delivery_state.open}) AS live
FROM state s, (SELECT min(b.since - b.used * 1000
		+ ((b.most - b.reserved) * (4 + b.told) + 4) / 5 * 1000) AS turns_at
	FROM spending b WHERE b.since IS NOT NULL AND b.told < 2) c
WHERE s.one = 1;

-- name: next_lapse
-- The next time at which a lease ends, a message expires or a delayed message is due. 0: no
-- lease, message or delay ends after :now.
SELECT coalesce(min(at), 0) AS at FROM (
	SELECT min(lease_until) AS at FROM task
	WHERE lease_until IS NOT NULL AND lease_until > :now
	UNION ALL SELECT min(lease_until) FROM reservation WHERE lease_until > :now
	UNION ALL SELECT min(due_at) FROM delayed WHERE due_at > :now
	UNION ALL SELECT min(due_at) FROM delivery
	WHERE due_at IS NOT NULL AND state IN {delivery_state.open} AND due_at > :now) e;

-- name: state_renew
-- The new incarnation shows everybody who kept a cursor that the cursor belongs to another
-- state. Epochs and generations begin at the time of the restore, in microseconds. A time in
-- microseconds is exact in JSON until the year 2255.
--
-- The clock may be behind the first number of this state (counts_from), or behind the first
-- number of the replaced state (:former, 0 if unreadable). If the clock is behind, epochs and
-- generations begin a million after the larger of the two first numbers. So new epochs and
-- generations exceed all numbers that were given since the backup, with three exceptions.
-- First, more than one number per microsecond may have been given. Second, more than a million
-- numbers may have been given while the clock was put back. Third, the clock may be put back
-- while the former state is lost.
UPDATE state SET incarnation = :incarnation,
	counts_from = CASE
		WHEN :now * 1000 > counts_from + 1000000 AND :now * 1000 > :former + 1000000
		THEN :now * 1000
		WHEN counts_from > :former THEN counts_from + 1000000
		ELSE :former + 1000000 END
WHERE one = 1;

-- name: workspaces_renew
-- scan ok: every living workspace, once in a restore
-- A restored state cannot trust the spool of any guest. At its next Hello, each guest learns
-- that the state was restored. The guest then ends its commands and deletes all of its spool
-- except its variables.
UPDATE workspace SET spool = 'before the restore', spool_seq = 0 WHERE state IN {workspace_state.living};

-- name: host_elsewhere
-- Whether another host ran after :since, a time that is exact to 5 s. If another host ran,
-- leases need no correction, since clients could make calls, or the other host has already
-- moved the leases.
-- scan ok: hosts, few
SELECT count(*) AS n FROM host WHERE id <> :host AND alive_at > :since + 5000;

-- name: clock_is_back
-- scan ok: claims, reservations and budgets of time, few, only if the clock was put back
-- Whether the clock was put back since the newest event, and a row was granted at a time that
-- is now in the future. Each statement whose name ends in `_from_future` corrects the rows of
-- one table. When all of these statements have run, this statement returns false.
SELECT EXISTS (SELECT 1 FROM event WHERE seq = (SELECT max(seq) FROM event) AND at > :now) AND (
	EXISTS (SELECT 1 FROM reservation WHERE lease_until > :now + lease_ms AND lease_until < :far)
	OR EXISTS (SELECT 1 FROM task
		WHERE lease_until IS NOT NULL AND lease_until > :now + lease_ms AND lease_until < :far)
	OR EXISTS (SELECT 1 FROM delivery WHERE due_at IS NOT NULL AND state IN {delivery_state.open}
		AND state = {delivery_state.fetched} AND fetched_at > :now AND due_at < :far)
	OR EXISTS (SELECT 1 FROM delayed WHERE due_at > :latest)
	OR EXISTS (SELECT 1 FROM budget WHERE since > :now)) AS so;

-- name: state_alive
-- Stores that the host still runs. A gap, which is a time without any host, can begin only
-- after :now.
UPDATE host SET alive_at = :now WHERE id = :host;

-- name: doctor_newest
-- int: at
-- scan ok: the end of the log; teams, few
-- The time of the newest event, or the newest time at which a time budget began to be counted,
-- whichever is later. 0: there is neither.
SELECT coalesce(max(x.at), 0) AS at FROM (
	SELECT e.at FROM event e WHERE e.seq = (SELECT max(seq) FROM event)
	UNION ALL SELECT b.since FROM budget b) x;

-- name: doctor_late
-- scan ok: open assignments
-- Whether a claim, a copy of a message or a command expired before :now.  An assignment that
-- has not started does not expire.
SELECT EXISTS (SELECT 1 FROM task WHERE lease_until IS NOT NULL AND lease_until <= :now)
	OR EXISTS (SELECT 1 FROM delivery
		WHERE due_at IS NOT NULL AND state IN {delivery_state.open} AND due_at <= :now)
	OR EXISTS (SELECT 1 FROM delayed WHERE due_at <= :now)
	OR EXISTS (SELECT 1 FROM assignment WHERE state IN {assignment_state.open}
		AND started_at + timeout_s * 1000 + 30000 < :now) AS late;
