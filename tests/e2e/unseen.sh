#!/bin/sh
# unseen - no message is acknowledged before its agent has seen the message, and no task stays
# claimed if no agent was told of the claim. This test is a sample of `make unseen N=10000`. N
# is the number of tries at all doors together.
. "$(dirname "$0")/../lib/story.sh"
CADRE=$CADRE timeout 300 /usr/bin/python3 "$here/peers/unseen.py" 350
