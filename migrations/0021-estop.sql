-- Teams that are stopped, and workspaces whose commands stand still.
ALTER TABLE team ADD COLUMN stopped_at INTEGER; -- NULL: it is not
ALTER TABLE team ADD COLUMN stopped_by INTEGER; -- the agent who did it; NULL: the operator
ALTER TABLE workspace ADD COLUMN halted INTEGER NOT NULL DEFAULT 0; -- as its guest said last
