-- How many commands its guest's spool has let begin or called off, as far as the guest
-- has said: a spool that knows of fewer is a copy of an earlier time.
ALTER TABLE workspace ADD COLUMN spool_seq INTEGER NOT NULL DEFAULT 0;
