/* version - the name and number by which this program calls itself. */
#ifndef CORE_BASE_VERSION_H
#define CORE_BASE_VERSION_H

#define CADRE_VERSION "0.1.0"

#endif
