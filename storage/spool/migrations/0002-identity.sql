-- The workspace's id stands for the one spool that it had until now.
ALTER TABLE spool ADD COLUMN identity TEXT NOT NULL DEFAULT '';
ALTER TABLE spool ADD COLUMN restores INTEGER NOT NULL DEFAULT 0;
UPDATE spool SET identity = workspace;
