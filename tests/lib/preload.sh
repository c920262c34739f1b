# preload - replaces functions of the C library for a command. A story sources this file after
# story.sh.

# preload NAME: compiles the C functions on standard input into the library NAME.
preload() { cc -shared -fPIC -o "$TMPDIR/$1.so" -x c - || bad "cc"; }
# with NAME COMMAND...: runs COMMAND with the functions of the library NAME.
with() {
	library=$TMPDIR/$1.so
	shift
	ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" LD_PRELOAD=$library "$@"
}
