-- All words, as schema/ has them: a list that v_network asks for was not there.  What is
-- added to a list after the release of this comes with a migration that does the same.

DELETE FROM word;
{words}

-- Tokens of the guests of destroyed teams, which nobody needs.
UPDATE workspace SET link_token = NULL WHERE state = {workspace_state.destroyed};
