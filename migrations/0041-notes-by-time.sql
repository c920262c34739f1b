-- An event of a note shows the note's first words, and finds the note by its time.
CREATE INDEX task_note_at ON task_note(task, at);
