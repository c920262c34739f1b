-- Runners of agents, and their turns.

-- name: runner_set
-- A runner that is set again begins without failures.
INSERT INTO runner (agent, command) VALUES (:agent, :command)
ON CONFLICT (agent) DO UPDATE SET command = excluded.command, failures = 0, retry_at = NULL,
	stopped = 0, limited = 0,
	client_session = CASE WHEN runner.command = excluded.command THEN runner.client_session END;

-- name: runner_say
-- Stores in the agent's row whether the agent has a runner. Each message to the agent reads
-- this row.
UPDATE agent SET runs = :runs WHERE id = :agent AND runs <> :runs;

-- name: runner_any
-- scan ok: members of a team
-- Whether a member of a team, other than :except, has a runner.
SELECT EXISTS (SELECT 1 FROM agent WHERE team = :team AND gone = 0 AND runs = 1 AND id <> :except) AS any;

-- name: runner_remove
DELETE FROM runner WHERE agent = :agent;

-- name: runner_of
SELECT command, client_session, failures, limited, retry_at, told_in, told_out, told_cost
FROM runner WHERE agent = :agent;

-- name: runner_agents
-- scan ok: runners, few
-- Agents that have a runner and whose workspaces this host runs.
SELECT r.agent FROM runner r JOIN agent a ON a.id = r.agent JOIN workspace w ON w.id = a.workspace
WHERE a.gone = 0 AND w.host = :host ORDER BY r.agent;

-- name: runner_again
-- scan ok: runners, few
-- The next time at which a waiting runner may begin. A runner waits after a turn that failed or
-- was stopped. A runner also waits when the turns of its hour are used up. The result 0 means
-- that no runner waits.
SELECT coalesce(min(at), 0) AS at FROM (SELECT retry_at AS at FROM runner
	UNION ALL SELECT hour_at + 3600000 FROM runner WHERE hour_turns >= :per_hour) r
WHERE at > :now;

-- name: runner_leap
-- scan ok: runners, few
-- When the clock is set, the times of all retries and the hours of all runners move with the
-- clock.
UPDATE runner SET retry_at = retry_at + :leap_ms, hour_at = hour_at + :leap_ms
WHERE retry_at IS NOT NULL OR hour_turns > 0;

-- name: runner_from_future
-- scan ok: runners, few
-- No retry is later than :latest, unless the clock was put back after the retry was planned. A
-- retry later than :latest becomes due now. For a runner whose client has reached the limit of
-- its subscription, :end replaces :latest.
UPDATE runner SET retry_at = :now
WHERE retry_at > CASE WHEN limited > 0 THEN :end ELSE :latest END;

-- name: runner_hour_from_future
-- scan ok: runners, few
-- If the hour of an agent's turns begins in the future, the hour begins now instead.
UPDATE runner SET hour_at = :now WHERE hour_turns > 0 AND hour_at > :now;

-- name: turn_queue
-- scan ok: runners, few
-- Queues a turn for each agent that has mail and no open turn. The agent's runner must not have
-- failed for good, and must not wait for a retry. The agent's team must live. Mail at the end
-- of its chain (core/turn/chain.h) starts no turn. If an agent's turns of the hour are used up,
-- only a person's words start another turn.
INSERT INTO turn (id, team, agent, generation, host, command, state, request, queued_at)
SELECT (SELECT coalesce(max(id), 0) FROM turn) + row_number() OVER (ORDER BY r.agent),
	a.team, a.id, a.generation, w.host, r.command, {turn_state.queued}, 0, :now
FROM runner r JOIN agent a ON a.id = r.agent JOIN team t ON t.id = a.team
	JOIN workspace w ON w.id = a.workspace
WHERE a.gone = 0 AND t.destroyed_at IS NULL AND w.host = :host
	AND r.failures < :most AND (r.retry_at IS NULL OR r.retry_at <= :now)
	AND NOT EXISTS (SELECT 1 FROM turn u WHERE u.agent = a.id AND u.state IN {turn_state.open})
	AND EXISTS (SELECT 1 FROM delivery d JOIN message m ON m.id = d.message
		WHERE d.agent = a.id
		AND d.lane IN {delivery_lane.mail} AND d.state IN {delivery_state.open}
		AND d.state IN {delivery_state.waiting}
		AND (d.due_at IS NULL OR d.due_at > :now)
		AND (m.chain = 0 OR (m.chain < :chain
			AND (r.hour_turns < :per_hour OR abs(:now - r.hour_at) >= 3600000))));

-- name: turn_drop
-- Deletes a turn that has not started, when nothing is left for the turn to do.
DELETE FROM turn WHERE id = :id AND state = {turn_state.queued};

-- name: turn_unqueue
-- scan ok: turns that wait, few
-- Deletes waiting turns whose agent is gone or replaced, whose team is destroyed, or whose
-- runner is removed.
DELETE FROM turn WHERE state IN {turn_state.open} AND state = {turn_state.queued}
	AND NOT EXISTS (SELECT 1 FROM agent a JOIN team t ON t.id = a.team
		JOIN runner r ON r.agent = a.id
		WHERE a.id = turn.agent AND a.gone = 0 AND a.generation = turn.generation
			AND t.destroyed_at IS NULL);

-- name: turn_pick
-- scan ok: turns that are open, few
-- text: command
-- The turn that starts next on this host, while fewer than :most turns run on this host. The
-- team with the fewest running turns is first. Of the turns of one team, the oldest turn is
-- first. No turn starts in a team that is stopped, or that has used up a budget other than the
-- budget of messages. No turn starts before the turn's workspace is ready and the turn's runner
-- may begin again.
SELECT u.id, u.team, u.agent, a.workspace, r.command, r.client_session
FROM turn u JOIN agent a ON a.id = u.agent JOIN team t ON t.id = u.team
	JOIN runner r ON r.agent = u.agent JOIN workspace w ON w.id = a.workspace
WHERE u.state IN {turn_state.open} AND u.state = {turn_state.queued} AND w.host = :host
	AND w.state = {workspace_state.ready} AND t.stopped_at IS NULL
	AND (r.retry_at IS NULL OR r.retry_at <= :now)
	AND NOT EXISTS (SELECT 1 FROM spending s WHERE s.team = u.team AND s.most > 0
		AND s.kind <> {budget_kind.messages}
		AND s.most <= s.used + coalesce((:now - s.since) / 1000, 0) + s.reserved)
	AND (SELECT count(*) FROM turn o WHERE o.state IN {turn_state.open}
		AND o.state = {turn_state.streaming} AND o.host = :host) < :most
ORDER BY (SELECT count(*) FROM turn o WHERE o.state IN {turn_state.open}
	AND o.state = {turn_state.streaming} AND o.team = u.team), u.id
LIMIT 1;

-- name: turn_begin
UPDATE turn SET state = {turn_state.streaming}, started_at = :now, request = :request,
	host = :host, command = :command, newest = (SELECT coalesce(max(id), 0) FROM message)
WHERE id = :id AND state = {turn_state.queued};

-- name: turn_chain
-- The number of a turn in a chain of turns: see core/turn/chain.h.
SELECT CASE WHEN min(m.chain) = 0 THEN 1
	ELSE 1 + coalesce(max(CASE WHEN m.chain < :most THEN m.chain END), :most) END AS n
FROM turn_message x JOIN message m ON m.id = x.message WHERE x.turn = :turn;

-- name: runner_began
-- Counts a turn in the hour of its runner, unless a person's words are among the turn's
-- messages. A turn with a person's words (:chain = 1) sets the count to 0.
UPDATE runner SET hour_turns = CASE WHEN :chain = 1 THEN 0
		WHEN hour_turns = 0 OR abs(:now - hour_at) >= 3600000 THEN 1
		ELSE hour_turns + 1 END,
	hour_at = CASE WHEN :chain = 1 OR hour_turns = 0 OR abs(:now - hour_at) >= 3600000
		THEN :now ELSE hour_at END
WHERE agent = :agent RETURNING hour_turns AS n;

-- name: turn_message_add
INSERT INTO turn_message (turn, message) VALUES (:turn, :message);

-- name: turn_running
-- scan ok: turns that are open, few
-- The running turns of this host.
SELECT u.id FROM turn u
WHERE u.state IN {turn_state.open} AND u.state = {turn_state.streaming} AND u.host = :host
ORDER BY u.id;

-- name: turn_stops
-- scan ok: turns that are open, few
-- Running turns that the host must stop. A turn must stop if a waiting message interjects
-- (:interject is of enum interject). A turn must also stop if the agent is gone, was replaced
-- or has no runner any more. Messages that already waited when the turn began do not interject,
-- since otherwise many waiting messages would stop every turn. After :patience stopped turns in
-- a row, only messages of the operator and of the lead stop the next turn.
SELECT u.id FROM turn u JOIN agent a ON a.id = u.agent JOIN team t ON t.id = u.team
WHERE u.state IN {turn_state.open} AND u.state = {turn_state.streaming} AND u.host = :host
	AND (a.gone = 1 OR a.generation <> u.generation OR t.destroyed_at IS NOT NULL
		OR NOT EXISTS (SELECT 1 FROM runner r WHERE r.agent = u.agent)
		OR (:interject <> {interject.never} AND t.stopped_at IS NULL
			AND EXISTS (SELECT 1 FROM delivery d JOIN message m ON m.id = d.message
			WHERE d.agent = u.agent AND d.message > u.newest
			AND (m.chain = 0 OR m.chain < :chain AND NOT EXISTS (SELECT 1 FROM runner r
				WHERE r.agent = u.agent AND r.hour_turns >= :per_hour AND abs(:now - r.hour_at) < 3600000))
			AND ((SELECT stopped FROM runner r WHERE r.agent = u.agent) < :patience
				OR m.sender IN (SELECT s.id FROM agent s WHERE s.id = m.sender
					AND (s.kind = {agent_kind.operator} OR s.role = 'lead' OR s.name = 'lead')))
			AND (d.lane = {delivery_lane.urgent}
				OR (d.lane = {delivery_lane.normal} AND :interject = {interject.all}))
			AND d.state IN {delivery_state.open} AND d.state IN {delivery_state.waiting}
			AND (d.due_at IS NULL OR d.due_at > :now))))
ORDER BY u.id;

-- name: turn_by_id
-- row: turn
SELECT id, team, agent, generation, command, state, request, queued_at, started_at, ended_at,
	exit_code, reason, client_session, size, kept, tokens_in, tokens_out, cost,
	(SELECT count(*) FROM turn_message m WHERE m.turn = turn.id) AS messages,
	CAST(exit_code IS NOT NULL AS INTEGER) AS exited
FROM turn WHERE id = :id;

-- name: turn_last
-- The last started turn of an agent.
SELECT coalesce(max(id), 0) AS id FROM turn
WHERE agent = :agent AND state <> {turn_state.queued};

-- name: turn_lines
-- row: turn_line
-- Turns of a team, or of one agent, newest first.
SELECT u.id, a.name, u.state, u.queued_at, u.started_at, u.ended_at, u.exit_code, u.reason,
	u.size, u.tokens_in, u.tokens_out, u.cost,
	(SELECT count(*) FROM turn_message m WHERE m.turn = u.id) AS messages,
	CAST(u.exit_code IS NOT NULL AS INTEGER) AS exited
FROM (SELECT id FROM turn WHERE :agent = 0 AND team = :team AND id < :before
	UNION ALL SELECT id FROM turn WHERE agent = :agent AND id < :before
	ORDER BY 1 DESC LIMIT :limit) x JOIN turn u ON u.id = x.id JOIN agent a ON a.id = u.agent
ORDER BY x.id DESC;

-- name: turn_held_back
-- Whether an agent's turn is held back. The reason is delayed mail that would start the turn,
-- or a limit of the agent's client.
SELECT EXISTS (SELECT 1 FROM delayed WHERE agent = :agent AND due_at > :now)
	OR EXISTS (SELECT 1 FROM runner WHERE agent = :agent AND limited > 0 AND retry_at > :now) AS so;

-- name: turn_end
-- A turn ends only once.
UPDATE turn SET state = :state, ended_at = :now, reason = :reason,
	exit_code = CASE WHEN :exited <> 0 THEN :exit_code END, size = size + :dropped,
	tokens_in = :tokens_in, tokens_out = :tokens_out, cost = :cost
WHERE id = :id AND state = {turn_state.streaming};

-- name: runner_told
UPDATE runner SET told_in = :told_in, told_out = :told_out, told_cost = :told_cost
WHERE agent = :agent AND command = :command;

-- name: turn_print
-- Adds the size of new output (:n) to a running turn, and the size of the part that is kept
-- (:more).
UPDATE turn SET size = size + :n, client_session = coalesce(:client_session, client_session),
	kept = kept + :more
WHERE id = :id AND state = {turn_state.streaming};

-- name: turn_output_add
INSERT INTO turn_output (turn, start, at, text) VALUES (:turn, :start, :now, :text)
ON CONFLICT DO NOTHING;

-- name: turn_output_from
-- int: start
-- The output of a turn, beginning with the part that contains the byte :from.
SELECT o.start, o.text FROM turn_output o
WHERE o.turn = :turn AND o.start >= (SELECT coalesce(max(p.start), 0) FROM turn_output p
	WHERE p.turn = :turn AND p.start <= :from)
ORDER BY o.start;

-- name: runner_went
-- After a turn that ended well, the next turn continues the same session. While urgent mail
-- waits, the count of stopped turns is kept, so that the next turn also runs to its end. If
-- another agent with this client has met a limit meanwhile, this limit still holds.
UPDATE runner SET failures = 0, stopped = CASE WHEN stopped > 0 AND EXISTS (SELECT 1 FROM delivery d
		WHERE d.agent = :agent AND d.lane = {delivery_lane.urgent}
		AND d.state IN {delivery_state.open} AND d.state IN {delivery_state.waiting})
	THEN stopped ELSE 0 END,
	limited = CASE WHEN limited > 0 AND retry_at > :now THEN limited ELSE 0 END,
	retry_at = CASE WHEN limited > 0 AND retry_at > :now THEN retry_at END,
	client_session = coalesce(:client_session, client_session)
WHERE agent = :agent AND command = :command;

-- name: runner_failed
-- text: client_session
-- After a failed turn, the next turn starts later, unless the runner was replaced meanwhile.
-- After the first failure, the next turn continues the session that the failed turn reported,
-- if any. After each further failure in a row, the next turn begins a new session, since the
-- old session may be the cause. If another agent has met a longer limit meanwhile, this limit
-- still holds.
UPDATE runner SET failures = failures + 1, stopped = 0,
	limited = CASE WHEN limited > 0 AND retry_at > :retry_at THEN limited ELSE 0 END,
	retry_at = CASE WHEN limited > 0 AND retry_at > :retry_at THEN retry_at ELSE :retry_at END,
	client_session = CASE WHEN failures = 0 THEN :client_session END
WHERE agent = :agent AND command = :command RETURNING failures;

-- name: runner_kept
-- After an interrupted turn, the next turn begins a moment later and continues the same
-- session. If new mail from agents other than the lead waits, the turn counts as stopped by
-- this mail. If another agent has met a longer limit meanwhile, this limit still holds.
UPDATE runner SET client_session = coalesce(:client_session, client_session),
	retry_at = CASE WHEN limited > 0 AND retry_at > :retry_at THEN retry_at ELSE :retry_at END,
	stopped = stopped + CASE WHEN EXISTS (SELECT 1 FROM turn u JOIN delivery d ON d.agent = u.agent
		JOIN message m ON m.id = d.message JOIN agent s ON s.id = m.sender
		WHERE u.id = :turn AND d.message > u.newest AND d.lane IN {delivery_lane.mail}
			AND d.state IN {delivery_state.open} AND d.state IN {delivery_state.waiting}
			AND s.kind <> {agent_kind.operator} AND s.role <> 'lead' AND s.name <> 'lead')
	THEN 1 ELSE 0 END
WHERE agent = :agent AND command = :command RETURNING stopped AS n;

-- name: runner_limited
-- Stores that an agent's client has reached the limit of its subscription. The agent's turns
-- continue at :retry_at.
UPDATE runner SET limited = limited + (CASE WHEN limited > 0 AND retry_at > :now THEN 0 ELSE 1 END),
	retry_at = CASE WHEN retry_at > :retry_at THEN retry_at ELSE :retry_at END,
	client_session = coalesce(:client_session, client_session)
WHERE agent = :agent AND command = :command;

-- name: runner_freed
-- Stores that the agent's client is below its limit again.
UPDATE runner SET limited = 0, retry_at = NULL WHERE agent = :agent AND limited > 0;

-- name: runner_all
-- text: command
-- scan ok: runners, few
-- The runners of the agents whose workspaces this host runs, sorted by team.  In each team,
-- runners at a limit are listed first.
SELECT r.agent, r.command, r.limited, a.team FROM runner r JOIN agent a ON a.id = r.agent
	JOIN workspace w ON w.id = a.workspace
WHERE a.gone = 0 AND w.host = :host ORDER BY a.team, r.limited DESC, a.id;

-- name: gc_turn_outputs
DELETE FROM turn_output WHERE turn IN (SELECT u.id FROM turn u
	WHERE u.ended_at IS NOT NULL AND u.ended_at < :before
		AND EXISTS (SELECT 1 FROM turn_output o WHERE o.turn = u.id)
	ORDER BY u.ended_at NULLS FIRST LIMIT :limit);

-- name: gc_turn_messages
DELETE FROM turn_message WHERE turn IN (SELECT u.id FROM turn u
	WHERE u.ended_at IS NOT NULL AND u.ended_at < :before
		AND EXISTS (SELECT 1 FROM turn_message m WHERE m.turn = u.id)
	ORDER BY u.ended_at NULLS FIRST LIMIT :limit);

-- name: gc_turns
-- The newest turn is kept, so that no number is given twice.
DELETE FROM turn WHERE id IN (SELECT u.id FROM turn u
	WHERE u.ended_at IS NOT NULL AND u.ended_at < :before
		AND NOT EXISTS (SELECT 1 FROM turn_output o WHERE o.turn = u.id)
		AND NOT EXISTS (SELECT 1 FROM turn_message m WHERE m.turn = u.id)
	ORDER BY u.ended_at NULLS FIRST LIMIT :limit)
	AND id < (SELECT max(id) FROM turn);

-- name: history_turns
-- text: text
-- Started turns of an agent, newest first. The column `text` joins the parts of a turn's output
-- that begin before byte :most.
SELECT u.id, u.started_at, u.state, u.size,
	(SELECT group_concat(o.text, '') FROM (SELECT p.text FROM turn_output p
		WHERE p.turn = u.id AND p.start < :most ORDER BY p.start) o) AS text
FROM turn u
WHERE u.agent = :agent AND u.started_at IS NOT NULL AND u.id < :before
ORDER BY u.id DESC;

-- name: history_messages
-- text: name
-- Messages that an agent sent or got, except commands, newest first.  If :sender is not 0, only
-- messages of this sender are listed.  If :type is not NULL, only messages of this type are
-- listed.  If :own is not 0, only messages that the agent :own also sent or got are listed.
SELECT e.id, e.at, e.name, e.type, e.content, e.to_all,
	coalesce((SELECT max(x.turn) FROM turn_message x JOIN turn v ON v.id = x.turn
		WHERE x.message = e.id AND v.agent = :agent), 0) AS turn
FROM envelope e
WHERE e.id < :before AND :agent <> 0 AND e.type <> 'task_assignment'
	AND (e.team = :team OR e.abroad <> 0)
	AND (:sender = 0 OR e.sender = :sender) AND (:type IS NULL OR e.type = :type)
	AND ((e.sender = :agent AND e.team = :team) OR EXISTS (SELECT 1 FROM delivery d
		WHERE d.message = e.id AND d.agent = :agent))
	AND (:own = 0 OR e.sender = :own OR EXISTS (SELECT 1 FROM delivery d
		WHERE d.message = e.id AND d.agent = :own))
ORDER BY e.id DESC;
