-- Rules that the operations keep and no table enforces.  Each statement finds the first row
-- after :from that breaks the statement's rule.  core/transfer/rule.c says each rule in words.

-- name: rule_copy_lost
-- row: rule
-- scan ok: once in an import, a backup or a look of the doctor
-- A copy whose message or recipient has no row. No foreign key prevents such a copy, since each
-- send would pay for the check.
SELECT d.message AS id FROM delivery d
WHERE d.message > :from AND (NOT EXISTS (SELECT 1 FROM message m WHERE m.id = d.message)
	OR NOT EXISTS (SELECT 1 FROM agent a WHERE a.id = d.agent))
ORDER BY d.message LIMIT 1;

-- name: rule_sender_lost
-- row: rule
-- scan ok: once in an import, a backup or a look of the doctor
SELECT m.id FROM message m
WHERE m.id > :from AND NOT EXISTS (SELECT 1 FROM agent a WHERE a.id = m.sender)
ORDER BY m.id LIMIT 1;

-- name: rule_owner_lost
-- row: rule
-- scan ok: once in an import, a backup or a look of the doctor
SELECT k.id FROM task k
WHERE k.id > :from AND (
	(k.owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM agent a WHERE a.id = k.owner))
	OR (k.assignee IS NOT NULL AND NOT EXISTS (SELECT 1 FROM agent a WHERE a.id = k.assignee)))
ORDER BY k.id LIMIT 1;

-- name: rule_operator_wrong
-- row: rule
-- scan ok: once in an import or a look of the doctor
-- An agent with the operator's name but another kind, or with the operator's kind but another
-- name. The statement also finds a living agent of a destroyed team, and an operator who has
-- left a living team.
SELECT a.id FROM agent a JOIN team t ON t.id = a.team
WHERE a.id > :from AND ((a.kind = {agent_kind.operator}) <> (a.name = 'operator')
	OR (a.gone = 0 AND t.destroyed_at IS NOT NULL)
	OR (a.kind = {agent_kind.operator} AND a.gone = 1 AND t.destroyed_at IS NULL))
LIMIT 1;

-- name: rule_operator_none
-- row: rule
-- scan ok: once in an import or a look of the doctor
SELECT t.id FROM team t
WHERE t.id > :from AND (SELECT count(*) FROM agent a
	WHERE a.team = t.id AND a.kind = {agent_kind.operator}) <> 1
LIMIT 1;

-- name: rule_lead_none
-- row: rule
-- scan ok: once in an import or a look of the doctor
SELECT t.id FROM team t
WHERE t.id > :from AND t.destroyed_at IS NULL AND NOT EXISTS (SELECT 1 FROM agent a
	WHERE a.team = t.id AND a.gone = 0 AND a.kind = {agent_kind.member}
		AND (a.role = 'lead' OR a.name = 'lead'))
LIMIT 1;

-- name: rule_holder_far
-- row: rule
-- scan ok: once in an import or a look of the doctor
-- A lead's place must be held by an agent of the team directly above. So each step from a place
-- to its holder leads one team up, and the steps never form a circle.
SELECT a.id FROM agent a JOIN team t ON t.id = a.team LEFT JOIN agent h ON h.id = a.holder
WHERE a.id > :from AND a.gone = 0 AND a.holder IS NOT NULL
	AND (h.team IS NULL OR t.parent IS NULL OR h.team <> t.parent)
LIMIT 1;

-- name: rule_owner_far
-- row: rule
-- scan ok: once in an import or a look of the doctor
SELECT k.id FROM task k
WHERE k.id > :from AND EXISTS (SELECT 1 FROM agent a
	WHERE a.team <> k.team AND (a.id IN (k.owner, k.assignee)
		OR a.id IN (SELECT n.agent FROM task_note n WHERE n.task = k.id)))
LIMIT 1;

-- name: rule_lease_long
-- row: rule
-- scan ok: once in an import or a look of the doctor
SELECT id FROM task WHERE id > :from AND lease_ms > {most.task_lease} * 1000 LIMIT 1;

-- name: rule_attempts_many
-- row: rule
-- scan ok: once in an import or a look of the doctor
SELECT id FROM task WHERE id > :from AND attempts > {most.tries} LIMIT 1;

-- name: rule_text_long
-- row: rule
-- scan ok: once in an import or a look of the doctor
-- A command is stored as JSON, in which one byte of the command may take up to six bytes.
SELECT id FROM message WHERE id > :from AND length(CAST(content AS BLOB)) > {most.content}
	* CASE type WHEN 'task_assignment' THEN 7 ELSE 1 END
LIMIT 1;

-- name: rule_dep_far
-- row: rule
-- scan ok: once in an import or a look of the doctor
SELECT d.task AS id FROM task_dep d JOIN task k ON k.id = d.task JOIN task o ON o.id = d.dep
WHERE d.task > :from AND o.team <> k.team
LIMIT 1;

-- name: rule_dep_circle
-- row: rule
-- scan ok: once in an import or a look of the doctor
-- In every circle of dependencies, at least one task depends on a task with a higher number. So
-- the search begins at tasks that depend on a higher number. Tasks that depend on a higher
-- number are few.
SELECT d.task AS id FROM task_dep d
WHERE d.task > :from AND d.dep > d.task AND d.task IN (
	WITH RECURSIVE way(id) AS (SELECT d.dep
		UNION SELECT x.dep FROM way w JOIN task_dep x ON x.task = w.id)
	SELECT id FROM way)
ORDER BY d.task LIMIT 1;

-- name: rule_command_far
-- row: rule
-- scan ok: once in an import or a look of the doctor
SELECT x.message AS id FROM assignment x JOIN agent a ON a.id = x.agent
JOIN agent s ON s.id = x.sender LEFT JOIN task k ON k.id = x.task
WHERE x.message > :from AND (a.team <> x.team OR s.team <> x.team OR k.team <> x.team)
LIMIT 1;

-- name: rule_result_far
-- row: rule
-- scan ok: once in an import or a look of the doctor
SELECT r.message AS id FROM result r JOIN assignment x ON x.message = r.message
WHERE r.message > :from AND (r.team <> x.team OR r.agent <> x.agent)
LIMIT 1;

-- name: rule_turn_far
-- row: rule
-- scan ok: once in an import or a look of the doctor
SELECT u.id FROM turn u JOIN agent a ON a.id = u.agent WHERE u.id > :from AND a.team <> u.team LIMIT 1;

-- name: rule_message_far
-- row: rule
-- scan ok: once in an import or a look of the doctor
-- Mail is sent only within a team, or between a team and a team above or below it.
WITH RECURSIVE up (id, above) AS (
	SELECT id, id FROM team
	UNION SELECT up.id, t.parent FROM up JOIN team t ON t.id = up.above WHERE t.parent IS NOT NULL)
SELECT m.id FROM (SELECT id AS message, sender AS agent FROM message
	UNION ALL SELECT message, agent FROM delivery
	UNION ALL SELECT message, agent FROM delayed) x
JOIN message m ON m.id = x.message JOIN agent a ON a.id = x.agent
WHERE x.message > :from AND a.team <> m.team AND NOT EXISTS (SELECT 1 FROM up
	WHERE (up.id = m.team AND up.above = a.team) OR (up.id = a.team AND up.above = m.team))
LIMIT 1;

-- name: rule_stop_far
-- row: rule
-- scan ok: once in an import or a look of the doctor
-- An agent in stopped_by must be of the stopped team, or of a team above it.
WITH RECURSIVE up (id, above) AS (
	SELECT id, id FROM team
	UNION SELECT up.id, t.parent FROM up JOIN team t ON t.id = up.above WHERE t.parent IS NOT NULL)
SELECT t.id FROM team t JOIN agent a ON a.id = t.stopped_by
WHERE t.id > :from AND NOT EXISTS (SELECT 1 FROM up WHERE up.id = t.id AND up.above = a.team)
LIMIT 1;

-- name: rule_vms_over
-- row: rule
-- scan ok: once in an import or a look of the doctor
SELECT t.id FROM team t
WHERE t.id > :from AND t.destroyed_at IS NULL AND t.max_vms < (SELECT coalesce(sum(c.max_vms), 0)
	FROM team c WHERE c.parent = t.id AND c.destroyed_at IS NULL)
LIMIT 1;

-- name: rule_budget_over
-- row: rule
-- scan ok: once in an import or a look of the doctor
SELECT t.id FROM team t JOIN budget b ON b.team = t.id
WHERE t.id > :from AND t.destroyed_at IS NULL AND b.most > 0 AND b.most < (SELECT coalesce(sum(c.most), 0)
	FROM team k JOIN budget c ON c.team = k.id
	WHERE k.parent = t.id AND k.destroyed_at IS NULL AND c.kind = b.kind)
LIMIT 1;

-- name: rule_budget_none
-- row: rule
-- scan ok: once in an import or a look of the doctor
SELECT k.id FROM team k JOIN budget b ON b.team = k.parent
WHERE k.id > :from AND k.destroyed_at IS NULL AND b.most > 0 AND NOT EXISTS (SELECT 1 FROM budget c
	WHERE c.team = k.id AND c.kind = b.kind AND c.most > 0)
LIMIT 1;
