-- A restored state does not know what was counted between the backup and the restore.

-- Epochs of claims and generations of agents that are given from now on are higher: none
-- of the former state means anything in this one.  0: it was never restored.
ALTER TABLE state ADD COLUMN counts_from INTEGER NOT NULL DEFAULT 0;
