-- The newest message of the state when a turn began: mail behind it came while the turn ran,
-- whatever the clock said meanwhile.
ALTER TABLE turn ADD COLUMN newest INTEGER NOT NULL DEFAULT 0;
