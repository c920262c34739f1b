/*
 * speak - a bare speaker for stories: lines of JSON to an address, and what is
 * said there.
 */
#ifndef TESTS_LINK_SPEAK_H
#define TESTS_LINK_SPEAK_H

/* Sends each line of stdin as a frame, waits for one answer to it and prints that
 * as a line; `closed` when the other side went away instead.  0, or 1 when
 * nobody could be dialled. */
int speak(const char *address, unsigned port);

#endif
