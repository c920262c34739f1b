/*
 * help_flow - texts of help, wrapped anew at words to the width of the terminal.
 */
#ifndef TOOLS_CADRE_HELP_HELP_FLOW_H
#define TOOLS_CADRE_HELP_HELP_FLOW_H

#include "tools/cadre/cli.h"

/* Prints paragraphs and entries (`  NAME    what it is`, which go on below what it is), whose
 * lines may be broken anywhere. */
void help_flow(int width, const char *text);

#endif
