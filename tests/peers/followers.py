"""followers - N clients follow the event log of a host over HTTP, across hosts that are killed, until
OUT.stop is there, and they have seen the event whose number it holds: HOME TOKEN QUERY N OUT.

Each writes the numbers that it was told to OUT.I, and then how often it came back; those with an even
I begin with the first event, or behind the one that FIRST says.
"""
import os, sys, threading, time, urllib.request
home, token, query, n, out = sys.argv[1:]
PATIENCE = 60 * int(os.environ.get("TEST_SCALE", "1"))
def is_over(seen):
    try:
        since, number = os.stat(out + ".stop").st_mtime, open(out + ".stop").read()
    except OSError:
        return False
    return not number or seen and int(seen[-1]) >= int(number) or time.time() > since + PATIENCE
def follow(i):
    seen, last, told, back = [], "", "", -1
    while not is_over(seen):
        told = ""
        try:
            url = open(home + "/endpoint").read().strip()
            headers = {"Authorization": "Bearer " + token}
            if last:
                headers["Last-Event-ID"] = last
            elif i % 2 == 0:
                headers["Last-Event-ID"] = os.environ.get("FIRST", "0")
            answer = urllib.request.urlopen(urllib.request.Request(url + "/events" + query, headers=headers), timeout=PATIENCE)
            answer.fp.raw._sock.settimeout(2)  # so that the loop often checks whether the test has ended
            back += 1
            while not is_over(seen):
                try:
                    line = answer.readline()
                except TimeoutError:
                    break
                if not line:
                    break
                if line.startswith(b"id: "):
                    told = line[4:].strip().decode()
                elif not line.strip() and told:  # only a whole event counts
                    last, told = told, ""
                    seen.append(last.split(".")[1])
                elif line.startswith(b":") or not line.strip():
                    open("%s.%d.on" % (out, i), "a").close()
        except urllib.error.HTTPError as e:
            # Another process may now use the port of the killed host. Such a process does not
            # know the token.
            if e.code not in (401, 503):
                seen.append("status-%d" % e.code)
                break
            time.sleep(int(e.headers.get("Retry-After", "1")))
        except OSError:
            pass
        time.sleep(0.1)
    with open("%s.%d" % (out, i), "w") as f:
        f.write(" ".join(seen) + "\n%d\n" % back)
threads = [threading.Thread(target=follow, args=(i,)) for i in range(int(n))]
for t in threads: t.start()
for t in threads: t.join()
