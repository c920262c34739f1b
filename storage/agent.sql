-- Agents.

-- name: agent_new_id
-- row: new_id
SELECT coalesce(max(id), 0) + 1 AS id FROM agent;

-- name: agent_add
-- A token is made from an agent's id and generation. In a state that was restored from a
-- backup, a new agent may get the id and the generation of an agent that was made after the
-- backup. To avoid equal tokens, a new generation is above counts_from, which state_renew
-- raises. If an earlier agent of the same name has left the team or changed its name, the new
-- generation is also above the earlier agent's generation.
INSERT INTO agent (id, team, name, kind, role, description, project, status, created_at,
	active_at, nests, holder, generation, first_generation, made_after)
SELECT :id, :team, :name, :kind, :role, :description, :project, :status, :now, :now,
	:nests, nullif(:holder, 0), g.own, g.own, (SELECT coalesce(max(seq), 0) FROM event)
FROM (SELECT max(former) + 1 AS own FROM (
	SELECT counts_from AS former FROM state WHERE one = 1
	UNION ALL SELECT generation FROM agent WHERE team = :team AND name = :name AND gone = 1
	UNION ALL SELECT generation FROM name_given_up WHERE team = :team AND name = :name) f) g
WHERE true
ON CONFLICT DO NOTHING RETURNING generation;

-- name: agent_made
SELECT made_after FROM agent WHERE id = :agent;

-- name: agent_greeting
-- The first message that was sent to an agent at the time at which the agent was made.
-- scan ok: the event log, from the making of the agent to the first message to the agent
SELECT e.subject AS message, e.at FROM agent a JOIN event e ON e.seq > a.made_after
WHERE a.id = :agent AND e.kind = {event.message_sent} AND e.target = a.id AND e.at = a.created_at
ORDER BY e.seq LIMIT 1;

-- name: agent_nests
SELECT nests FROM agent WHERE id = :agent;

-- name: agent_inbox_add
-- Every agent has an inbox. The operator's place in a team has an inbox, too.
INSERT INTO agent_inbox (agent, operator) VALUES (:agent, :operator);

-- name: agent_set_token
UPDATE agent SET token = :token WHERE id = :agent;

-- name: agent_by_name
-- row: agent
-- kept: every send asks
SELECT id, team, name, kind, role, generation, token, description, project,
	input_schema, output_schema, status, workspace, active_at, gone, runs
FROM agent WHERE team = :team AND name = :name AND gone = 0;

-- name: agents_with_role
-- row: agent
-- The members with the role :role, without the agent :except, in the order in which the members
-- joined.
SELECT id, team, name, kind, role, generation, token, description, project,
	input_schema, output_schema, status, workspace, active_at, gone, runs
FROM agent
WHERE team = :team AND gone = 0 AND kind = {agent_kind.member} AND role = :role AND id <> :except
ORDER BY id;

-- name: agents_reading
-- row: agent
-- The members who receive a broadcast. delivery_add_all chooses the same members.
SELECT id, team, name, kind, role, generation, token, description, project,
	input_schema, output_schema, status, workspace, active_at, gone, runs
FROM agent
WHERE team = :team AND gone = 0 AND kind = {agent_kind.member} AND id <> :except
	AND (role <> 'observer' OR name = 'lead')
ORDER BY name;

-- name: agent_names
-- The names of a team's members, without the agent :except.
SELECT name FROM agent
WHERE team = :team AND gone = 0 AND kind = {agent_kind.member} AND id <> :except
ORDER BY name;

-- name: agent_across
-- row: agent
-- text: team_name
-- The agent :name of another team, if a member of the team :own may write to it. Every member
-- may write to the lead of a team directly below :own. The lead of :own (:leads) may also write
-- to the members of the team above :own. The name `lead` means the agent that leads the team.
SELECT a.id, a.team, a.name, a.kind, a.role, a.generation, a.token, a.description, a.project,
	a.input_schema, a.output_schema, a.status, a.workspace, a.active_at, a.gone, a.runs
FROM team t JOIN agent a ON a.team = t.id, (SELECT parent FROM team WHERE id = :own) o
WHERE t.name = :team_name AND t.destroyed_at IS NULL AND a.gone = 0
	AND a.kind = {agent_kind.member}
	AND (t.parent = :own OR (:leads <> 0 AND t.id = o.parent))
	AND CASE WHEN t.parent = :own OR :name = 'lead'
		THEN :name IN ('lead', a.name) AND a.id = (SELECT min(l.id) FROM agent l
			WHERE l.team = t.id AND l.gone = 0 AND l.kind = {agent_kind.member}
				AND (l.role = 'lead' OR l.name = 'lead'))
		ELSE a.name = :name END;

-- name: agent_roles
-- The roles of a team's members.
SELECT role FROM agent WHERE team = :team AND gone = 0 AND kind = {agent_kind.member}
GROUP BY role ORDER BY role LIMIT :limit;

-- name: agent_by_id
-- row: agent
SELECT id, team, name, kind, role, generation, token, description, project,
	input_schema, output_schema, status, workspace, active_at, gone, runs
FROM agent WHERE id = :id;

-- name: agent_endpoints
-- The addresses at which an agent is reached in its workspace, while the workspace is ready.
SELECT w.http, w.cid, w.address FROM agent a JOIN workspace w ON w.id = a.workspace
WHERE a.id = :agent AND w.state = {workspace_state.ready};

-- name: agent_holds
-- Whether an agent holds a task at :now.
SELECT EXISTS (SELECT 1 FROM task k WHERE k.owner = :agent
	AND (k.lease_until IS NULL OR k.lease_until > :now)) AS any;

-- name: agent_name
SELECT name FROM agent WHERE id = :id;

-- columns: blocked_why
-- Why a task `k` is blocked; NULL for a task that is not blocked.
CASE WHEN k.state = {task_state.blocked} THEN coalesce((SELECT substr(e.detail, 1, 200) FROM event e
	WHERE e.subject = k.id AND e.kind BETWEEN {events.task} AND e.kind = {event.task_blocked}
	ORDER BY e.seq DESC LIMIT 1), 'the event log does not have the reason any more') END

-- columns: held_first
-- The task that comes first among the tasks that an agent `a` holds: a task in work before a
-- blocked task, then the latest change.
(SELECT h.id FROM task h WHERE h.owner = a.id AND (h.lease_until IS NULL OR h.lease_until > :now)
	ORDER BY CASE h.state WHEN {task_state.blocked} THEN 1 ELSE 0 END, h.updated_at DESC LIMIT 1)

-- columns: held_also
-- The tasks that the owner of a task `k` holds besides `k`, at most 3.
(SELECT group_concat(o.text, ', ') FROM (
	SELECT printf('%03d', h.number) || CASE h.state WHEN {task_state.blocked} THEN ' blocked' ELSE '' END AS text
	FROM task h WHERE h.owner = k.owner AND h.id <> k.id
		AND (h.lease_until IS NULL OR h.lease_until > :now)
	ORDER BY h.number LIMIT 3) o)

-- columns: claimed_at
-- When a task `k` was claimed, or last changed if the event log has lost the claim.
coalesce((SELECT e.at FROM event e
	WHERE e.subject = k.id AND e.kind BETWEEN {events.task} AND e.kind = {event.task_claimed}
	ORDER BY e.seq DESC LIMIT 1), k.updated_at)

-- name: agent_lines
-- into: agent_line
-- int: queued
-- text: after role skill also
-- The members of a team. If a role or a skill is given, only members who have it are listed.
SELECT a.name, a.role, a.status, i.queued + coalesce((SELECT sum(CAST(until > :now AS INTEGER) - waits)
		FROM inbox_due u WHERE +u.agent = a.id AND u.due_at <= :now), 0) AS queued,
	a.active_at AS last_active, a.project,
	CASE WHEN k.id IS NOT NULL THEN printf('%03d', k.number) END AS task,
	CASE WHEN k.id IS NOT NULL THEN {columns.claimed_at} END AS claimed_at,
	{columns.blocked_why} AS blocked, CASE WHEN k.id IS NOT NULL THEN {columns.held_also} END AS also
FROM agent a JOIN agent_inbox i ON i.agent = a.id
LEFT JOIN task k ON k.id = {columns.held_first}
WHERE a.team = :team AND a.gone = 0 AND a.kind = {agent_kind.member} AND a.name > :after
	AND (:role IS NULL OR a.role = :role)
	AND (:skill IS NULL OR EXISTS (SELECT 1 FROM agent_skill s
		WHERE s.agent = a.id AND s.skill = :skill))
ORDER BY a.name;

-- name: agent_next_generation
UPDATE agent SET token = NULL, active_at = :now, status = {agent_status.ready},
	generation = coalesce((SELECT counts_from FROM state WHERE one = 1 AND counts_from > generation), generation) + 1
WHERE id = :agent RETURNING generation;

-- name: agent_first_generation
-- Whether an agent still has its first generation, and no restore has happened since the agent
-- was made.
SELECT a.generation = a.first_generation AND a.generation > s.counts_from AND a.gone = 0
	AS is_first FROM agent a JOIN state s ON s.one = 1
WHERE a.id = :agent;

-- name: agent_discard
-- Makes an agent's open mail dead, for example the mail that a new generation of the agent
-- refuses.
UPDATE delivery SET state = {delivery_state.dead}, due_at = NULL, done_at = :now
WHERE agent = :agent AND state IN {delivery_state.open} AND lane IN {delivery_lane.mail} RETURNING message;

-- name: agent_unlease
-- Puts the leased mail of an agent back into its inbox, for the agent's new generation.
UPDATE delivery SET state = {delivery_state.queued}, session = NULL, request = NULL, shown_at = NULL,
	due_at = (SELECT m.expires_at FROM message m WHERE m.id = delivery.message)
WHERE agent = :agent AND state IN {delivery_state.open} AND state = {delivery_state.fetched} AND lane IN {delivery_lane.mail}
RETURNING message;

-- name: member_move_mail
-- int: to
-- Moves the open mail of a leaving member to another member, except messages that the other
-- member already has.
UPDATE delivery SET agent = :to, attempt = 0, state = {delivery_state.queued}, notified_at = NULL,
	shown_at = NULL
WHERE agent = :agent AND state IN {delivery_state.open} AND lane IN {delivery_lane.mail}
	AND NOT EXISTS (SELECT 1 FROM delivery o
		WHERE o.message = delivery.message AND o.agent = :to)
RETURNING message;

-- name: agent_seats
-- Each lead's place that an agent holds in a living lower team. The agent holds the place
-- directly, or through another place that the agent holds.
WITH RECURSIVE place (id, team) AS (
	SELECT a.id, a.team FROM agent a WHERE a.holder = :agent AND a.gone = 0
	UNION ALL SELECT a.id, a.team FROM place p JOIN agent a ON a.holder = p.id
	WHERE a.holder IS NOT NULL AND a.gone = 0)
SELECT id, team FROM place ORDER BY id;

-- name: member_seats
-- int: to
-- scan ok: agents that live
-- Gives the member :to each lead's place that a leaving member held in a lower team.
UPDATE agent SET holder = :to WHERE holder = :agent AND gone = 0;

-- name: member_end
-- Marks a member as gone. A member who is gone can make no call, and another agent may get the
-- member's name.
UPDATE agent SET gone = 1, token = NULL, status = {agent_status.offline}
WHERE id = :agent AND gone = 0;

-- name: agent_recount
-- Counts the open deliveries of an inbox again, and stores the numbers in the inbox's row.
UPDATE agent_inbox SET
	queued = (SELECT count(*) FROM delivery d WHERE d.agent = :agent
		AND d.state IN {delivery_state.open} AND d.state IN {delivery_state.waiting} AND d.lane IN {delivery_lane.mail}),
	leased = (SELECT count(*) FROM delivery d WHERE d.agent = :agent
		AND d.state IN {delivery_state.open} AND d.state = {delivery_state.fetched} AND d.lane IN {delivery_lane.mail})
WHERE agent = :agent;

-- name: agent_claims
-- The claims of an agent, which the agent's next generation does not inherit.
SELECT id, team, state, open_deps FROM task WHERE owner = :agent;

-- name: agent_set_name
UPDATE agent SET name = :name WHERE id = :agent AND NOT EXISTS (SELECT 1 FROM agent o
	WHERE o.team = agent.team AND o.name = :name AND o.gone = 0 AND o.id <> agent.id);

-- name: name_give_up
INSERT INTO name_given_up (team, name, generation) VALUES (:team, :name, :generation)
ON CONFLICT (team, name) DO UPDATE SET generation = excluded.generation
WHERE name_given_up.generation < excluded.generation;

-- name: agent_set_card
-- A schema of two bytes is the text `{}`. The text `{}` removes the stored schema.
UPDATE agent SET project = nullif(coalesce(:project, project), ''),
	description = coalesce(:description, description),
	input_schema = CASE WHEN :input_schema IS NULL THEN input_schema
		WHEN length(:input_schema) > 2 THEN :input_schema END,
	output_schema = CASE WHEN :output_schema IS NULL THEN output_schema
		WHEN length(:output_schema) > 2 THEN :output_schema END
WHERE id = :agent;

-- name: agent_set_role
UPDATE agent SET role = :role, description = :description WHERE id = :agent;

-- name: agent_unassign
-- scan ok: tasks of a team, along their index
-- An agent that becomes an observer, or leaves, can claim no task. Any agent may then claim the
-- pending tasks that were assigned to this agent.
UPDATE task SET assignee = NULL WHERE team = :team AND state = {task_state.pending}
	AND assignee = :agent;

-- name: agent_set_status
UPDATE agent SET status = :status, active_at = :now
WHERE id = :agent AND status <> :status;

-- name: agent_set_chain
UPDATE agent SET chain = :chain WHERE id = :agent AND chain <> :chain;

-- name: agent_raise_chain
UPDATE agent SET chain = :chain WHERE id = :agent AND chain < :chain;

-- name: agent_set_workspace
UPDATE agent SET workspace = nullif(:workspace, 0) WHERE id = :agent;

-- name: agent_skills
SELECT skill FROM agent_skill WHERE agent = :agent ORDER BY n;

-- name: agent_skills_clear
DELETE FROM agent_skill WHERE agent = :agent;

-- name: agent_skill_add
INSERT INTO agent_skill (agent, n, skill) VALUES (:agent, :n, :skill);

-- name: agent_protocols
SELECT protocol FROM agent_protocol WHERE agent = :agent ORDER BY n;

-- name: agent_protocols_clear
DELETE FROM agent_protocol WHERE agent = :agent;

-- name: agent_protocol_add
INSERT INTO agent_protocol (agent, n, protocol) VALUES (:agent, :n, :protocol);

-- name: agent_held
SELECT count(*) AS n FROM task
WHERE owner = :agent AND (lease_until IS NULL OR lease_until > :now);

-- name: agent_tokens
-- scan ok: asked when a host starts, by `doctor` and after a restore
-- The token hashes of the newest living agents.
SELECT id, generation, token FROM agent WHERE token IS NOT NULL AND gone = 0
ORDER BY id DESC LIMIT 1000;
