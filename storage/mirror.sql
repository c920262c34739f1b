-- Rows for the mirror. The mirror shows the state that a row holds, and does not check whether
-- a lease has ended. The numbers of several rows are passed as a JSON array (`ids`). So the
-- mirror reads the rows of many tasks by one query per table, not by one query per task.

-- name: mirror_head
-- always
-- scan ok: the first and the last event of the log
SELECT s.incarnation, (SELECT coalesce(max(seq), 0) FROM event) AS newest,
	(SELECT coalesce(min(seq), 1) FROM event) AS oldest
FROM state s WHERE s.one = 1;

-- name: mirror_events
-- Events of mail are skipped within SQLite, unless the mirror logs mail.
SELECT seq, kind, team, actor, subject, target, detail FROM event
WHERE seq > :after AND seq <= :upto
	AND (kind BETWEEN {events.team} OR kind BETWEEN {events.agent}
		OR kind BETWEEN {events.workspace} OR kind BETWEEN {events.task}
		OR kind = {event.message_redacted} OR (:mail <> 0 AND kind = {event.message_sent}))
ORDER BY seq LIMIT :limit;

-- name: mirror_renames
-- The former names of teams, one row for each renaming.
SELECT team, detail AS was FROM event
WHERE seq > :after AND seq <= :upto AND kind = {event.team_updated} AND detail <> ''
ORDER BY seq;

-- name: mirror_task_ids
SELECT k.id FROM task k JOIN team t ON t.id = k.team
WHERE k.id > :after AND t.destroyed_at IS NULL ORDER BY k.id LIMIT :limit;

-- name: mirror_tasks_of
SELECT id FROM task WHERE team = :team ORDER BY id;

-- name: mirror_agent_ids
SELECT a.id FROM agent a JOIN team t ON t.id = a.team
WHERE a.id > :after AND t.destroyed_at IS NULL ORDER BY a.id LIMIT :limit;

-- name: mirror_agents_of
SELECT id FROM agent WHERE team = :team AND gone = 0 AND kind = {agent_kind.member} ORDER BY id;

-- name: mirror_doors_below
-- row: mirror_agents_of
-- scan ok: a team and the teams below
-- The members of a team, and of all teams below, who have a workspace.
WITH RECURSIVE below (id) AS (
	SELECT :team
	UNION ALL SELECT c.id FROM below JOIN team c ON c.parent = below.id
	WHERE c.destroyed_at IS NULL)
SELECT a.id FROM below JOIN agent a ON a.team = below.id
WHERE a.gone = 0 AND a.kind = {agent_kind.member} AND a.workspace IS NOT NULL ORDER BY a.id;

-- name: mirror_team_ids
SELECT id FROM team WHERE id > :after ORDER BY id LIMIT :limit;

-- name: mirror_workspace_agent
SELECT agent FROM workspace WHERE id = :id AND agent IS NOT NULL;

-- name: mirror_dependents
-- scan ok: the rows of the caller's list
-- text: ids
-- Tasks that depend on a task in :ids, and therefore show the state of the task in :ids in
-- `blocked_by`.
SELECT d.task FROM json_each(:ids) j JOIN task_dep d ON d.dep = j.value;

-- name: mirror_tasks
-- scan ok: the rows of the caller's list
-- text: ids team_name holder_name assignee_name creator_name
SELECT k.id, k.team, t.name AS team_name, t.destroyed_at, k.number, k.slug, k.title, k.description,
	k.priority, k.state, o.name AS holder_name, s.name AS assignee_name,
	c.name AS creator_name, k.epoch, k.created_at, k.updated_at, k.ended_at, k.result
FROM json_each(:ids) j JOIN task k ON k.id = j.value JOIN team t ON t.id = k.team
JOIN agent c ON c.id = k.created_by
LEFT JOIN agent o ON o.id = coalesce(k.owner, k.ended_by)
LEFT JOIN agent s ON s.id = k.assignee
ORDER BY k.id;

-- name: mirror_deps
-- scan ok: the rows of the caller's list
-- text: ids
SELECT d.task, o.number, o.state
FROM json_each(:ids) j JOIN task_dep d ON d.task = j.value
JOIN task o ON o.id = d.dep ORDER BY d.task, o.number;

-- name: mirror_tags
-- scan ok: the rows of the caller's list
-- text: ids
SELECT g.task, g.tag
FROM json_each(:ids) j JOIN task_tag g ON g.task = j.value ORDER BY g.task, g.n;

-- name: mirror_criteria
-- scan ok: the rows of the caller's list
-- text: ids
SELECT c.task, c.text, c.done
FROM json_each(:ids) j JOIN task_criterion c ON c.task = j.value
ORDER BY c.task, c.n;

-- name: mirror_notes
-- scan ok: the rows of the caller's list
-- text: ids
SELECT n.task, a.name, n.at, n.text
FROM json_each(:ids) j JOIN task_note n ON n.task = j.value
JOIN agent a ON a.id = n.agent ORDER BY n.task, n.id;

-- name: mirror_agents
-- scan ok: the rows of the caller's list
-- An agent `holds` a task if the task's row names the agent as owner.
-- text: ids team_name parent_name
SELECT a.id, a.team, t.name AS team_name,
	(SELECT p.name FROM team p WHERE p.id = t.parent) AS parent_name, t.destroyed_at, a.name, a.kind, a.gone, a.role,
	a.description, a.status, a.generation, a.project, a.input_schema,
	a.output_schema, CASE WHEN w.state = {workspace_state.ready} THEN w.http END AS http,
	CASE WHEN w.state = {workspace_state.ready} THEN w.cid END AS cid,
	CASE WHEN w.state = {workspace_state.ready} THEN w.address END AS address, a.workspace, w.fault,
	w.created_at AS workspace_at,
	EXISTS (SELECT 1 FROM task k WHERE k.owner = a.id) AS holds
FROM json_each(:ids) j JOIN agent a ON a.id = j.value JOIN team t ON t.id = a.team
LEFT JOIN workspace w ON w.id = a.workspace ORDER BY a.id;

-- name: mirror_agent_called
-- text: team_name
-- A living team with the name :team_name, and its member with the name :name if this member
-- exists.
SELECT t.id AS team, a.id FROM team t LEFT JOIN agent a ON a.team = t.id AND a.name = :name
	AND a.gone = 0 AND a.kind = {agent_kind.member}
WHERE t.name = :team_name AND t.destroyed_at IS NULL;

-- name: mirror_skills
-- scan ok: the rows of the caller's list
-- text: ids
SELECT s.agent, s.skill
FROM json_each(:ids) j JOIN agent_skill s ON s.agent = j.value
ORDER BY s.agent, s.n;

-- name: mirror_protocols
-- scan ok: the rows of the caller's list
-- text: ids
SELECT p.agent, p.protocol
FROM json_each(:ids) j JOIN agent_protocol p ON p.agent = j.value
ORDER BY p.agent, p.n;

-- name: mirror_team
-- text: parent_name
SELECT t.id, t.name, (SELECT p.name FROM team p WHERE p.id = t.parent AND p.destroyed_at IS NULL)
		AS parent_name, t.created_at, t.destroyed_at, t.state, t.purge, t.max_vms,
	EXISTS (SELECT 1 FROM team o WHERE o.name = t.name AND o.id <> t.id
		AND o.destroyed_at IS NULL) AS followed
FROM team t WHERE t.id = :id;

-- name: mirror_below
-- The living teams directly below a team.
SELECT name FROM team WHERE parent = :team AND destroyed_at IS NULL ORDER BY name;

-- name: mirror_budgets
-- int: reserved
-- A team's limits. Tokens and cost are listed even without a limit, if the team has used some.
-- Time and messages are used up without an event. So for time and messages a page shows only
-- the limits.
SELECT s.kind, s.most, s.used, s.reserved FROM spending s
WHERE s.team = :team AND (s.most > 0 OR s.used > 0)
	AND (s.most > 0 OR s.kind IN {budget_kind.tokens cost}) ORDER BY s.kind;

-- name: mirror_kin
-- The team above :team, and the teams directly below. The mirror's pages of these teams show
-- the name of :team.
SELECT id FROM team WHERE id = (SELECT o.parent FROM team o WHERE o.id = :team)
UNION ALL SELECT id FROM team WHERE parent = :team AND destroyed_at IS NULL;

-- name: mirror_team_lives
SELECT id FROM team WHERE name = :name AND destroyed_at IS NULL;

-- name: mirror_members
-- scan ok: agents, few
SELECT name, role, status, description,
	EXISTS (SELECT 1 FROM task k WHERE k.owner = agent.id) AS holds
FROM agent WHERE team = :team AND kind = {agent_kind.member} AND gone = :gone ORDER BY name;

-- name: mirror_index
-- If a task has ended, the task's holder is the agent that ended the task, and `at` is the time
-- of the end.
-- text: holder_name blockers
SELECT k.number, k.slug, k.title, k.priority, coalesce(k.ended_at, k.updated_at) AS at,
	o.name AS holder_name,
	(SELECT group_concat(printf('%03d', b.number), ', ')
		FROM task_dep d JOIN task b ON b.id = d.dep
		WHERE d.task = k.id AND b.state <> {task_state.completed}) AS blockers
FROM task k LEFT JOIN agent o ON o.id = coalesce(k.owner, k.ended_by)
WHERE k.team = :team AND k.state = :state
ORDER BY k.priority, k.number LIMIT :limit;

-- name: mirror_slugs
-- The names of the files that a team's folder of tasks should hold.
SELECT id, number, slug FROM task WHERE team = :team ORDER BY number;

-- name: mirror_lag
-- How many events the mirror has not read and shown yet. `folders`: how many of these events
-- make, move or end a team's folder.
SELECT count(*) AS n, count(*) FILTER (WHERE kind IN ({event.team_created}, {event.team_destroyed})
		OR (kind = {event.team_updated} AND detail <> '')) AS folders
FROM event
WHERE seq > :after
	AND (kind BETWEEN {events.team} OR kind BETWEEN {events.agent}
		OR kind BETWEEN {events.workspace} OR kind BETWEEN {events.task}
		OR kind = {event.message_redacted} OR (:mail <> 0 AND kind = {event.message_sent}));

-- name: mirror_mail
-- text: sender_name receivers
-- The messages of a team on one day, for the mirror's log.
SELECT m.id, m.team, m.at, m.urgent, m.to_all, m.type, m.content, m.thread,
	p.at AS reply_at, a.name AS sender_name,
	(SELECT group_concat(CASE WHEN r.team = m.team THEN '' ELSE t.name || '/' END
			|| r.name, ', ')
		FROM (SELECT agent FROM delivery WHERE message = m.id
			UNION ALL SELECT agent FROM delayed WHERE message = m.id) d
		JOIN agent r ON r.id = d.agent JOIN team t ON t.id = r.team
		WHERE m.to_all = 0) AS receivers
FROM message m JOIN agent a ON a.id = m.sender LEFT JOIN message p ON p.id = m.reply_to
WHERE m.id > :after AND m.id <= :upto AND m.team = :team AND m.at >= :day_from AND m.at < :day_upto
ORDER BY m.id LIMIT :limit;

-- name: mirror_mail_heads
-- row: mirror_mail_next
-- scan ok: the rows of the caller's list
-- text: ids
SELECT m.id, m.team, m.at FROM json_each(:ids) j JOIN message m ON m.id = j.value;

-- name: mirror_mail_next
-- row: mirror_mail_next
SELECT id, team, at FROM message WHERE id >= :id ORDER BY id LIMIT :limit;

-- name: mirror_mail_ends
-- scan ok: both ends
SELECT (SELECT coalesce(min(id), 1) FROM message) AS oldest,
	(SELECT coalesce(max(id), 0) FROM message) AS newest;
