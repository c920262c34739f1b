#!/bin/sh
# observability - docs/observability.md lists every metric with its type, labels and help text.
# Alerts and the dashboard use only metrics that the document lists, and each alert fires when
# it should.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
root=$here/..
rules=$root/dist/prometheus

promtool check rules "$rules/cadre-rules.yml" >"$TMPDIR/lint" 2>&1 || bad "the rules: $(cat "$TMPDIR/lint")"
promtool test rules "$rules/cadre-rules-test.yml" >"$TMPDIR/tests" 2>&1 || bad "the alerts: $(cat "$TMPDIR/tests")"

# Makes a state in which each metric has a value.
cadre up >/dev/null || bad "up"
cadre team create shop --roles coder --max-tokens 1000 >/dev/null
cadre send coder hello >/dev/null
token=$(cadre token create prometheus --observer)
curl -sS -H "Authorization: Bearer $token" "$(cat "$CADRE_HOME/endpoint")/metrics" >"$TMPDIR/metrics"

cat >"$TMPDIR/compare.py" <<'PY'
import json, re, sys

metrics, root = sys.argv[1:]
read = lambda path: open(f"{root}/{path}", encoding="utf-8").read()
wrong = 0


def say(text):
    global wrong
    print(text)
    wrong = 1


# Reads the host's metrics: their types, their help texts, and the values of each label.
types, helps, labels = {}, {}, {}
for line in open(metrics, encoding="utf-8"):
    if line.startswith("# TYPE "):
        _, _, name, kind = line.split()
        types[name] = kind
    elif line.startswith("# HELP "):
        _, _, name, text = line.rstrip("\n").split(" ", 3)
        helps[name] = text
    else:
        name, inside = re.fullmatch(r"(\w+)(?:\{(.*)\})? \S+\n", line).groups()
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        name = base if types.get(base) == "histogram" else name
        if name not in types:
            say(f"{name} has no type")
        for label, value in re.findall(r'(\w+)="([^"]*)"', inside or ""):
            labels.setdefault(name, {}).setdefault(label, set()).add(value)
if len(types) < 20 or set(types) != set(helps):
    say(f"only {len(types)} metrics, or not all have a help")

# The table in docs/observability.md must list the same metrics as the host.
document = read("docs/observability.md")
told = set(re.findall(r"^\| `(cadre_.*)$", document, re.M))
there = set()
for name, kind in types.items():
    names = ",".join(n for n in labels.get(name, {}) if n != "le")
    there.add(f"{name}{'{' + names + '}' if names else ''}` | {kind} | {helps[name]} |")
for line in sorted(told - there):
    say(f"docs/observability.md says what is not so: {line}")
for line in sorted(there - told):
    say(f"docs/observability.md does not say: {line}")
for name in set(re.findall(r"`(cadre_[a-z_]+)", document)) - set(types):
    say(f"docs/observability.md: there is no {name}")

# The expressions of alerts and of the dashboard may use only existing metrics, labels and label
# values.
faults = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| [45]\d\d.*$", read("docs/http.md"), re.M)))) | {"none"}
open_labels = {"instance", "job", "team", "operation", "le"}


def check(place, expr):
    used = re.findall(r"\b(cadre_\w+)(?:\{([^}]*)\})?", expr)
    if not used and "up{" not in expr:
        say(f"{place}: no metric of cadre in {expr}")
    for name, inside in used:
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        base = base if types.get(base) == "histogram" else name
        if base not in types or (types[base] == "histogram") != (base != name):
            say(f"{place}: there is no {name}")
            continue
        for label, value in re.findall(r'(\w+)\s*[!=]~?\s*"([^"]*)"', inside):
            known = faults if label == "fault" else labels.get(base, {}).get(label, set())
            if label not in open_labels | set(labels.get(base, {})):
                say(f"{place}: {base} has no label {label}")
            elif label not in open_labels and label != "budget" and not set(value.split("|")) <= known:
                say(f"{place}: {base} has no {label} {value}")
    for group in re.findall(r"\bby \(([^)]*)\)", expr):
        for label in re.split(r",\s*", group):
            if label not in open_labels and not any(label in labels.get(re.sub(r"_(bucket|sum|count)$", "", n), {})
                                                    or label in labels.get(n, {}) for n, _ in used):
                say(f"{place}: nothing has a label {label}")


text = read("dist/prometheus/cadre-rules.yml")
alerts = re.findall(r"- alert: (\w+)\n\s+expr: (.*)", text)
for name, expr in alerts:
    check(name, expr)
names = {name for name, _ in alerts}
if names != set(re.findall(r"^\| `(Cadre\w+)` \|", document, re.M)):
    say("docs/observability.md has other alerts than the rules")
tests = re.findall(r"alertname: (\w+)\n.*\n\s+exp_alerts:( \[\])?", read("dist/prometheus/cadre-rules-test.yml"))
for name in names:
    if {quiet for n, quiet in tests if n == name} != {"", " []"}:
        say(f"{name} is not tried both where it comes and where it does not")

dashboard = json.loads(read("dist/grafana/cadre.json"))
exprs = [(p["title"], t["expr"]) for p in dashboard["panels"] for t in p["targets"]]
for title, expr in exprs:
    check(title, expr)
for v in dashboard["templating"]["list"]:
    if v["type"] == "query":
        check(v["name"], v["query"])
shown = " ".join(e for _, e in exprs)
for name in types:
    if name not in shown:
        say(f"the dashboard does not show {name}")
sys.exit(wrong)
PY
/usr/bin/python3 "$TMPDIR/compare.py" "$TMPDIR/metrics" "$root" >"$TMPDIR/said" 2>&1 || bad "$(cat "$TMPDIR/said")"

# The check finds a metric that was renamed, and an alert on a metric that does not exist.
sed 's/cadre_lapses_total/cadre_lapsed_total/' "$TMPDIR/metrics" >"$TMPDIR/renamed"
/usr/bin/python3 "$TMPDIR/compare.py" "$TMPDIR/renamed" "$root" >"$TMPDIR/said" 2>&1 && bad "a metric that is renamed is not missed"
for place in 'says what is not so: cadre_lapses_total' 'CadreClaimsLapse: there is no cadre_lapses_total' 'Claims a minute: there is no cadre_lapses_total'; do
	grep -q "$place" "$TMPDIR/said" || bad "not said: $place"
done
sed 's/state="dead"/state="gone"/' "$TMPDIR/metrics" >"$TMPDIR/renamed"
/usr/bin/python3 "$TMPDIR/compare.py" "$TMPDIR/renamed" "$root" >"$TMPDIR/said" 2>&1 && bad "a state that is renamed is not missed"

exit $failed
