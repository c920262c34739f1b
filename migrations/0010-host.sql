-- Machines that share this state, and which of them a row belongs to.  A guest, its
-- process, its address and the ports that lead to it are on one machine; the others
-- leave them alone.  A state in a file has host 1 only.
CREATE TABLE host (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	created_at INTEGER NOT NULL,
	alive_at INTEGER NOT NULL DEFAULT 0, -- when it last said so
	network_fault TEXT -- why it could not make a network for VMs
) STRICT;
INSERT INTO host (id, name, created_at, alive_at, network_fault)
SELECT 1, 'host 1', created_at, alive_at, network_fault FROM state WHERE one = 1;
ALTER TABLE state DROP COLUMN alive_at;
ALTER TABLE state DROP COLUMN network_fault;

-- The machine that runs its guest.  No foreign key: SQLite adds none to rows that exist.
ALTER TABLE workspace ADD COLUMN host INTEGER NOT NULL DEFAULT 1;
DROP INDEX workspace_slot;
CREATE UNIQUE INDEX workspace_slot ON workspace(host, slot)
	WHERE slot IS NOT NULL AND (state IN {workspace_state.living} OR pid IS NOT NULL);

-- v_network reads the table that is made anew; it is the same afterwards.
DROP VIEW v_network;
CREATE TABLE host_forward (
	host INTEGER NOT NULL REFERENCES host(id),
	transport INTEGER NOT NULL CHECK (transport IN (0, 1)),
	port INTEGER NOT NULL CHECK (port BETWEEN 1 AND 65535),
	workspace INTEGER NOT NULL REFERENCES workspace(id),
	target INTEGER NOT NULL CHECK (target BETWEEN 1 AND 65535),
	public INTEGER NOT NULL DEFAULT 0 CHECK (public IN (0, 1)),
	PRIMARY KEY (host, transport, port)
) STRICT, WITHOUT ROWID;
INSERT INTO host_forward (host, transport, port, workspace, target, public)
SELECT 1, transport, port, workspace, target, public FROM workspace_forward;
DROP TABLE workspace_forward;
ALTER TABLE host_forward RENAME TO workspace_forward;
CREATE INDEX workspace_forward_of ON workspace_forward(workspace);
CREATE VIEW v_network AS
SELECT w.name AS workspace, t.name AS team, w.slot,
	min(w.allow_internet, t.allow_internet) AS allow_internet,
	min(w.allow_inter_vm, t.allow_inter_vm) AS allow_inter_vm,
	coalesce((SELECT group_concat(port, ' ') FROM workspace_port p
			WHERE p.workspace = w.id),
		(SELECT group_concat(port, ' ') FROM team_port p WHERE p.team = t.id))
		AS ports,
	(SELECT group_concat((SELECT word FROM word
			WHERE list = 'transport' AND n = f.transport)
			|| ' ' || f.port || '>' || f.target, ', ')
		FROM workspace_forward f WHERE f.workspace = w.id) AS forwards
FROM workspace w JOIN team t ON t.id = w.team WHERE w.slot IS NOT NULL AND w.state IN {workspace_state.living};
