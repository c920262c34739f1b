# holder - locks one byte of state.lock and then stops itself. The arguments are STATE and BYTE.
# With byte 3 the program acts like a process that is stopped in its transaction. With byte 0
# the program acts like a process that is stopped while it opens the state.
import fcntl, os, signal, struct, sys

lock = os.open(sys.argv[1] + "/state.lock", os.O_RDWR)
fcntl.fcntl(lock, 38, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, int(sys.argv[2]), 1, 0))  # F_OFD_SETLKW
print("held", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
