#!/bin/sh
# No unseen message is acknowledged, and no claim is without a holder. This is a sample of `make
# unseen N=10000`. N is the number of tries at all doors together.
. "$(dirname "$0")/../lib/story.sh"
CADRE=$CADRE timeout 300 /usr/bin/python3 "$here/peers/unseen.py" 350
