-- Counts that each change of a row keeps, and indexes in the order of lists: an answer reads as
-- many rows as the answer tells, in a state of any size.  An index of some
-- rows begins with the columns that they have in common: SQLite takes the one with the most
-- columns whose values are said.

-- Counts of a team, beside those of its tasks that are over or wait.
ALTER TABLE board ADD COLUMN claimed INTEGER NOT NULL DEFAULT 0 CHECK (claimed >= 0);
ALTER TABLE board ADD COLUMN in_progress INTEGER NOT NULL DEFAULT 0 CHECK (in_progress >= 0);
ALTER TABLE board ADD COLUMN blocked INTEGER NOT NULL DEFAULT 0 CHECK (blocked >= 0);
ALTER TABLE board ADD COLUMN assignments INTEGER NOT NULL DEFAULT 0 CHECK (assignments >= 0); -- open
ALTER TABLE board ADD COLUMN members INTEGER NOT NULL DEFAULT 0 CHECK (members >= 0);
ALTER TABLE board ADD COLUMN vms INTEGER NOT NULL DEFAULT 0 CHECK (vms >= 0); -- living workspaces
ALTER TABLE board ADD COLUMN guests INTEGER NOT NULL DEFAULT 0 CHECK (guests >= 0); -- ready ones
ALTER TABLE board ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0); -- max_vms of living teams below
UPDATE board SET
	claimed = (SELECT count(*) FROM task k WHERE k.team = board.team AND k.state = {task_state.claimed}),
	in_progress = (SELECT count(*) FROM task k WHERE k.team = board.team AND k.state = {task_state.in_progress}),
	blocked = (SELECT count(*) FROM task k WHERE k.team = board.team AND k.state = {task_state.blocked}),
	assignments = (SELECT count(*) FROM assignment x WHERE x.team = board.team AND x.state IN {assignment_state.open}),
	members = (SELECT count(*) FROM agent a WHERE a.team = board.team AND a.gone = 0 AND a.kind = {agent_kind.member}),
	vms = (SELECT count(*) FROM workspace w WHERE w.team = board.team AND w.state IN {workspace_state.living}),
	guests = (SELECT count(*) FROM workspace w WHERE w.team = board.team AND w.state = {workspace_state.ready}),
	reserved = (SELECT coalesce(sum(c.max_vms), 0) FROM team c WHERE c.parent = board.team AND c.destroyed_at IS NULL);

-- What a team has left of a budget to the living teams below it.
ALTER TABLE budget ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0);
UPDATE budget SET reserved = (SELECT coalesce(sum(c.most), 0) FROM team k JOIN budget c ON c.team = k.id
	WHERE k.parent = budget.team AND k.destroyed_at IS NULL AND c.kind = budget.kind);
DROP VIEW spending;
CREATE VIEW spending AS SELECT team, kind, most, used, since, told, reserved FROM budget;

-- Teams, in the order of their names; before the first number of its messages and events a new
-- one has none.
DROP INDEX team_below;
CREATE INDEX team_under ON team(parent, name, id) WHERE destroyed_at IS NULL;
CREATE INDEX team_over ON team(parent, name, id) WHERE destroyed_at IS NOT NULL;
CREATE INDEX team_named ON team(name, id) WHERE destroyed_at IS NOT NULL;
CREATE INDEX team_stopped ON team(id) WHERE stopped_at IS NOT NULL AND destroyed_at IS NULL;
CREATE INDEX team_limited ON team(id) WHERE limits > 0 AND destroyed_at IS NULL;
CREATE VIEW team_line AS
SELECT t.id, t.name, t.parent, t.destroyed_at, p.name AS parent_name, t.created_at, t.max_vms, b.members,
	b.guests, t.next_task - 1 - b.completed - b.failed - b.cancelled AS open_tasks
FROM team t JOIN board b ON b.team = t.id LEFT JOIN team p ON p.id = t.parent;
ALTER TABLE team ADD COLUMN first_event INTEGER NOT NULL DEFAULT 0;
ALTER TABLE team ADD COLUMN first_message INTEGER NOT NULL DEFAULT 0;

-- Agents: the lead, members as they came, and those who cannot go on.
CREATE INDEX agent_lead ON agent(team, gone, kind) WHERE gone = 0 AND kind = {agent_kind.member}
	AND (role = 'lead' OR name = 'lead');
CREATE INDEX agent_member ON agent(team) WHERE gone = 0 AND kind = {agent_kind.member};
CREATE INDEX agent_named ON agent(name);
CREATE INDEX agent_troubled ON agent(gone, kind, team) WHERE gone = 0 AND kind = {agent_kind.member}
	AND status IN {agent_status.stuck failed offline};

-- The operator's inboxes that hold something, which are looked at in all teams together.
ALTER TABLE agent_inbox ADD COLUMN operator INTEGER NOT NULL DEFAULT 0;
UPDATE agent_inbox SET operator = 1
WHERE agent IN (SELECT id FROM agent WHERE kind = {agent_kind.operator} AND gone = 0);
CREATE INDEX inbox_operator ON agent_inbox(agent) WHERE operator <> 0 AND queued + leased > 0;

-- The copies of messages that are to be acknowledged, by whose they are.
ALTER TABLE delivery ADD COLUMN owed_team INTEGER NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN owed_to INTEGER NOT NULL DEFAULT 0;
UPDATE delivery SET owed_team = (SELECT m.team FROM message m WHERE m.id = delivery.message),
	owed_to = (SELECT m.sender FROM message m WHERE m.id = delivery.message)
WHERE ack_due_at IS NOT NULL AND state IN {delivery_state.open};
DROP INDEX delivery_owed;
CREATE INDEX delivery_owed ON delivery(owed_team, ack_due_at)
	WHERE ack_due_at IS NOT NULL AND state IN {delivery_state.open};
CREATE INDEX delivery_owed_to ON delivery(owed_to, ack_due_at)
	WHERE ack_due_at IS NOT NULL AND state IN {delivery_state.open};
DROP VIEW owed;
CREATE VIEW owed AS
SELECT d.message, d.agent, d.attempt, d.ack_due_at, d.state, d.due_at, d.after_lapse,
	d.owed_team, d.owed_to, m.team,
	m.sender, m.at, m.expires_at, m.content, a.name AS sender_name, r.name AS to_name
FROM delivery d JOIN message m ON m.id = d.message JOIN agent a ON a.id = m.sender
JOIN agent r ON r.id = d.agent
WHERE d.ack_due_at IS NOT NULL AND d.state IN {delivery_state.open};

-- Messages that went to another team, which are few.
CREATE INDEX message_abroad ON message(abroad) WHERE abroad = 1;
CREATE INDEX message_thread_abroad ON message(thread) WHERE abroad = 1 AND thread IS NOT NULL;

-- Tasks: what can be claimed, what is troubled, and what has a tag, in the order of the board.  A
-- claim takes the first task that is meant for nobody, or for its agent.
DROP INDEX task_ready;
CREATE INDEX task_ready ON task(team, state, open_deps, assignee IS NOT NULL, priority, number)
	WHERE state = {task_state.pending} AND open_deps = 0;
CREATE INDEX task_assigned ON task(team, state, open_deps, assignee, priority, number)
	WHERE state = {task_state.pending} AND open_deps = 0 AND assignee IS NOT NULL;
ALTER TABLE task ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0; -- 1: another task depends on it, or did; -1: its team is over
UPDATE task SET awaited = CASE WHEN team IN (SELECT id FROM team WHERE destroyed_at IS NOT NULL) THEN -1 ELSE 1 END
WHERE id IN (SELECT dep FROM task_dep)
	OR (state = {task_state.failed} AND team IN (SELECT id FROM team WHERE destroyed_at IS NOT NULL));
CREATE INDEX task_troubled ON task(state, team, awaited, coalesce(ended_at, updated_at) DESC, number)
	WHERE state IN {task_state.blocked failed} AND awaited <> -1;
ALTER TABLE task ADD COLUMN notes INTEGER NOT NULL DEFAULT 0;
UPDATE task SET notes = (SELECT count(*) FROM task_note n WHERE n.task = task.id) WHERE parts & 4 <> 0;
ALTER TABLE task_tag ADD COLUMN team INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task_tag ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task_tag ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
UPDATE task_tag SET team = (SELECT k.team FROM task k WHERE k.id = task_tag.task),
	priority = (SELECT k.priority FROM task k WHERE k.id = task_tag.task),
	number = (SELECT k.number FROM task k WHERE k.id = task_tag.task);
DROP INDEX task_tag_of;
CREATE INDEX task_tag_of ON task_tag(team, tag, priority, number);
CREATE VIEW board_line AS
SELECT k.id, k.team, k.number, k.title, k.priority, k.state, k.after_lapse, k.epoch, k.updated_at,
	k.open_deps, k.lease_until, k.ended_at, o.name AS holder_name, s.name AS assignee_name
FROM task k LEFT JOIN agent o ON o.id = coalesce(k.owner, k.ended_by)
LEFT JOIN agent s ON s.id = k.assignee;

-- Commands and results, the newest first.
CREATE INDEX assignment_all ON assignment(team, message);
CREATE INDEX assignment_by ON assignment(team, agent, message);
CREATE INDEX assignment_from ON assignment(team, sender, message);
CREATE INDEX assignment_label ON assignment(team, label, message);
CREATE INDEX assignment_open_all ON assignment(team, message) WHERE state IN {assignment_state.open};
CREATE INDEX assignment_open_from ON assignment(sender, message) WHERE state IN {assignment_state.open};
DROP INDEX result_waiting;
DROP INDEX result_by;
DROP INDEX result_team;
CREATE INDEX result_waiting ON result(sender, collected_at, message) WHERE collected_at IS NULL;
CREATE INDEX result_by ON result(agent, collected_at, message) WHERE collected_at IS NULL;
CREATE INDEX result_team ON result(collected_at, team) WHERE collected_at IS NULL;
CREATE INDEX result_all ON result(team, message);
CREATE INDEX result_made ON result(team, agent, message);
CREATE INDEX result_from ON result(team, sender, message);

-- Workspaces of a team by name; those that fail, or have never been up.
DROP INDEX workspace_team;
CREATE INDEX workspace_of ON workspace(team, name, id) WHERE state IN {workspace_state.living};
CREATE INDEX workspace_over ON workspace(team, name, id) WHERE state = {workspace_state.destroyed};
CREATE INDEX workspace_named ON workspace(name) WHERE state = {workspace_state.destroyed};
CREATE INDEX workspace_unmade ON workspace(team, was_up) WHERE state IN {workspace_state.creating failed} AND was_up = 0;
CREATE INDEX workspace_failed ON workspace(state, team, changed_at) WHERE state = {workspace_state.failed};
CREATE INDEX workspace_ready ON workspace(team) WHERE state = {workspace_state.ready};
CREATE VIEW workspace_line AS
SELECT w.id, w.host, w.team, w.agent, w.name, w.backend, w.path, w.address, w.parent,
	w.source, w.image, w.vcpus, w.memory_mb, w.disk_gb, w.state, w.was_up, w.fault, w.halted, w.pid,
	w.guest_boot, w.spool, w.spool_seq, w.created_at, h.name AS host_name,
	t.name AS team_name, a.name AS agent_name, p.name AS parent_name
FROM workspace w JOIN host h ON h.id = w.host JOIN team t ON t.id = w.team
LEFT JOIN agent a ON a.id = w.agent LEFT JOIN workspace p ON p.id = w.parent;

-- The folder below which a reservation's glob means paths, as far as it has no wildcard; an
-- older one is looked at for each path.
ALTER TABLE reservation ADD COLUMN stem TEXT NOT NULL DEFAULT '';
CREATE INDEX reservation_stem ON reservation(team, stem);
