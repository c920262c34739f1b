/*
 * opgen_write - declarations that the parts of opgen's writer share.
 *
 * opgen_write.c writes the header, the types and the records; opgen_tables.c
 * writes the tables of operations, events, tools and wire messages, opgen_write_face.c
 * that of faces.
 */
#ifndef TOOLS_BUILD_OPGEN_WRITE_H
#define TOOLS_BUILD_OPGEN_WRITE_H

#include "tools/build/opgen.h"

void put_upper(FILE *out, const char *s); /* a name as part of a constant */
void put_string(FILE *out, const char *s); /* quoted, as C has it */
void opgen_put_words(FILE *out, const char *member, const struct list *l);
/* A field of a record's struct; `record` NULL: of none, it only describes. */
void opgen_put_field(FILE *out, const char *record, const struct member *m);
void write_faces(FILE *out, const struct schema *s);
void write_tables(FILE *out, struct arena *a, const struct schema *s);

#endif
