-- Queries that check a file before the file is accepted as a state (see store_restore.h).

-- name: restore_states
-- scan ok: one row
SELECT count(*) AS n FROM state;

-- name: restore_counts
SELECT counts_from FROM state WHERE one = 1;
