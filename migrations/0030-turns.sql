-- Runners: commands that are started for each turn of an agent.
CREATE TABLE runner (
	agent INTEGER NOT NULL PRIMARY KEY REFERENCES agent(id),
	command TEXT NOT NULL, -- or the name of a template
	client_session TEXT, -- with which its client goes on
	failures INTEGER NOT NULL DEFAULT 0, -- one after the other, up to now
	retry_at INTEGER -- no turn starts before
) STRICT;

ALTER TABLE agent ADD COLUMN runs INTEGER NOT NULL DEFAULT 0; -- it has a runner

-- Turns: what a runner does with the mail that its agent has by then.
CREATE TABLE turn (
	id INTEGER NOT NULL PRIMARY KEY,
	team INTEGER NOT NULL REFERENCES team(id),
	agent INTEGER NOT NULL REFERENCES agent(id),
	generation INTEGER NOT NULL,
	host INTEGER NOT NULL REFERENCES host(id), -- that runs it
	command TEXT, -- its runner's
	state INTEGER NOT NULL,
	request INTEGER NOT NULL, -- the hand-out of its messages; 0: none yet
	queued_at INTEGER NOT NULL,
	started_at INTEGER,
	ended_at INTEGER,
	exit_code INTEGER,
	reason TEXT,
	client_session TEXT, -- that its client has told
	size INTEGER NOT NULL DEFAULT 0, -- bytes printed
	kept INTEGER NOT NULL DEFAULT 0, -- of these, those in turn_output
	tokens_in INTEGER NOT NULL DEFAULT 0,
	tokens_out INTEGER NOT NULL DEFAULT 0,
	cost INTEGER NOT NULL DEFAULT 0
) STRICT;
-- An agent has one turn at a time.
CREATE UNIQUE INDEX turn_open ON turn(agent) WHERE state IN {turn_state.open};
CREATE INDEX turn_agent ON turn(agent, id);
CREATE INDEX turn_team ON turn(team, id);
CREATE INDEX turn_ended ON turn(ended_at) WHERE ended_at IS NOT NULL;

-- Messages with which turns began.
CREATE TABLE turn_message (
	turn INTEGER NOT NULL REFERENCES turn(id),
	message INTEGER NOT NULL,
	PRIMARY KEY (turn, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_message_of ON turn_message(message);

-- What turns have printed, in parts.
CREATE TABLE turn_output (
	turn INTEGER NOT NULL REFERENCES turn(id),
	start INTEGER NOT NULL, -- bytes before it
	at INTEGER NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (turn, start)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_turn AS
SELECT t.name AS team, a.name AS agent, u.id AS turn,
	(SELECT word FROM word WHERE list = 'turn_state' AND n = u.state) AS state,
	strftime('%Y-%m-%dT%H:%M:%fZ', u.queued_at / 1000.0, 'unixepoch') AS queued_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', u.started_at / 1000.0, 'unixepoch') AS started_at,
	strftime('%Y-%m-%dT%H:%M:%fZ', u.ended_at / 1000.0, 'unixepoch') AS ended_at,
	u.exit_code, u.reason, u.size, u.tokens_in, u.tokens_out, u.cost,
	(SELECT group_concat(o.text, '') FROM (SELECT text FROM turn_output
		WHERE turn = u.id ORDER BY start) o) AS text
FROM turn u JOIN team t ON t.id = u.team JOIN agent a ON a.id = u.agent;
