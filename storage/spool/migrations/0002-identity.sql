-- Until now a workspace had one spool, so an older spool's identity is the workspace's id.
ALTER TABLE spool ADD COLUMN identity TEXT NOT NULL DEFAULT '';
ALTER TABLE spool ADD COLUMN restores INTEGER NOT NULL DEFAULT 0;
UPDATE spool SET identity = workspace;
