/*
 * opgen_parse - declarations that the two halves of opgen's parser share.
 *
 * opgen_parse.c reads lines, declarations and their members, opgen_face.c faces.
 */
#ifndef TOOLS_BUILD_OPGEN_PARSE_H
#define TOOLS_BUILD_OPGEN_PARSE_H

#include "tools/build/opgen.h"

enum { WORDS = 64 };

/* A line, split into words. */
struct opgen_line {
	const char *words[WORDS];
	bool quoted[WORDS];
	size_t n;
	const char *doc; /* behind `#` or `#-`; "" if none */
	bool plain; /* it was `#-` */
	bool indented;
};

struct parser {
	struct schema *schema;
	struct opgen_place at;
	struct decl *open; /* the one whose members follow; NULL after a bad one */
	const char *doc; /* collected for the next declaration, or NULL */
	const char **last_doc; /* the doc that an indented `# text` continues */
};

#define refuse(p, ...) schema_refuse((p)->schema, (p)->at, __VA_ARGS__)

void parse_op_member(struct parser *p, struct decl *d, const struct opgen_line *l);
/* `face NAME of NOUN.VERB`, and a line of it. */
void parse_face(struct parser *p, struct decl *d, const struct opgen_line *l);
void parse_face_member(struct parser *p, struct decl *d, const struct opgen_line *l);

#endif
