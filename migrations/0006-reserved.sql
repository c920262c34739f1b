-- Holds the number until the migration that has it is there.
DROP VIEW IF EXISTS reserved;
