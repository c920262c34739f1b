-- An event for the end of a guest: who waits for that is woken by it.
DELETE FROM word;
{words}
