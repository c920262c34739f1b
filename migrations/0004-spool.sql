-- Which store a workspace's guest keeps what it accepts in: another one knows nothing
-- of that.  NULL: it never said, or nothing was told to it yet.
ALTER TABLE workspace ADD COLUMN spool TEXT;
-- How often it was put back to a snapshot: what its disk knows is of one such time.
ALTER TABLE workspace ADD COLUMN restores INTEGER NOT NULL DEFAULT 0;
-- Its daemon is being told, or was: whether it has it or not, it may run there.
ALTER TABLE assignment ADD COLUMN offered INTEGER NOT NULL DEFAULT 0;
