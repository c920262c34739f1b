-- Reservations. A reservation ends at its exact time, or when its holder has left or has a new
-- generation. The statements that read or renew reservations check whether a reservation has
-- ended. So reservation_end only removes the row.

-- name: reservation_new_id
-- row: new_id
SELECT coalesce(max(id), 0) + 1 AS id FROM reservation;

-- name: reservation_take
-- An agent holds a glob only once. In the same transaction, the caller has checked that no
-- other agent's reservation conflicts with the glob. The caller has compared each glob with all
-- rows of reservation_lines.
INSERT INTO reservation (id, team, agent, generation, paths, stem, shared, reason, lease_ms, lease_until, created_at)
VALUES (:id, :team, :agent, :generation, :paths, :stem, :shared, :reason, :lease_ms, :now + :lease_ms, :now)
ON CONFLICT (agent, paths) DO UPDATE SET generation = excluded.generation, stem = excluded.stem,
	shared = excluded.shared, reason = excluded.reason, lease_ms = excluded.lease_ms,
	lease_until = excluded.lease_until, created_at = excluded.created_at;

-- name: reservation_lines
-- row: reservation_line
-- Living reservations of a team, by number.  An :agent of 0 means the reservations of all
-- members.
SELECT r.id, r.agent, r.paths, r.shared, r.reason, r.lease_until, r.created_at, a.name
FROM reservation r JOIN agent a ON a.id = r.agent
WHERE :agent = 0 AND r.team = :team AND r.id > :after
	AND r.lease_until > :now AND a.gone = 0 AND a.generation = r.generation
UNION ALL
SELECT r.id, r.agent, r.paths, r.shared, r.reason, r.lease_until, r.created_at, a.name
FROM reservation r JOIN agent a ON a.id = r.agent
WHERE :agent <> 0 AND r.agent = :agent AND +r.team = :team AND r.id > :after
	AND r.lease_until > :now AND a.gone = 0 AND a.generation = r.generation
ORDER BY 1;

-- name: reservation_covering
-- row: reservation_line
-- scan ok: the rows of the caller's list
-- text: stems
-- Reservations that may cover a path: their globs begin with one of the names in :stems, or
-- with a wildcard.
SELECT r.id, r.agent, r.paths, r.shared, r.reason, r.lease_until, r.created_at, a.name
FROM reservation r JOIN agent a ON a.id = r.agent
WHERE r.team = :team AND r.stem IN (SELECT CAST(j.value AS TEXT) FROM json_each(:stems) j) AND r.id > :after
	AND (:agent = 0 OR r.agent = :agent)
	AND r.lease_until > :now AND a.gone = 0 AND a.generation = r.generation
ORDER BY +r.id;

-- name: reservation_release
DELETE FROM reservation WHERE agent = :agent AND generation = :generation AND paths = :paths
	AND lease_until > :now;

-- name: reservation_renew
-- Only a living reservation can be renewed.  After a reservation has ended, another agent may
-- have taken its paths.
UPDATE reservation SET lease_ms = CASE WHEN :lease_ms > 0 THEN :lease_ms ELSE lease_ms END,
	lease_until = :now + CASE WHEN :lease_ms > 0 THEN :lease_ms ELSE lease_ms END
WHERE agent = :agent AND generation = :generation AND paths = :paths AND lease_until > :now;

-- name: reservation_extend
-- Renews the holder's reservations whose remaining time is less than half of the lease.
UPDATE reservation SET lease_until = :now + lease_ms
WHERE agent = :agent AND generation = :generation AND lease_until > :now
	AND lease_until - :now < lease_ms / 2;

-- name: reservation_over
-- Reservations whose lease has run out, but whose row still exists.
SELECT id, team, agent, paths FROM reservation
WHERE lease_until <= :now ORDER BY lease_until, id LIMIT :limit;

-- name: reservation_end
DELETE FROM reservation WHERE id = :id;

-- name: reservation_end_team
DELETE FROM reservation WHERE team = :team;

-- name: reservation_gap
-- scan ok: reservations, few
-- Extends the leases of reservations by the length of a gap (see clock.tick), as task_gap
-- extends the leases of claims.
UPDATE reservation SET lease_until = lease_until + :gap_ms
WHERE lease_until - lease_ms <= :gap_since + 5000
	AND (lease_until > :gap_since OR :gap_ms < 0);

-- name: reservation_from_future
-- scan ok: reservations, few
-- If a reservation's lease begins at a time that is in the future, lets the lease begin again
-- now, as task_from_future does for claims.
UPDATE reservation SET lease_until = :now + lease_ms
WHERE lease_until > :now + lease_ms
	AND NOT EXISTS (SELECT 1 FROM team t WHERE t.id = reservation.team AND t.stopped_at IS NOT NULL);
