-- Assignments and results.

-- name: assignment_add
INSERT INTO assignment (message, team, agent, sender, task, epoch, label, command,
	workdir, env, timeout_s)
VALUES (:message, :team, :agent, :sender, nullif(:task, 0), :epoch, :label, :command,
	:workdir, :env, :timeout_s);

-- name: assignment_count
UPDATE agent_inbox SET assignments = assignments + :n WHERE agent = :agent;

-- name: daemon_moved
UPDATE agent SET moved_at = :now WHERE id = :agent;

-- name: daemon_freed
-- When a command of a stuck daemon has ended, the daemon is no longer stuck, and its agent gets
-- the status `working` again.
UPDATE agent SET status = {agent_status.working} WHERE id = :agent AND status = {agent_status.stuck};

-- name: daemons_stuck
-- scan ok: agents with open assignments, few
-- A daemon is stuck when a command runs 30 s past the command's timeout. A daemon is also stuck
-- when it has made no progress for 30 s, fewer than 4 commands run, and a delivered command has
-- waited for 30 s.
SELECT a.id, a.team, a.name, t.inbox_capacity,
	EXISTS (SELECT 1 FROM assignment x WHERE x.agent = a.id AND x.state IN {assignment_state.open}
		AND x.state = {assignment_state.running} AND x.started_at + x.timeout_s * 1000 + 30000 < :now)
		AS overdue
FROM agent a JOIN team t ON t.id = a.team JOIN agent_inbox i ON i.agent = a.id
WHERE i.assignments > 0 AND a.gone = 0 AND t.stopped_at IS NULL AND a.status NOT IN {agent_status.stuck offline} AND (
	EXISTS (SELECT 1 FROM assignment x WHERE x.agent = a.id AND x.state IN {assignment_state.open}
		AND x.state = {assignment_state.running} AND x.started_at + x.timeout_s * 1000 + 30000 < :now)
	OR (a.moved_at + 30000 < :now
		AND EXISTS (SELECT 1 FROM assignment x JOIN delivery d
			ON d.message = x.message AND d.agent = x.agent
			WHERE x.agent = a.id AND x.state IN {assignment_state.open} AND x.state = {assignment_state.queued}
			AND d.notified_at + 30000 < :now)
		AND (SELECT count(*) FROM assignment x WHERE x.agent = a.id
			AND x.state IN {assignment_state.open} AND x.state = {assignment_state.running}) < 4));

-- name: assignment_gap
-- scan ok: open assignments, along their index
-- In a gap, a time without a host, no guest can report the end of a command. Therefore the
-- start of each running command is moved later by the length of the gap. For the commands of a
-- stopped team, the thaw moves the start (thaw_assignments).
UPDATE assignment SET started_at = started_at + :gap_ms
WHERE state IN {assignment_state.open} AND state = {assignment_state.running} AND started_at <= :gap_since + 5000
	AND NOT EXISTS (SELECT 1 FROM team t WHERE t.id = assignment.team AND t.stopped_at IS NOT NULL);

-- name: daemon_gap
-- scan ok: agents, few
UPDATE agent SET moved_at = moved_at + :gap_ms
WHERE id IN (SELECT agent FROM agent_inbox WHERE assignments > 0)
	AND moved_at <= :gap_since + 5000;

-- name: assignment_from_future
-- scan ok: open assignments, along their index
-- A command whose start is in the future gets the present time as its start.
UPDATE assignment SET started_at = :now
WHERE state IN {assignment_state.open} AND state = {assignment_state.running} AND started_at > :now
	AND NOT EXISTS (SELECT 1 FROM team t WHERE t.id = assignment.team AND t.stopped_at IS NOT NULL);

-- name: daemon_from_future
-- scan ok: agents, few
-- If the time of a daemon's last progress is in the future, the present time replaces it.
UPDATE agent SET moved_at = :now
WHERE id IN (SELECT agent FROM agent_inbox WHERE assignments > 0) AND moved_at > :now;

-- name: assignment_by_message
-- row: assignment
SELECT x.message, x.team, x.agent, x.sender, x.task, x.epoch, x.label, x.command,
	x.workdir, x.env, x.timeout_s, x.state, m.at
FROM assignment x JOIN message m ON m.id = x.message WHERE x.message = :message;

-- name: assignment_place
-- Tells whether commands can reach the daemon of an open assignment. `offered` is 1 if the
-- daemon has or may have the command. `state` is the state of the agent's workspace. `here` is
-- 1 if the workspace is on this host, and is being made or is ready. If the workspace is down,
-- the assignment waits until somebody starts the workspace.
SELECT x.offered, a.workspace, w.state,
	CAST(w.host = :host AND w.state IN {workspace_state.creating ready} AS INTEGER) AS here
FROM assignment x JOIN agent a ON a.id = x.agent LEFT JOIN workspace w ON w.id = a.workspace
WHERE x.message = :message;

-- name: assignment_redact
-- When the message of an ended command is redacted, replaces the command's text and removes its
-- environment.
UPDATE assignment SET command = :command, env = NULL
WHERE message = :message AND state NOT IN {assignment_state.open};

-- name: assignment_start
-- Marks an assignment as running, because the daemon runs the assignment's command.
UPDATE assignment SET state = {assignment_state.running}, started_at = :now
WHERE message = :message AND agent = :agent AND state = {assignment_state.queued};

-- name: assignment_finish
UPDATE assignment SET state = {assignment_state.done}
WHERE message = :message AND agent = :agent AND state IN {assignment_state.open};

-- name: assignment_offer
-- text: messages
-- :messages is an array of the assignments' message numbers. `offered` is set before the
-- assignments are sent to the daemon, because the daemon may run a command even if the sending
-- fails.
UPDATE assignment SET offered = 1
WHERE message IN (SELECT j.value FROM json_each(:messages) j) AND agent = :agent AND offered = 0;

-- name: assignment_withdraw
-- text: messages
-- :messages is an array of the message numbers of assignments that the daemon has refused. The
-- daemon keeps no part of a refused assignment.
UPDATE assignment SET offered = 0
WHERE message IN (SELECT j.value FROM json_each(:messages) j) AND agent = :agent
	AND state = {assignment_state.queued} AND offered = 1;

-- name: assignments_of_agent
-- row: assignments_running
SELECT message FROM assignment
WHERE agent = :agent AND state IN {assignment_state.open} ORDER BY message;

-- name: assignments_accepted
-- row: assignments_running
-- Open assignments, running or waiting, whose command an agent's daemon has or may have.
SELECT x.message FROM assignment x
WHERE x.agent = :agent AND x.state IN {assignment_state.open} AND (x.state = {assignment_state.running} OR x.offered = 1
	OR EXISTS (SELECT 1 FROM delivery d
		WHERE d.message = x.message AND d.agent = x.agent AND d.state = {delivery_state.notified}))
ORDER BY x.message;

-- name: assignments_open
-- row: assignments_running
-- scan ok: open assignments, along their index
SELECT message FROM assignment WHERE state IN {assignment_state.open} ORDER BY message;

-- name: assignments_of_task
-- Open assignments of a task whose claim has ended. If :running is 0, running assignments are
-- left out.
SELECT message, team, agent, state FROM assignment
WHERE task = :task AND state IN {assignment_state.open} AND (:running <> 0 OR state = {assignment_state.queued});

-- name: assignment_cancel
UPDATE assignment SET state = {assignment_state.cancelled}, recall = 1 WHERE message = :message AND state IN {assignment_state.open};

-- name: assignment_recalls
-- text: sender_name agent_name
-- Cancelled assignments that the daemon may still have, because the daemon does not yet know of
-- the cancellation.
SELECT x.message, m.at, m.type, s.name AS sender_name, a.name AS agent_name
FROM assignment x JOIN message m ON m.id = x.message JOIN agent s ON s.id = x.sender
JOIN agent a ON a.id = x.agent
WHERE x.agent = :agent AND x.recall = 1 ORDER BY x.message LIMIT :limit;

-- name: assignment_recalled
UPDATE assignment SET recall = 0
WHERE message = :message AND agent = :agent AND recall = 1;

-- name: assignment_lines
-- row: assignment_line
-- text: agent_name sender_name
-- Lists the commands of a team, or the commands for one agent, newest first. If :caller is not
-- 0, lists only commands that the caller received or gave.
SELECT x.message, m.at, x.label, x.state, x.command, a.name AS agent_name,
	s.name AS sender_name, r.success, r.stored_at
FROM (SELECT x.message FROM assignment x
	WHERE :agent = 0 AND :caller = 0 AND x.team = :team AND x.message < :before
	UNION ALL SELECT x.message FROM assignment x
	WHERE :agent <> 0 AND x.agent = :agent AND x.team = :team AND x.message < :before
		AND :caller IN (0, x.agent, x.sender)
	UNION ALL SELECT x.message FROM assignment x
	WHERE :agent = 0 AND :caller <> 0 AND x.agent = :caller AND x.team = :team AND x.message < :before
	UNION ALL SELECT x.message FROM assignment x
	WHERE :agent = 0 AND :caller <> 0 AND x.sender = :caller AND x.team = :team AND x.message < :before
		AND +x.agent <> :caller
	ORDER BY 1 DESC LIMIT :limit) o JOIN assignment x ON x.message = o.message
JOIN message m ON m.id = x.message JOIN agent a ON a.id = x.agent
JOIN agent s ON s.id = x.sender LEFT JOIN result r ON r.message = x.message
ORDER BY o.message DESC;

-- name: assignment_lines_open
-- row: assignment_line
-- text: agent_name sender_name
-- Open commands. The choice and the order of the commands are as in assignment_lines.
SELECT x.message, m.at, x.label, x.state, x.command, a.name AS agent_name,
	s.name AS sender_name, r.success, r.stored_at
FROM (SELECT x.message FROM assignment x
	WHERE :agent = 0 AND :caller = 0 AND x.team = :team AND x.message < :before
		AND x.state IN {assignment_state.open}
	UNION ALL SELECT x.message FROM assignment x
	WHERE :agent <> 0 AND x.agent = :agent AND +x.team = :team AND x.message < :before
		AND x.state IN {assignment_state.open}
		AND :caller IN (0, x.agent, x.sender)
	UNION ALL SELECT x.message FROM assignment x
	WHERE :agent = 0 AND :caller <> 0 AND x.agent = :caller AND +x.team = :team AND x.message < :before
		AND x.state IN {assignment_state.open}
	UNION ALL SELECT x.message FROM assignment x
	WHERE :agent = 0 AND :caller <> 0 AND x.sender = :caller AND +x.team = :team AND x.message < :before
		AND x.state IN {assignment_state.open}
		AND +x.agent <> :caller
	ORDER BY 1 DESC LIMIT :limit) o JOIN assignment x ON x.message = o.message
JOIN message m ON m.id = x.message JOIN agent a ON a.id = x.agent
JOIN agent s ON s.id = x.sender LEFT JOIN result r ON r.message = x.message
ORDER BY o.message DESC;

-- name: result_add
-- Only the first result of a command is stored. A later result is ignored.
INSERT INTO result (message, team, agent, sender, success, exit_code, stdout, stderr,
	elapsed_s, stored_at)
VALUES (:message, :team, :agent, :sender, :success, :exit_code, :stdout, :stderr,
	:elapsed_s, :now)
ON CONFLICT DO NOTHING;

-- name: result_by_message
-- row: result
-- text: agent_name stdout stderr
SELECT r.message, r.sender, r.agent, r.success, r.exit_code, r.elapsed_s, r.stored_at,
	m.at, x.label, a.name AS agent_name,
	substr(CAST(r.stdout AS BLOB), :first, :stdout_length) AS stdout,
	substr(CAST(r.stderr AS BLOB), :first, :stderr_length) AS stderr,
	length(CAST(r.stdout AS BLOB)) AS stdout_size,
	length(CAST(r.stderr AS BLOB)) AS stderr_size
FROM result r JOIN assignment x ON x.message = r.message
JOIN message m ON m.id = r.message JOIN agent a ON a.id = r.agent
WHERE r.message = :message;

-- name: result_ended
SELECT success FROM result WHERE message = :message;

-- name: results_of_sender
-- Results of assignments that an agent sent, oldest first.  Results that were already collected
-- are left out.
-- row: result_line
-- text: agent_name stdout stderr
SELECT message, success, exit_code, elapsed_s, stored_at, at, label, agent_name, stdout,
	stderr, stdout_size, stderr_size
FROM result_line
WHERE sender = :agent AND collected_at IS NULL ORDER BY message LIMIT :limit;

-- name: results_by_agent
-- Results of assignments that an agent's daemon ran, oldest first. Results that were already
-- collected are left out.
-- row: result_line
-- text: agent_name stdout stderr
SELECT message, success, exit_code, elapsed_s, stored_at, at, label, agent_name, stdout,
	stderr, stdout_size, stderr_size
FROM result_line
WHERE agent = :agent AND collected_at IS NULL ORDER BY message LIMIT :limit;

-- name: results_of_request
-- Results that the request :request has collected. If a caller repeats the request within a
-- day, the caller gets these results again.
-- row: result_line
-- text: agent_name stdout stderr
SELECT message, success, exit_code, elapsed_s, stored_at, at, label, agent_name, stdout,
	stderr, stdout_size, stderr_size
FROM result_line
WHERE request = :request AND (sender = :agent OR agent = :agent)
	AND collected_at > :since ORDER BY message;

-- name: results_unseen
-- row: result_line
-- text: agent_name stdout stderr
-- Results that were sent in an answer, while the caller has not confirmed that it received the
-- answer. The session that collected a result may collect the result again at once. Another
-- session of the sender may collect the result one lease after the first collection (:lapsed is
-- one lease ago). If the clock was put back after the first collection, the other session need
-- not wait.
SELECT message, success, exit_code, elapsed_s, stored_at, at, label, agent_name, stdout,
	stderr, stdout_size, stderr_size
FROM result_line
WHERE message IN (SELECT message FROM result
		WHERE sender = :agent AND seen = 0 AND collected_at > :since
			AND (session = :session OR collected_at <= :lapsed OR collected_at > :now)
	UNION ALL SELECT message FROM result
		WHERE agent = :agent AND seen = 0 AND collected_at > :since
			AND session = :session)
ORDER BY message LIMIT :limit;

-- name: results_all
-- row: result_line
-- text: agent_name stdout stderr
-- Results, newest first. The results are chosen by the same rules as the commands in
-- assignment_lines.
SELECT l.message, l.success, l.exit_code, l.elapsed_s, l.stored_at, l.at, l.label, l.agent_name,
	l.stdout, l.stderr, l.stdout_size, l.stderr_size
FROM (SELECT r.message FROM result r
	WHERE :agent = 0 AND :caller = 0 AND r.team = :team AND r.message < :before
	UNION ALL SELECT r.message FROM result r
	WHERE :agent <> 0 AND r.agent = :agent AND r.team = :team AND r.message < :before
		AND :caller IN (0, r.agent, r.sender)
	UNION ALL SELECT r.message FROM result r
	WHERE :agent = 0 AND :caller <> 0 AND r.agent = :caller AND r.team = :team AND r.message < :before
	UNION ALL SELECT r.message FROM result r
	WHERE :agent = 0 AND :caller <> 0 AND r.sender = :caller AND r.team = :team AND r.message < :before
		AND +r.agent <> :caller
	ORDER BY 1 DESC LIMIT :limit) o JOIN result_line l ON l.message = o.message
ORDER BY o.message DESC;

-- name: result_collect
-- :seen is 1 if the caller will not confirm that it received the answer with the result.
UPDATE result SET collected_at = :now, request = nullif(:request, 0),
	session = nullif(:session, 0), seen = :seen
WHERE message = :message AND collected_at IS NULL;

-- name: result_recollect
-- A result is handed out again. The column collected_at keeps the time of the first collection.
UPDATE result SET request = nullif(:request, 0), session = nullif(:session, 0)
WHERE message = :message;

-- name: result_seen
UPDATE result SET seen = 1 WHERE request = :request;

-- name: result_unhand
-- Makes the results of a lost answer uncollected, so that a later request gets the results.
UPDATE result SET collected_at = NULL, request = NULL, session = NULL
WHERE request = :request AND seen = 0 RETURNING message, agent, sender;

-- name: agent_collected
-- Most agents never collect a result. As long as an agent's collected_at is NULL, no statement
-- searches for results that the agent collected before.
UPDATE agent_inbox SET collected_at = :now WHERE agent = :agent;

-- name: assignment_of_task
-- The newest assignment of a board task. If :ended is not 0, only assignments with a result are
-- considered.
SELECT x.message, m.at FROM assignment x JOIN message m ON m.id = x.message
WHERE x.task = :task
	AND (:ended = 0 OR EXISTS (SELECT 1 FROM result r WHERE r.message = x.message))
ORDER BY x.message DESC LIMIT 1;

-- name: assignment_of_label
-- The newest assignment with the label :label, which the sender gave the assignment. If :ended
-- is not 0, only assignments with a result are considered. If :caller is not 0, only
-- assignments that the caller received or sent are considered.
SELECT x.message FROM assignment x
WHERE x.team = :team AND x.label = :label
	AND (:caller = 0 OR x.agent = :caller OR x.sender = :caller)
	AND (:ended = 0 OR EXISTS (SELECT 1 FROM result r WHERE r.message = x.message))
ORDER BY x.message DESC LIMIT 1;
