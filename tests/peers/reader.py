# reader - reads a state as a person with `sqlite3` does, until standard input ends. The
# argument is STATE. The program opens the state anew for each read, and never waits for a lock.
# At the end the program prints the number of reads, and each kind of failure with its count.
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
