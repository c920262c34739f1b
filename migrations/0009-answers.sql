-- What a guest answered to a call with a key, as JSON, its texts cut: a repeat is told it.
-- NULL: nothing is kept of it, or there was no guest to ask.
ALTER TABLE replay ADD COLUMN answer TEXT;
