-- What is handed out is known to have arrived only when its receiver says so.

-- 1: the answer that handed it out has arrived.
ALTER TABLE delivery ADD COLUMN seen INTEGER NOT NULL DEFAULT 0
	CHECK (seen IN (0, 1));

-- A recipient's copy with its message.
DROP VIEW inbox;
CREATE VIEW inbox AS
SELECT d.message, d.agent, d.lane, d.state, d.attempt, d.due_at, d.after_lapse,
	d.request, d.session, d.seen, m.sender, m.at, m.ack_required, m.type, m.content,
	m.thread, m.reply_to, m.metadata, m.expires_at, a.name AS sender_name,
	p.at AS reply_at
FROM delivery d JOIN message m ON m.id = d.message JOIN agent a ON a.id = m.sender
LEFT JOIN message p ON p.id = m.reply_to;

-- The same of a result that was collected; `session` is the one that collected it.
ALTER TABLE result ADD COLUMN seen INTEGER NOT NULL DEFAULT 0 CHECK (seen IN (0, 1));
ALTER TABLE result ADD COLUMN session INTEGER;
UPDATE result SET seen = 1 WHERE collected_at IS NOT NULL;
CREATE INDEX result_unseen ON result(sender, message)
	WHERE collected_at IS NOT NULL AND seen = 0;
CREATE INDEX result_unseen_by ON result(agent, message)
	WHERE collected_at IS NOT NULL AND seen = 0;
