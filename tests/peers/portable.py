#!/usr/bin/env python3
"""portable - does PostgreSQL take every statement of the state?

Makes the tables, indexes and views of the migrations in a PostgreSQL of its own, in that
engine's types, and prepares each statement of storage/*.sql there as it stands, with its
parameters' types.  Each one that is refused is told with its place and PostgreSQL's words;
the last line is `N of N statements`.
"""
import glob, os, pwd, re, shutil, sqlite3, subprocess, sys, tempfile

# SQLite's functions, defined for the second engine, PostgreSQL, under the same names.
# Statements are only prepared here, not run, so the results of these functions do not matter.
GIVEN = """
CREATE DOMAIN blob AS bytea;
CREATE FUNCTION printf(text, bigint) RETURNS text LANGUAGE sql IMMUTABLE
	AS $$ SELECT lpad($2::text, 3, '0') $$;
CREATE FUNCTION json_each(text) RETURNS TABLE (key text, value bigint) LANGUAGE sql STABLE
	AS $$ SELECT ordinality::text, e::bigint
		FROM jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS x(e, ordinality) $$;
CREATE FUNCTION substr(bytea, bigint, bigint) RETURNS bytea LANGUAGE sql IMMUTABLE
	AS $$ SELECT substr($1, $2::int, $3::int) $$;
CREATE AGGREGATE group_concat(text, text) (SFUNC = string_agg_transfn, STYPE = internal,
	FINALFUNC = string_agg_finalfn);
"""


def statements(sqlgen, files):
    """(place, name, [(parameter, type)], text) of each statement."""
    out = subprocess.run([sqlgen, "-l", *files], stdout=subprocess.PIPE, text=True)
    if out.returncode:
        sys.exit(1)
    for part in re.split(r"^-- statement ", out.stdout, flags=re.M)[1:]:
        head, text = part.split("\n", 1)
        place, name, *given = head.split()
        yield place, name, [g.split(":") for g in given], text.strip().rstrip(";")


def tables(sqlgen, files):
    """The tables, indexes and views that the migrations end with, as SQLite shows them."""
    out = subprocess.run([sqlgen, "-m", *files], stdout=subprocess.PIPE, text=True)
    if out.returncode:
        sys.exit(1)
    db = sqlite3.connect(":memory:")
    db.executescript(out.stdout)
    return db.execute(
        "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
        " AND name NOT LIKE 'sqlite~_%' ESCAPE '~' AND name NOT LIKE 'v~_%' ESCAPE '~'"
        " ORDER BY type = 'view', type = 'index', rowid").fetchall()


def translate(kind, sql):
    sql = re.sub(r"--[^\n]*", "", sql)
    if kind == "table":
        # Removes the references and the table options of SQLite from a table's definition. For
        # the second engine only the names and types of columns matter.
        sql = re.sub(r"\bREFERENCES\s+\w+\s*\(\w+\)", "", sql)
        sql = re.sub(r"\)\s*STRICT(\s*,\s*WITHOUT ROWID)?\s*$", ")", sql.strip())
        sql = re.sub(r"\)\s*WITHOUT ROWID(\s*,\s*STRICT)?\s*$", ")", sql)
        sql = re.sub(r"\bINTEGER\b", "bigint", sql)
        sql = re.sub(r"\bBLOB\b", "bytea", sql)
    if kind == "index":  # PostgreSQL wants a condition in parentheses
        sql = re.sub(r"(?<=, )(\w+ IS NOT NULL)(?=,)", r"(\1)", sql)
    return sql + ";\n"


def prepared(number, given, text):
    """PREPARE for a statement: its parameters in the order of their first place."""
    types = {"int": "bigint", "text": "text", "blob": "bytea"}
    places = {name: "$%d" % (i + 1) for i, (name, _) in enumerate(given)}
    parts = re.split(r"('(?:[^']|'')*'|--[^\n]*)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r":([a-z_]\w*)", lambda m: places[m.group(1)], parts[i])
    listed = ", ".join(types[t] for _, t in given)
    return "PREPARE s%d%s AS %s;\n" % (number, "(%s)" % listed if listed else "", "".join(parts))


class Server:
    """A PostgreSQL in a folder of its own, reached by a socket there, gone at the end."""

    def __init__(self):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not found:
            sys.exit("no PostgreSQL: tools/setup --peers")
        self.bin = found[-1]
        self.dir = tempfile.mkdtemp(prefix="cadre-portable.")
        self.user = None
        if os.geteuid() == 0:
            self.user = "postgres" if "postgres" in [p.pw_name for p in pwd.getpwall()] else "nobody"
            shutil.chown(self.dir, self.user)

    def run(self, *argv, **more):
        return subprocess.run(argv, user=self.user, cwd=self.dir, capture_output=True, text=True, **more)

    def __enter__(self):
        try:
            return self.begin()
        except BaseException:
            self.__exit__()
            raise

    def begin(self):
        data = self.dir + "/data"
        made = self.run(self.bin + "/initdb", "-D", data, "-A", "trust", "-U", "cadre", "-E", "UTF8",
                        "--locale=C", "--no-sync")
        if made.returncode:
            sys.exit("initdb: " + made.stderr)
        options = "-c listen_addresses='' -c unix_socket_directories=%s -c fsync=off" % self.dir
        begun = subprocess.run([self.bin + "/pg_ctl", "-D", data, "-w", "-l", self.dir + "/log",
                                "-o", options, "start"], user=self.user, cwd=self.dir,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if begun.returncode:
            with open(self.dir + "/log") as log:
                sys.exit("PostgreSQL: " + log.read())
        return self

    def __exit__(self, *_):
        self.run(self.bin + "/pg_ctl", "-D", self.dir + "/data", "-m", "immediate", "stop")
        shutil.rmtree(self.dir, ignore_errors=True)

    def ask(self, sql):
        """The text that PostgreSQL refuses it with; None if it does not."""
        done = self.run(self.bin + "/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.dir,
                        "-U", "cadre", "-d", "postgres", "-f", "-", input=sql)
        return done.stderr.strip() if done.returncode else None

    def ask_each(self, sqls):
        """The same of each, all over one connection."""
        marked = "".join("\\warn ==%d\n%s" % (i, sql) for i, sql in enumerate(sqls))
        done = self.run(self.bin + "/psql", "-X", "-q", "-h", self.dir, "-U", "cadre", "-d", "postgres",
                        "-f", "-", input=marked)
        parts = re.split(r"^==(\d+)\n", done.stderr, flags=re.M)
        return {int(parts[i]): parts[i + 1].strip() for i in range(1, len(parts), 2)}


def main():
    sqlgen, files = sys.argv[1], sys.argv[2:]
    bad = 0
    with Server() as server:
        refused = server.ask(GIVEN)
        if refused:
            sys.exit("the functions that it is given: " + refused)
        for kind, name, sql in tables(sqlgen, files):
            refused = server.ask(translate(kind, sql))
            if refused:
                print("%s %s: %s" % (kind, name, refused))
                bad += 1
        known = list(statements(sqlgen, files))
        said = server.ask_each([prepared(i, given, text) for i, (_, _, given, text) in enumerate(known)])
        if len(said) != len(known):
            sys.exit("PostgreSQL answered %d of %d statements" % (len(said), len(known)))
        taken = 0
        for i, (place, name, _, _) in enumerate(known):
            if said[i]:
                print("%s: %s: %s" % (place, name, said[i]))
            else:
                taken += 1
    print("%d of %d statements" % (taken, len(known)))
    return 1 if bad or taken < len(known) or not known else 0


if __name__ == "__main__":
    sys.exit(main())
