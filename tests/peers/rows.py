"""rows - prints the rows of a state's database, a line each, but what only says when a call
came: rows.py FILE.  Two states that print the same differ in nothing that was said to them.
"""
import sqlite3
import sys

CALLS = {"rate": None, "state": ["alive_at"], "token": ["used_at"], "session": ["used_at"], "host": ["alive_at"]}

db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True, timeout=30)
tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' "
                                   "AND name NOT LIKE 'sqlite%' ORDER BY name")]
for table in tables:
    without = CALLS.get(table, [])
    if without is None:
        continue
    columns = [r[1] for r in db.execute("PRAGMA table_info(%s)" % table) if r[1] not in without]
    for row in db.execute("SELECT %s FROM %s ORDER BY %s" % (
            ", ".join(columns), table, ", ".join(str(i + 1) for i in range(len(columns))))):
        print(table, dict(zip(columns, row)))
