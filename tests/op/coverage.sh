#!/bin/sh
# Every operation, every fault that one declares and every event has occurred in
# some transcript, or `unseen` says why not.
exec build/asan/tests/run_op --coverage tests/op/*.test
