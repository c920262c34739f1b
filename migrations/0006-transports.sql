-- The words of a list that v_network asks for.

INSERT INTO word (list, n, word) VALUES ('transport', 0, 'tcp'), ('transport', 1, 'udp');
