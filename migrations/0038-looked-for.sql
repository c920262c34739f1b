-- A failed workspace whose folder or disk the host looks for, and goes on with once that is there.
ALTER TABLE workspace ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
UPDATE workspace SET again = 1
	WHERE state = {workspace_state.failed} AND backend = {backend_kind.folder};
