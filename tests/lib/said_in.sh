# said_in - prints the commands that a document shows. `block FILE HEADING` prints the first
# block of shell below that heading.
block() {
	awk -v heading="## $2" '$0 == heading { here = 1 } here && /^```$/ { exit } \
		inside { print } here && /^```sh$/ { inside = 1 }' "$1"
}
