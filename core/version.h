/* version - what this program calls itself. */
#ifndef VERSION_H
#define VERSION_H

#define CADRE_VERSION "0.1.0"

#endif
