-- Some clients count from the beginning of their session: the amounts that an agent's client had
-- used of the session that its runner goes on with, by the end of its last turn.
ALTER TABLE runner ADD COLUMN told_in INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runner ADD COLUMN told_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runner ADD COLUMN told_cost INTEGER NOT NULL DEFAULT 0;

UPDATE runner SET (told_in, told_out, told_cost) =
	(SELECT coalesce(sum(u.tokens_in), 0), coalesce(sum(u.tokens_out), 0), coalesce(sum(u.cost), 0)
	FROM turn u WHERE u.agent = runner.agent AND u.client_session = runner.client_session);
