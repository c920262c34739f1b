# reader - reads a state as a person with `sqlite3` does, opening it anew each time and
# waiting for nothing, until standard input ends: reader.py STATE.  Prints how often it
# read, and each way in which it failed with its count.
import collections, select, sqlite3, sys

uri = "file:%s/state.db?mode=ro" % sys.argv[1]
reads, failed = 0, collections.Counter()
while not select.select([sys.stdin], [], [], 0.01)[0]:
    try:
        db = sqlite3.connect(uri, uri=True, timeout=0)
        db.execute("SELECT count(*) FROM v_board").fetchall()
        db.close()
        reads += 1
    except sqlite3.OperationalError as e:
        failed[str(e)] += 1
print("reads", reads)
for why, n in failed.items():
    print("failed", n, why)
