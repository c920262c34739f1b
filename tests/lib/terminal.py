"""terminal - a command on a terminal of its own.

    said, status = run(words, columns, heard)

`heard(said)` is called with all that it has said until then, as bytes, whenever it says more;
what that returns, if anything, is typed.  `drawn` and `left` read a line that is redrawn in
place: what it showed, and what stands on the terminal in the end.
"""
import fcntl, os, pty, re, struct, termios


def run(words, columns=80, heard=lambda said: None):
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execvp(words[0], words)
    said = b""
    while True:
        try:
            data = os.read(fd, 4096)
        except OSError:
            break
        if not data:
            break
        said += data
        typed = heard(said)
        if typed:
            os.write(fd, typed)
    return said, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def drawn(said):
    return [line.decode() for line in re.findall(rb"\r\x1b\[K([^\r\n]*)", said) if line]


def left(said):
    return said.rsplit(b"\r\x1b[K", 1)[1].decode().replace("\r\n", "\n")
