# holder - stands still while it holds a byte of state.lock, as a process does that is
# stopped in its transaction (3) or while it opens the state (0): holder.py STATE BYTE.
import fcntl, os, signal, struct, sys

lock = os.open(sys.argv[1] + "/state.lock", os.O_RDWR)
fcntl.fcntl(lock, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, int(sys.argv[2]), 1, 0))  # F_OFD_SETLKW
print("held", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
