-- A new agent under the name of one that is gone goes on with its generations, so that nothing that
-- is stamped with one of those counts as the new one's.
CREATE INDEX agent_former ON agent(team, name, generation) WHERE gone = 1;

-- The generation that an agent was made with.
ALTER TABLE agent ADD COLUMN first_generation INTEGER NOT NULL DEFAULT 1;
-- The newest event when it was made: texts of before were made from another agent's card.
ALTER TABLE agent ADD COLUMN made_after INTEGER NOT NULL DEFAULT 0;
UPDATE agent SET first_generation = (SELECT counts_from FROM state WHERE one = 1) + 1;
