/*
 * speak - sends lines of JSON to an address and prints the answers, for stories.
 */
#ifndef TESTS_LINK_SPEAK_H
#define TESTS_LINK_SPEAK_H

/* Sends each line of stdin as a frame, waits for the frame's answer, and prints the answer as a
 * line. Prints `closed` if the other side closes the connection without an answer. Returns 0,
 * or 1 if the connection failed. */
int speak(const char *address, unsigned port);

#endif
