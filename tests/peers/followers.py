"""followers - N clients follow the event log of a host over HTTP, across hosts that are killed, until
OUT.stop is there: HOME TOKEN QUERY N OUT.

Each writes the numbers that it was told to OUT.I, and then how often it came back; those with an even
I begin with the first event.
"""
import os, sys, threading, time, urllib.request
home, token, query, n, out = sys.argv[1:]
def follow(i):
    seen, last, back = [], "", -1
    while not os.path.exists(out + ".stop"):
        back += 1
        try:
            url = open(home + "/endpoint").read().strip()
            headers = {"Authorization": "Bearer " + token}
            if last:
                headers["Last-Event-ID"] = last
            elif i % 2 == 0:
                headers["Last-Event-ID"] = "0"
            answer = urllib.request.urlopen(urllib.request.Request(url + "/events" + query, headers=headers), timeout=1)
            while not os.path.exists(out + ".stop"):
                try:
                    line = answer.readline()
                except TimeoutError:
                    break
                if not line:
                    break
                if line.startswith(b"id: "):
                    last = line[4:].strip().decode()
                    seen.append(last.split(".")[1])
                elif line.startswith(b":") or not line.strip():
                    open(out + ".on", "a").close()
        except urllib.error.HTTPError as e:
            # An agent may not ask too often; and the port of a host that was killed may be
            # another one's by now, which does not know the token.
            if e.code not in (401, 429, 503):
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
