-- Words of two more lists, and numbers in a view, where engines other than SQLite know
-- truths only.

DELETE FROM word;
{words}

-- What the clock changes in inboxes from `due_at` on: one that waits is over then; a
-- held one waits again as long as `until` is to come.
DROP VIEW inbox_due;
CREATE VIEW inbox_due AS
SELECT d.agent, d.due_at, CAST(d.state = {delivery_state.fetched} AS INTEGER) AS held,
	CAST(d.state IN {delivery_state.waiting} AS INTEGER) AS waits,
	CASE WHEN d.state IN {delivery_state.waiting} OR d.after_lapse = {delivery_state.dead} THEN 0
		ELSE coalesce(m.expires_at, 9223372036854775807) END AS until
FROM delivery d JOIN message m ON m.id = d.message
WHERE d.lane IN {delivery_lane.mail} AND d.state IN {delivery_state.open} AND d.due_at IS NOT NULL;
