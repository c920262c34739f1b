# preload - replaces functions of the C library for a command; a story sources it after
# story.sh.

# preload NAME: compiles the functions from C on standard input into the library NAME.
preload() { cc -shared -fPIC -o "$TMPDIR/$1.so" -x c - || bad "cc"; }
# with NAME COMMAND...: runs COMMAND with the functions of the library NAME.
with() {
	library=$TMPDIR/$1.so
	shift
	ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" LD_PRELOAD=$library "$@"
}
