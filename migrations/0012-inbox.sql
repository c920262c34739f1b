-- The statement that adds an agent adds its inbox too: a trigger is another language on
-- each engine, and nobody sees it at the statement.
DROP TRIGGER agent_has_inbox;
