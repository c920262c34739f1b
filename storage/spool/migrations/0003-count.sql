-- How many commands it has let begin or called off.
ALTER TABLE spool ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
