-- What only a running host asks for.

-- name: host_events
-- row: host_event
-- Events in order, with what is needed to know whom each one wakes: a message's
-- answer wakes who waits for it.  120 is message.sent.
SELECT e.seq, e.kind, e.team, e.subject, e.target, CASE WHEN e.kind = 120 THEN
	(SELECT m.reply_to FROM message m WHERE m.id = e.subject) END AS reply_to
FROM event e WHERE e.seq > :after ORDER BY e.seq LIMIT :limit;
