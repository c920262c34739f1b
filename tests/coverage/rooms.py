"""rooms - coverage by room: prints lines and branches of each, the files with the most lines
that no test reaches, and fails where a room is below its floor.

rooms.py FOLDER FLOORS [--renew | --report]: FOLDER has gcovr's summary.json and lines.json, and gets
`uncalled`, the functions that no test calls.  FLOORS has a line "ROOM LINES BRANCHES" for each
room, in tenths of a per cent.  What is measured may be a point below, in a small room four lines or
branches: chance decides which lines a killed process has counted.  A report judges nothing, for only
some tests may have run.
"""
import json
import os
import sys

folder, floors_path, renew = sys.argv[1], sys.argv[2], "--renew" in sys.argv[3:]


def slack(total, few):
    return max(10, few * 1000 // total) if total else 0


def read(name):
    return json.load(open(os.path.join(folder, name)))["files"]


def tenths(covered, total):
    return covered * 1000 // total if total else 1000


files = read("summary.json")
rooms = {}
for f in files:
    for name in (os.path.dirname(f["filename"]), "all"):
        room = rooms.setdefault(name, [0, 0, 0, 0])
        for i, key in enumerate(("line_covered", "line_total", "branch_covered", "branch_total")):
            room[i] += f[key]

floors = {}
if os.path.exists(floors_path):
    for line in open(floors_path):
        if line.strip() and not line.startswith("#"):
            room, lines, branches = line.split()
            floors[room] = int(lines), int(branches)

print("the most lines that no test reaches:")
for f in sorted(files, key=lambda f: f["line_covered"] - f["line_total"])[:20]:
    print(f"{f['line_total'] - f['line_covered']:6} of {f['line_total']:5}  {f['filename']}")

below, new = [], []
print(f"\n{'room':28} {'lines':>7} {'branches':>9}  floors")
for room, (lc, lt, bc, bt) in sorted(rooms.items(), key=lambda r: tenths(*r[1][:2])):
    lines, branches = tenths(lc, lt), tenths(bc, bt)
    floor = floors.get(room, (0, 0))
    if room not in floors:
        new.append(room)
    if lines + slack(lt, 4) < floor[0] or branches + slack(bt, 8) < floor[1]:
        below.append(room)
    print(f"{room:28} {lines / 10:6.1f}% {branches / 10:8.1f}%  {floor[0] / 10:.1f} {floor[1] / 10:.1f}")
    floors[room] = max(lines, floor[0]), max(branches, floor[1])

functions = [(f["file"], g["lineno"], g["name"], g["execution_count"])
             for f in read("lines.json") for g in f["functions"]]
uncalled = sorted(f for f in functions if not f[3])
with open(os.path.join(folder, "uncalled"), "w") as out:
    out.writelines(f"{path}:{line} {name}\n" for path, line, name, _ in uncalled)
print(f"\n{len(uncalled)} of {len(functions)} functions are called by no test: {out.name}")

if renew:
    with open(floors_path, "w") as out:
        out.write("# Floors of coverage: room, lines, branches, in tenths of a per cent.  They only rise:\n"
                  "# make coverage RENEW=1\n")
        out.writelines(f"{room} {floors[room][0]} {floors[room][1]}\n"
                       for room in sorted(floors) if room in rooms)
gone = sorted(floors.keys() - rooms.keys())
if renew:
    gone = new = []
elif "--report" in sys.argv[3:]:
    below = gone = new = []
for room in below:
    print(f"{room} is below its floor: its new lines need tests")
for room in new:
    print(f"{room} has no floor: make coverage RENEW=1")
for room in gone:
    print(f"{room} has a floor, but no lines were measured in it")
sys.exit(bool(below or gone or new))
