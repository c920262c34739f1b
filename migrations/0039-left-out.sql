-- A call of the operator may leave out the team: an agent's name, or the only team, says which.
CREATE INDEX team_top ON team(name) WHERE destroyed_at IS NULL AND parent IS NULL;
DROP INDEX agent_named;
CREATE INDEX agent_named ON agent(name, gone);
