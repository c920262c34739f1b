-- Where the work of a completed task is, beside its result.
ALTER TABLE task ADD COLUMN branch TEXT;
ALTER TABLE task ADD COLUMN commit_id TEXT;
