# preload - other functions of the C library for a command; a story sources it behind story.sh.

# preload NAME: compiles them from C on standard input.
preload() { cc -shared -fPIC -o "$TMPDIR/$1.so" -x c - || bad "cc"; }
# with NAME COMMAND...: runs it with them.
with() {
	library=$TMPDIR/$1.so
	shift
	ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" LD_PRELOAD=$library "$@"
}
