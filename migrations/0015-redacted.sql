-- The text of a message can be taken away; the row, its copies and its events stay.
ALTER TABLE message ADD COLUMN redacted_at INTEGER; -- NULL: it stands as it was sent
