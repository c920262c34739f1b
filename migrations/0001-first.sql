-- The first shape of the state: teams, agents, messages, tasks, assignments,
-- workspaces and the event log.
--
-- Times are integer milliseconds since 1970; enums are their position in
-- schema/*.op and spelled out in `word`; 0 or NULL in a reference is "none".
-- What one send costs decides everything, so message, delivery, event and
-- replay carry no foreign keys and no index that a send would not need: the
-- handlers write them in one transaction with the rows they refer to.
-- People read the views at the end; they are a public interface, the tables
-- are not.

-- One row: who this state is.  A restored state gets another incarnation, so
-- that cursors kept elsewhere are seen to be of the old one.  id_a, id_b and
-- id_c scramble row ids into public ids.
CREATE TABLE state (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	incarnation TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	id_a INTEGER NOT NULL,
	id_b INTEGER NOT NULL,
	id_c INTEGER NOT NULL,
	alive_at INTEGER NOT NULL DEFAULT 0, -- when a host last said so
	network_fault TEXT -- why it could not make a network for VMs
) STRICT;

INSERT INTO state (one, incarnation, created_at, id_a, id_b, id_c) VALUES (
	1, lower(hex(randomblob(8))),
	CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER),
	random() & 4095, random() & 1023, random() & 281474976710655);

-- The words behind small integers: lists are named as in schema/.
CREATE TABLE word (
	list TEXT NOT NULL,
	n INTEGER NOT NULL,
	word TEXT NOT NULL,
	PRIMARY KEY (list, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE team (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
	parent INTEGER REFERENCES team(id),
	created_by INTEGER NOT NULL DEFAULT 0, -- agent, 0: the operator
	created_at INTEGER NOT NULL,
	destroyed_at INTEGER,
	state INTEGER NOT NULL DEFAULT {team_state.ready}, -- as last announced by an event
	inbox_capacity INTEGER NOT NULL CHECK (inbox_capacity >= 0), -- 0: none
	max_vms INTEGER NOT NULL CHECK (max_vms >= 0),
	allow_internet INTEGER NOT NULL DEFAULT 0,
	allow_inter_vm INTEGER NOT NULL DEFAULT 1,
	next_task INTEGER NOT NULL DEFAULT 1, -- number of the next task
	purge INTEGER NOT NULL DEFAULT 0 -- a destroyed one leaves no folder
) STRICT;
CREATE UNIQUE INDEX team_living ON team(name) WHERE destroyed_at IS NULL;

-- A member of a team, or (kind 1) the operator's place in it.
CREATE TABLE agent (
	id INTEGER PRIMARY KEY,
	team INTEGER NOT NULL REFERENCES team(id),
	name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
	kind INTEGER NOT NULL DEFAULT {agent_kind.member} CHECK (kind IN (0, 1)),
	role TEXT NOT NULL DEFAULT '',
	generation INTEGER NOT NULL DEFAULT 1,
	token BLOB, -- SHA-256 of the token of this generation
	description TEXT NOT NULL DEFAULT '',
	project TEXT,
	input_schema TEXT,
	output_schema TEXT,
	status INTEGER NOT NULL DEFAULT {agent_status.initializing},
	workspace INTEGER, -- where it works
	created_at INTEGER NOT NULL,
	active_at INTEGER NOT NULL,
	moved_at INTEGER NOT NULL DEFAULT 0, -- its daemon began or ended a command
	gone INTEGER NOT NULL DEFAULT 0 -- its team is destroyed
) STRICT;
CREATE UNIQUE INDEX agent_living ON agent(team, name) WHERE gone = 0;

-- What every message changes of an agent: apart, so that who it is stays as read.
CREATE TABLE agent_inbox (
	agent INTEGER PRIMARY KEY,
	queued INTEGER NOT NULL DEFAULT 0 CHECK (queued >= 0), -- waiting
	leased INTEGER NOT NULL DEFAULT 0 CHECK (leased >= 0), -- handed out
	assignments INTEGER NOT NULL DEFAULT 0 CHECK (assignments >= 0), -- open
	collected_at INTEGER -- a receive for it brought results
) STRICT;
CREATE TRIGGER agent_has_inbox AFTER INSERT ON agent BEGIN
	INSERT INTO agent_inbox (agent) VALUES (new.id);
END;

CREATE TABLE agent_skill (
	agent INTEGER NOT NULL REFERENCES agent(id),
	n INTEGER NOT NULL,
	skill TEXT NOT NULL,
	PRIMARY KEY (agent, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_protocol (
	agent INTEGER NOT NULL REFERENCES agent(id),
	n INTEGER NOT NULL,
	protocol TEXT NOT NULL,
	PRIMARY KEY (agent, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE team_port (
	team INTEGER NOT NULL REFERENCES team(id),
	port INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
	PRIMARY KEY (team, port)
) STRICT, WITHOUT ROWID;

CREATE TABLE message (
	id INTEGER PRIMARY KEY, -- order in a team is the order of these
	team INTEGER NOT NULL,
	sender INTEGER NOT NULL, -- agent
	at INTEGER NOT NULL,
	urgent INTEGER NOT NULL,
	to_all INTEGER NOT NULL, -- sent to `*`
	ack_required INTEGER NOT NULL,
	type TEXT NOT NULL,
	content TEXT NOT NULL,
	thread TEXT,
	reply_to INTEGER, -- message
	expires_at INTEGER,
	metadata TEXT -- a JSON object
) STRICT;
CREATE INDEX message_thread ON message(team, thread) WHERE thread IS NOT NULL;
CREATE INDEX message_reply ON message(reply_to) WHERE reply_to IS NOT NULL;

-- One recipient's copy of a message.  `lane` orders an inbox: 0 urgent,
-- 1 normal, 2 assignments, which are the daemon's.  `due_at` is when the clock
-- changes the row by itself: the end of the lease of a fetched one, the end of
-- the life of a waiting one that has a TTL.
CREATE TABLE delivery (
	message INTEGER NOT NULL,
	agent INTEGER NOT NULL,
	lane INTEGER NOT NULL CHECK (lane BETWEEN {delivery_lane.all}),
	state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 6),
	attempt INTEGER NOT NULL DEFAULT 0,
	due_at INTEGER,
	session INTEGER, -- hash of the session that holds it
	request INTEGER, -- hash of the request_id that it was handed out to
	notified_at INTEGER,
	fetched_at INTEGER,
	done_at INTEGER, -- acked, dropped, expired or dead
	after_lapse INTEGER NOT NULL DEFAULT {delivery_state.queued} -- the state that the end of its lease brings
		CHECK (after_lapse IN {delivery_state.queued dead}),
	PRIMARY KEY (message, agent)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_inbox ON delivery(agent, lane, message) WHERE state IN {delivery_state.open};
CREATE INDEX delivery_due ON delivery(due_at)
	WHERE due_at IS NOT NULL AND state IN {delivery_state.open};

-- What the clock changes in inboxes from `due_at` on: one that waits is over then; a
-- held one waits again as long as `until` is to come.
CREATE VIEW inbox_due AS
SELECT d.agent, d.due_at, d.state = {delivery_state.fetched} AS held, d.state IN {delivery_state.waiting} AS waits,
	CASE WHEN d.state IN {delivery_state.waiting} OR d.after_lapse = {delivery_state.dead} THEN 0
		ELSE coalesce(m.expires_at, 9223372036854775807) END AS until
FROM delivery d JOIN message m ON m.id = d.message
WHERE d.lane IN {delivery_lane.mail} AND d.state IN {delivery_state.open} AND d.due_at IS NOT NULL;

CREATE TABLE task (
	id INTEGER PRIMARY KEY,
	team INTEGER NOT NULL REFERENCES team(id),
	number INTEGER NOT NULL CHECK (number > 0),
	slug TEXT NOT NULL, -- fixed at creation
	title TEXT NOT NULL,
	description TEXT NOT NULL DEFAULT '',
	priority INTEGER NOT NULL CHECK (priority BETWEEN 1 AND 5),
	state INTEGER NOT NULL DEFAULT {task_state.pending} CHECK (state BETWEEN 0 AND 6),
	owner INTEGER, -- agent
	owner_generation INTEGER,
	epoch INTEGER NOT NULL DEFAULT 0, -- raised by every claim and its end
	lease_ms INTEGER NOT NULL DEFAULT 0,
	lease_until INTEGER, -- while claimed or in progress
	after_lapse INTEGER NOT NULL DEFAULT {task_state.pending}, -- the state that the end of its lease brings
	assignee INTEGER REFERENCES agent(id),
	open_deps INTEGER NOT NULL DEFAULT 0 CHECK (open_deps >= 0),
	attempts INTEGER NOT NULL DEFAULT 0, -- lapses and failures
	created_by INTEGER NOT NULL REFERENCES agent(id),
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	result TEXT,
	parts INTEGER NOT NULL DEFAULT 0, -- 1 tags, 2 criteria, 4 notes, 8 dependencies
	UNIQUE (team, number),
	CHECK (after_lapse IN {task_state.pending failed}),
	CHECK ((owner IS NOT NULL) = (state BETWEEN {task_state.held})), -- a list of three would be built each time
	CHECK ((lease_until IS NOT NULL) = (state IN {task_state.claimed in_progress}))
) STRICT;
CREATE INDEX task_ready ON task(team, priority, number)
	WHERE state = {task_state.pending} AND open_deps = 0;
CREATE INDEX task_state ON task(team, state, priority, number);
CREATE INDEX task_lease ON task(lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX task_owner ON task(owner) WHERE owner IS NOT NULL;

CREATE TABLE task_dep (
	task INTEGER NOT NULL REFERENCES task(id),
	dep INTEGER NOT NULL REFERENCES task(id),
	PRIMARY KEY (task, dep),
	CHECK (task <> dep)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_dep_of ON task_dep(dep, task);

CREATE TABLE task_tag (
	task INTEGER NOT NULL REFERENCES task(id),
	n INTEGER NOT NULL,
	tag TEXT NOT NULL,
	PRIMARY KEY (task, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_criterion (
	task INTEGER NOT NULL REFERENCES task(id),
	n INTEGER NOT NULL, -- from 1
	text TEXT NOT NULL,
	done INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1)),
	PRIMARY KEY (task, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_note (
	id INTEGER PRIMARY KEY,
	task INTEGER NOT NULL REFERENCES task(id),
	agent INTEGER NOT NULL REFERENCES agent(id),
	at INTEGER NOT NULL,
	text TEXT NOT NULL
) STRICT;
CREATE INDEX task_note_of ON task_note(task);

-- A command for an agent's daemon: its message, and the payload in parts.
-- `env` holds keys and tokens: it is shown nowhere.
CREATE TABLE assignment (
	message INTEGER PRIMARY KEY,
	team INTEGER NOT NULL REFERENCES team(id),
	agent INTEGER NOT NULL REFERENCES agent(id),
	sender INTEGER NOT NULL REFERENCES agent(id),
	task INTEGER REFERENCES task(id), -- of the board, when task_id names one
	epoch INTEGER NOT NULL DEFAULT 0, -- of the claim that dispatch took
	label TEXT NOT NULL, -- task_id as the sender wrote it
	command TEXT NOT NULL,
	workdir TEXT,
	env TEXT, -- a JSON object of texts
	timeout_s INTEGER NOT NULL,
	state INTEGER NOT NULL DEFAULT {assignment_state.queued} CHECK (state BETWEEN 0 AND 3),
	started_at INTEGER,
	recall INTEGER NOT NULL DEFAULT 0 -- 1: its daemon has yet to hear that it is cancelled
) STRICT;
CREATE INDEX assignment_recall ON assignment(agent) WHERE recall = 1;
CREATE INDEX assignment_open ON assignment(agent, message) WHERE state IN {assignment_state.open};
CREATE INDEX assignment_team ON assignment(team, state) WHERE state IN {assignment_state.open};
CREATE INDEX assignment_task ON assignment(task) WHERE task IS NOT NULL;

CREATE TABLE result (
	message INTEGER PRIMARY KEY REFERENCES assignment(message),
	team INTEGER NOT NULL REFERENCES team(id),
	agent INTEGER NOT NULL REFERENCES agent(id),
	sender INTEGER NOT NULL REFERENCES agent(id), -- whose it is
	success INTEGER NOT NULL CHECK (success IN (0, 1)),
	exit_code INTEGER NOT NULL,
	stdout TEXT NOT NULL,
	stderr TEXT NOT NULL,
	elapsed_s INTEGER NOT NULL,
	stored_at INTEGER NOT NULL,
	collected_at INTEGER,
	request INTEGER -- hash of who collected it under which request_id
) STRICT;
CREATE INDEX result_waiting ON result(sender, message) WHERE collected_at IS NULL;
CREATE INDEX result_by ON result(agent, message) WHERE collected_at IS NULL;
CREATE INDEX result_request ON result(request) WHERE request IS NOT NULL;
CREATE INDEX result_team ON result(team) WHERE collected_at IS NULL;

CREATE TABLE workspace (
	id INTEGER PRIMARY KEY,
	team INTEGER NOT NULL REFERENCES team(id),
	agent INTEGER REFERENCES agent(id),
	name TEXT NOT NULL,
	backend INTEGER NOT NULL,
	path TEXT, -- directory it works in; NULL for a guest elsewhere
	address TEXT, -- where its guest is reached, if not beside the host's socket
	link_token TEXT, -- what a guest at a TCP address asks for; gone with the workspace
	parent INTEGER REFERENCES workspace(id), -- forked from
	snapshot INTEGER REFERENCES snapshot(id), -- of the parent; NULL: as it was
	source TEXT, -- directory it was made from
	image TEXT, -- of a VM: what it boots, and what it is made of
	vcpus INTEGER NOT NULL DEFAULT 0,
	memory_mb INTEGER NOT NULL DEFAULT 0,
	disk_gb INTEGER NOT NULL DEFAULT 0,
	restore INTEGER REFERENCES snapshot(id), -- to be put back
	state INTEGER NOT NULL, -- creating, ready, stopped, failed, destroyed
	was_up INTEGER NOT NULL DEFAULT 0,
	pid INTEGER,
	pid_start INTEGER, -- clock ticks after boot, as in /proc/PID/stat
	machine_boot TEXT, -- boot id of the machine that pid belongs to
	cid INTEGER, -- of a VM with vsock, while pid says who has it
	guest_boot TEXT, -- boot id that the guest said last
	http TEXT, -- base URL of its door for teammates
	slot INTEGER CHECK (slot > 1), -- its address in the network's range
	allow_internet INTEGER NOT NULL DEFAULT 1, -- of what its team allows
	allow_inter_vm INTEGER NOT NULL DEFAULT 1,
	created_at INTEGER NOT NULL,
	changed_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX workspace_living ON workspace(name) WHERE state IN {workspace_state.living};
CREATE INDEX workspace_agent ON workspace(agent) WHERE agent IS NOT NULL;
CREATE INDEX workspace_team ON workspace(team);
CREATE UNIQUE INDEX workspace_slot ON workspace(slot)
	WHERE slot IS NOT NULL AND (state IN {workspace_state.living} OR pid IS NOT NULL);

-- What workspaces held.  state: making, ready, failed, removed.
CREATE TABLE snapshot (
	id INTEGER PRIMARY KEY,
	workspace INTEGER NOT NULL REFERENCES workspace(id),
	name TEXT NOT NULL,
	state INTEGER NOT NULL,
	created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX snapshot_living ON snapshot(workspace, name) WHERE state IN {snapshot_state.living};

-- Ports that a workspace opens of those that its team allows; none: all of them.
CREATE TABLE workspace_port (
	workspace INTEGER NOT NULL REFERENCES workspace(id),
	port INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
	PRIMARY KEY (workspace, port)
) STRICT, WITHOUT ROWID;

-- Ports of the machine that lead to a port of a VM.
CREATE TABLE workspace_forward (
	transport INTEGER NOT NULL CHECK (transport IN (0, 1)),
	port INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
	workspace INTEGER NOT NULL REFERENCES workspace(id),
	target INTEGER NOT NULL CHECK (target BETWEEN 1 AND 65535),
	public INTEGER NOT NULL DEFAULT 0 CHECK (public IN (0, 1)),
	PRIMARY KEY (transport, port)
) STRICT, WITHOUT ROWID;
CREATE INDEX workspace_forward_of ON workspace_forward(workspace);

-- Who did what to which noun, when.  Numbers are never reused: cleaning leaves
-- the newest row.  `subject` is the row that it is about, `target` a second one
-- (the recipient of a message, the owner of a task); `actor` is an agent, 0 the
-- host, -1 an operator in no team; `via` is 1 when the operator acted as the actor.
CREATE TABLE event (
	seq INTEGER PRIMARY KEY,
	at INTEGER NOT NULL,
	kind INTEGER NOT NULL,
	team INTEGER NOT NULL,
	actor INTEGER NOT NULL,
	via INTEGER NOT NULL,
	subject INTEGER NOT NULL,
	target INTEGER NOT NULL,
	detail TEXT
) STRICT;
-- Only tasks pay for a history of their own.
CREATE INDEX event_task ON event(subject) WHERE kind BETWEEN {events.task};

-- Changes of the vault's files that are decided; each is made behind its COMMIT,
-- and its row goes with the next change.  A NULL `to_path`
-- removes the file.
CREATE TABLE vault_move (
	event INTEGER PRIMARY KEY, -- that tells of it
	from_path TEXT NOT NULL,
	to_path TEXT,
	ino INTEGER NOT NULL, -- of the file, with its time and size
	mtime INTEGER NOT NULL,
	size INTEGER NOT NULL,
	was_ino INTEGER NOT NULL, -- of what it replaces; 0: nothing
	was_mtime INTEGER NOT NULL,
	was_size INTEGER NOT NULL
) STRICT;

-- What was made under which idempotency key; kept for a day.
CREATE TABLE replay (
	key BLOB NOT NULL,
	caller INTEGER NOT NULL, -- agent
	op INTEGER NOT NULL, -- hash of its name
	args INTEGER NOT NULL, -- hash of its arguments
	made INTEGER NOT NULL, -- id of what it made or changed
	at INTEGER NOT NULL,
	PRIMARY KEY (key, caller)
) STRICT, WITHOUT ROWID;

-- What several statements ask for, each under its own conditions: these views are
-- ours, and nobody else's (the public ones are named v_…).

-- A message with the names that its envelope tells; a broadcast's recipient is any.
CREATE VIEW envelope AS
SELECT m.id, m.team, m.sender, m.at, m.urgent, m.to_all, m.ack_required, m.type,
	m.content, m.thread, m.reply_to, m.metadata, a.name, p.at AS reply_at,
	(SELECT r.name FROM delivery d JOIN agent r ON r.id = d.agent
		WHERE d.message = m.id LIMIT 1) AS to_name
FROM message m JOIN agent a ON a.id = m.sender
LEFT JOIN message p ON p.id = m.reply_to;

-- A recipient's copy with its message.
CREATE VIEW inbox AS
SELECT d.message, d.agent, d.lane, d.state, d.attempt, d.due_at, d.after_lapse,
	d.request, m.sender, m.at, m.ack_required, m.type, m.content, m.thread,
	m.reply_to, m.metadata, m.expires_at, a.name AS sender_name, p.at AS reply_at
FROM delivery d JOIN message m ON m.id = d.message JOIN agent a ON a.id = m.sender
LEFT JOIN message p ON p.id = m.reply_to;

-- A result as lists show it: the beginnings of its output, and how long it is.
CREATE VIEW result_line AS
SELECT r.message, r.team, r.agent, r.sender, r.success, r.exit_code, r.elapsed_s,
	r.stored_at, r.collected_at, r.request, m.at, x.label, a.name AS agent_name,
	substr(r.stdout, 1, 4096) AS stdout, substr(r.stderr, 1, 2048) AS stderr,
	length(CAST(r.stdout AS BLOB)) AS stdout_size,
	length(CAST(r.stderr AS BLOB)) AS stderr_size
FROM result r JOIN assignment x ON x.message = r.message
JOIN message m ON m.id = r.message JOIN agent a ON a.id = r.agent;
