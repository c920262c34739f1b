"""rooms - coverage by room: prints lines and branches of each, the files with the most lines
that no test reaches, and fails where a room is below its floor.

rooms.py SUMMARY FLOORS [--renew]: SUMMARY is gcovr's; FLOORS has a line "ROOM LINES BRANCHES" for
each room, in tenths of a per cent.  A floor may be a point below what is measured: chance decides
which lines a killed process has counted.
"""
import json
import os
import sys

summary, floors_path, renew = sys.argv[1], sys.argv[2], "--renew" in sys.argv[3:]
SLACK = 10

files = json.load(open(summary))["files"]
rooms = {}
for f in files:
    room = rooms.setdefault(os.path.dirname(f["filename"]), [0, 0, 0, 0])
    for i, key in enumerate(("line_covered", "line_total", "branch_covered", "branch_total")):
        room[i] += f[key]


def tenths(covered, total):
    return covered * 1000 // total if total else 1000


floors = {}
if os.path.exists(floors_path):
    for line in open(floors_path):
        if line.strip() and not line.startswith("#"):
            room, lines, branches = line.split()
            floors[room] = int(lines), int(branches)

bad = False
rooms["all"] = [sum(r[i] for r in rooms.values()) for i in range(4)]
print(f"{'room':28} {'lines':>7} {'branches':>9}  floor")
for room, (lc, lt, bc, bt) in sorted(rooms.items(), key=lambda r: tenths(*r[1][:2])):
    lines, branches = tenths(lc, lt), tenths(bc, bt)
    floor = floors.get(room, (0, 0))
    below = lines + SLACK < floor[0] or branches + SLACK < floor[1]
    bad = bad or below
    print(f"{room:28} {lines / 10:6.1f}% {branches / 10:8.1f}%  {floor[0] / 10:.1f} {floor[1] / 10:.1f}"
          + ("  BELOW" if below else ""))
    floors[room] = max(lines, floor[0]), max(branches, floor[1])

print("\nthe most lines that no test reaches:")
for f in sorted(files, key=lambda f: f["line_covered"] - f["line_total"])[:20]:
    print(f"{f['line_total'] - f['line_covered']:6} of {f['line_total']:5}  {f['filename']}")

if renew:
    with open(floors_path, "w") as out:
        out.write("# Floors of coverage: room, lines, branches, in tenths of a per cent.  They only rise:\n"
                  "# make coverage RENEW=1\n")
        for room in sorted(r for r in floors if r in rooms):
            out.write(f"{room} {floors[room][0]} {floors[room][1]}\n")
sys.exit(bad)
