-- How many commands were started or called off.
ALTER TABLE spool ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
