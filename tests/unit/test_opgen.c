/*
 * test_opgen - mistakes that opgen refuses, and the place that each refusal names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/build/opgen.h"

/* The smallest valid operation, as two lines. */
#define OP "# Do it.\nop a.b\n"
#define READ OP " read\n who member\n"
#define WAITS READ " wait w\n reaches x y\n in w int  # W.\n "
#define WAITS_FOR_HOST                                                       \
	READ " wait w\n reaches x y z\n in w int  # W.\n out x bool  # X.\n" \
	     " out y bool  # Y.\n "
#define UNTIL                                                                          \
	"# E.\nenum e\n v  # V.\n" WAITS "in n text (m)  # N.\n in until e[]?  # U.\n" \
	" out x bool  # X.\n out y bool  # Y.\n says \"x\"\n"                          \
	"# C.\nop a.c\n write\n who member\n until "
#define FACE                                                                      \
	READ " in x text  # X.\n out r r[]  # R.\n# R.\nrecord r\n n int  # N.\n" \
	     "set s\n tool t  # T.\n# F.\nface f of a.b\n"
#define GIVES OP " write\n who member\n wait w\n in w int  # W.\n gives "

static const struct {
	const char *schema, *says;
} rows[] = {
	{ "nonsense x\n", "t.op:1: unknown declaration 'nonsense'" },
	{ "# T.\ntype x blob\n", "t.op:2: x: its base is not one of" },
	{ "type x int\n", "t.op:1: x has no documentation" },
	{ "# T.\ntype x int 5..1\n", "t.op:2: bad range '5..1'" },
	{ "# T.\ntype x int 1..9007199254740992\n", "leaves +-(2^53 - 1)" },
	{ "# T.\ntype x bool 0..1\n", "a bool or a map has no range" },
	{ "# T.\ntype x text -1..1\n", "a negative length" },
	{ "# T.\ntype x text /^\\d$/\n", "an escape that is not of a sign" },
	{ "# T.\ntype x text /(?=a)/\n", "both understand this pattern: (?" },
	{ "# T.\ntype x text /[[:alpha:]]/\n", "a \\ or [ inside" },
	{ "# T.\ntype x text /[]a]/\n", "a set that begins with ]" },
	{ "# T.\ntype x text /a+?/\n", "a repetition of a repetition" },
	{ "# T.\ntype x text /(a/\n", "bad pattern /(a/" },
	{ "# T.\ntype x text /abc\n", "does not end with a /" },
	{ "# T.\ntype x int /abc/\n", "only a text has a pattern" },
	{ "# T.\ntype x int given file\n", "an int as number money budget share" },
	{ "# T.\ntype x text given away\n", "a text is given as one of file path place" },
	{ "# T.\ntype x int\n# T.\nenum x\n a  # A.\n",
	  "t.op:4: 'x' is already declared at t.op:2" },
	{ "# E.\nenum e\n", "e has no values" },
	{ "# R.\nrecord r\n n int  # N.\n" READ " overview l\n out l r[]  # L.\n",
	  "an overview has a text for an `empty` answer" },
	{ "# T.\ntopic t a first a.b\n", "t.op:2: t: a.b is no command of it" },
	{ "# T.\ntopic t b first a.b\n" READ " http GET /api/x\n cli x\n",
	  "t: a.b is no command of it" },
	{ "# E.\nenum e\n a  # A.\n a  # A.\n", "t.op:4: 'a' appears twice" },
	{ "# E.\nenum e\n a\n", "t.op:3: a has no documentation" },
	{ "# R.\nrecord r\n a nope  # A.\n", "t.op:3: unknown type 'nope' of 'a'" },
	{ "# R.\nrecord r\n a int\n", "t.op:3: a has no documentation" },
	{ "# R.\nrecord r\n a int  # A\n", "does not end with a period" },
	{ "# R.\nrecord r\n a int  # A.\n a int  # A.\n", "'a' appears twice" },
	{ "# R.\nrecord r\n a int  # A.\n b int (a)  # A.\n",
	  "t.op:4: 'a' appears twice" },
	{ "# R.\nrecord r\n default int  # A.\n", "cannot be a field's name" },
	{ "# R.\nrecord r\n r r  # A.\n", "r holds itself" },
	{ "# R.\nrecord r\n m map[]  # A.\n", "a list of maps" },
	{ "# R.\nrecord field\n a int  # A.\n", "is a struct of cadre already" },
	{ "# R.\nrecord r\n a int = x  # A.\n", "bad default 'x' of 'a'" },
	{ "# R.\nrecord r\n a int = \"1\"  # A.\n", "bad default" },
	{ "# R.\nrecord r\n a bool = yes  # A.\n", "bad default" },
	{ "# R.\nrecord r\n a int[] = 1  # A.\n", "bad default" },
	{ "# R.\nrecord r\n a int? = 1  # A.\n", "leave out the ?" },
	{ "# T.\ntype x int 1..3\n# R.\nrecord r\n a x = 4  # A.\n", "bad default '4'" },
	{ "# T.\ntype x text /^a$/\n# R.\nrecord r\n a x = b  # A.\n",
	  "bad default 'b'" },
	{ "# E.\nenum e\n a  # A.\n# R.\nrecord r\n f e = b  # A.\n", "bad default 'b'" },
	{ "# R.\nrecord r\n a text = \"x  # A.\n", "a text is not closed" },
	{ "# R.\nrecord r\n a int (b  # A.\n", "are not closed" },
	{ "# R.\nrecord r\n a int b  # A.\n", "unexpected 'b' behind a" },
	{ "# R.\nrecord r\n a  # A.\n", "a has no type and is no param" },
	{ "# A doc.\n\n# T.\ntype x int\n", "belongs to no declaration" },
	{ " # Doc.\n", "documentation without anything in front" },
	{ "# T.\ntype x int\n member\n", "'x' takes no members" },
	{ "event 0 a.b  # E.\n", "bad event number '0'" },
	{ "event 1 a.b  # E.\nevent 1 a.c  # E.\n", "a.c has the number of a.b" },
	{ "events a 1..9  # A.\nevent 10 a.b  # E.\n",
	  "t.op:2: the number of a.b is not in 1..9, as t.op:1 keeps for it" },
	{ "events a 1..9  # A.\nevent 1 b.c  # E.\n",
	  "no numbers are kept for events of 'b'" },
	{ "events a 1..9  # A.\nevents b 9..10  # B.\n", "overlap those of a" },
	{ "events a 1..9  # A.\nevents b 10..12 a  # B.\n", "'a' has numbers already" },
	{ "event 1 a.b nobody  # E.\n", "'nobody' is not one of" },
	{ "wire exec 5000 host  # W.\n", "PascalCase" },
	{ "wire Exec 80 host  # W.\n", "unknown port '80'" },
	{ "wire Exec 5000 me  # W.\n", "unknown sender 'me'" },
	{ "wire Exec 5000 host -> Nope  # W.\n", "undeclared answer 'Nope'" },
	{ "# W.\nwire Ok\n# W.\nwire Exec 5000 both -> Ok Nope\n",
	  "undeclared answer 'Nope'" },
	{ "wire Exec 5000\n", "expected: wire NAME" },
	{ "# W.\nwire Exec 5000 host\n type text  # T.\n",
	  "'type' belongs to the frame" },
	{ "set s\n tool x  # X.\n", "no operation is in tool 'x'" },
	{ "op a.b\n read\n who member\n", "a.b has no documentation" },
	{ "# R.\nrecord r\n a int  # A.\n" OP " read\n overview rows | m\n"
	  " out rows r[]  # R.\n",
	  "a.b: the answer has no part 'm'" },
	{ "# R.\nrecord r\n a int  # A.\n" OP " read\n overview rows | rows\n table b\n"
	  " out rows r[]  # R.\n",
	  "a.b: the answer's list has no column 'b'" },
	{ "# E.\nenum e\n v  # V.\n" READ " next \"{?x=w}go\"\n out x e  # X.\n",
	  "a.b: 'x' cannot be 'w'" },
	{ READ " says \"{?x=w}go\"\n out x text  # X.\n", "a.b: 'x' cannot be 'w'" },
	{ WAITS "out x bool  # X.\n", "does not say what the command waits `for`" },
	{ OP, "says neither read nor write" },
	{ OP " read\n", "does not say who" },
	{ OP " read\n who me\n", "unknown who 'me'" },
	{ OP " read\n read\n who member\n", "a second 'read' or 'write'" },
	{ OP " read\n who\n", "t.op:4: expected: who host" },
	{ READ " rate often\n", "unknown rate 'often'" },
	{ READ " frobs x\n", "t.op:5: unknown word 'frobs'" },
	{ READ " wait x\n", "`wait` names 'x', which is no int of the arguments" },
	{ READ " wait x when y\n in x int  # X.\n in y int  # Y.\n",
	  "`when` names 'y', which is no bool of the arguments" },
	{ READ " reaches x y\n", "a.b reaches: only a read that waits" },
	{ READ " reaches x\n", "t.op:5: expected: reaches FIELD FIELD [FIELD]" },
	{ READ " reaches x y z w\n", "t.op:5: expected: reaches FIELD FIELD [FIELD]" },
	{ READ " reaches x y\n reaches x y\n", "a second 'reaches'" },
	{ WAITS "out x int  # X.\n",
	  "`reached` names 'x', which is no bool of the answer" },
	{ WAITS "out x bool  # X.\n",
	  "`over` names 'y', which is no bool of the answer" },
	{ WAITS_FOR_HOST "out z int  # Z.\n",
	  "`hostless` names 'z', which is no bool of the answer" },
	{ WAITS_FOR_HOST "in z bool  # Z.\n",
	  "`hostless` names 'z', which is no bool of the answer" },
	{ READ " lacks x\n", "expected: lacks NAME... \"TEXT\"" },
	{ READ " cli x\n lacks y x \"Do z.\"\n in x int  # X.\n",
	  "a.b: 'x' is an argument" },
	{ READ " until a.c\n", "undeclared operation 'a.c'" },
	{ READ " until a.b\n", "'a.b' is no operation that `reaches`" },
	{ READ " until a.b\n until a.b\n", "a second 'until'" },
	{ UNTIL "a.b\n",
	  "a.c: a.b needs 'n', which neither the call nor its answer has" },
	{ READ " awaits x\n awaits x\n", "a second 'awaits'" },
	{ READ " cli it\n in json bool  # J.\n", "a door has an argument 'json', too" },
	{ READ " tool it\n in max_result_tokens int  # M.\n",
	  "a door has an argument 'max_result_tokens', too" },
	{ READ " wait x if y\n", "t.op:5: expected: wait FIELD [when FLAG]" },
	{ READ " within x\n in x int  # X.\n", "an operation that needs a host" },
	{ READ " needs host\n within x\n in x text  # X.\n",
	  "`within` names 'x', which is no int of the arguments" },
	{ READ " gives gold\n", "not messages or claim" },
	{ OP " write\n who member\n gives claim\n", "only a write that waits" },
	{ READ " moves workspaces\n", "moves workspaces, and only reads" },
	{ READ " moves mountains\n", "t.op:5: unknown word 'mountains'" },
	{ READ " above\n", "`above` needs 'team'" },
	{ OP " write\n who member\n above\n", "is for those above: only of a read" },
	{ READ " needs cursor\n", "needs the cursor, and only reads" },
	{ READ " needs host\n prefers host\n", "only of a read that needs none" },
	{ READ " rest a.c\n", "undeclared operation 'a.c'" },
	{ READ " rest a.c\n# C.\nop a.c\n read\n who member\n in id int  # I.\n",
	  "needs 'id', which neither the call nor its answer has" },
	{ READ " follows x a.c\n in x text  # X.\n",
	  "`follows` names 'x', which is no bool of the arguments" },
	{ READ " follows x a.c\n in x bool = false  # X.\n",
	  "undeclared operation 'a.c'" },
	{ READ " many a.c tasks\n", "many 'a.c tasks' is no argument of an operation" },
	{ READ " bytes x\n in x int  # X.\n",
	  "`bytes_in` names 'x', which is no text of the arguments" },
	{ READ " owner x\n", "`owner` names 'x', which is no field of the arguments" },
	{ READ " guest Nope\n", "undeclared message 'Nope'" },
	{ "# W.\nwire Ask 5000 host\n" READ " guest Ask\n", "needs no host" },
	{ READ " lists x name\n", "a.b lists: only a list of records" },
	{ READ " in x text names x  # X.\n", "t.op:5: no operation lists the noun 'x'" },
	{ "# T.\ntype t text names x\n" READ " in x t  # X.\n",
	  "t.op:2: no operation lists the noun 'x'" },
	{ "# R.\nrecord r\n a text  # A.\n# T.\ntype t text names x by c\n" READ
	  " lists x a\n in x t  # X.\n out x r[]  # X.\n",
	  "r has no field c to name a x by" },
	{ READ " in x text makes x  # X.\n", "x makes a x, and a.b only reads" },
	{ READ " fails nope\n", "undeclared fault 'nope'" },
	{ READ " emits a.c\n", "undeclared event 'a.c'" },
	{ READ " http GET /a/{x}\n", "names {x}, which is no field without a default" },
	{ READ " http GET /a/{x}\n in x int = 1  # X.\n", "no field without a default" },
	{ READ " http GET /a/b{x}\n in x int  # X.\n", "a whole step" },
	{ READ " http HEAD /a\n", "unknown method 'HEAD'" },
	{ OP " write\n who member\n http GET /a\n", "a write on GET" },
	{ READ " http GET /a/{x}\n in x int  # X.\n"
	       "# C.\nop a.c\n read\n who member\n http GET /a/{y}\n in y int  # Y.\n",
	  "a.c has the route of a.b" },
	{ READ " tool t\n", "no set has a tool 't'" },
	{ "set s\n tool t  # T.\n" READ " tool t x\n"
	  "# C.\nop a.c\n read\n who member\n tool t x\n",
	  "a.c has the place of a.b in tool 't'" },
	{ "set s\n tool t  # T.\n" READ " tool t x\n"
	  "# C.\nop a.c\n read\n who member\n tool t\n",
	  "stands alone in one" },
	{ READ " cli do x y\n", "'y' is no argument" },
	{ READ " cli do x...\n in x int  # X.\n",
	  "only a list or a text takes the rest" },
	{ READ " cli do\n# C.\nop a.c\n read\n who member\n cli do\n",
	  "a.c has the command of a.b" },
	{ READ " table x\n", "has no column 'x'" },
	{ "# Do it\nop a.b\n read\n who member\n", "ends with a period" },
	{ "# Do it.\n# Now.\nop a.b\n read\n who member\n", "is not one line" },
	{ "# Do it.\nop ab\n read\n who member\n", "called NOUN.VERB" },
	{ "# F.\nface f in a.b\n", "t.op:2: expected: face NAME of NOUN.VERB" },
	{ "# F.\nface f of a.b\n answer {}\n", "f: undeclared operation 'a.b'" },
	{ FACE " answer {}\n", "f has neither tool nor route" },
	{ FACE " answer x\n", "expected: answer {JSON}" },
	{ FACE " answer {}\n answer {}\n", "a second 'answer'" },
	{ FACE " fault nope\n", "expected: fault [CODE [POINTER]] {JSON}" },
	{ FACE " tool t\n fault nope {}\n", "f: unknown fault 'nope'" },
	{ FACE " reads x.y\n", "unknown word 'reads' in a face" },
	{ FACE " only x.y \"off\"\n", "f: no bool 'x.y' in the configuration" },
	{ FACE " tool t\n in y text  # Y.\n", "a.b has no argument 'y'" },
	{ FACE " tool t\n in y text (x z)  # Y.\n", "y stands for one argument" },
	{ FACE " tool t\n in y text = \"q\" (x)  # Y.\n",
	  "y: a face's arguments have the operation's" },
	{ FACE " tool t\n answer {\"a\": }\n", "f: no JSON: " },
	{ FACE " tool t\n sets {\"a\": 1\n", "f: no JSON: " },
	{ FACE " tool t\n in x text  # X.\n fault invalid /y {}\n",
	  "f: no argument '/y'" },
	{ READ " in x text  # X.\n in y text  # Y.\nset s\n tool t  # T.\n"
	       "# F.\nface f of a.b\n tool t\n in z text (y)  # Z.\n",
	  "f lacks 'x', which a.b needs" },
	{ FACE " tool t\n answer {\"a\": \"{z}\"}\n", "f: no part 'z'" },
	{ FACE " tool t\n answer {\"a\": \"{r.m}\"}\n", "f: no part 'r.m'" },
	{ FACE " tool t\n answer {\"a\": \"{r.0.n.m}\"}\n", "f: no part 'r.0.n.m'" },
	{ FACE " tool t\n fault {\"a\": \"{r}\"}\n", "f: no part 'r'" },
	{ FACE " http GET /a/{y}\n in x text?  # X.\n",
	  "names {y}, which is no field without a default" },
	/* In a schema, some words are followed by the name of a field. The operation must have
	 * this field. */
	{ READ " misses x\n", "`misses` names 'x', which is no field of the answer" },
	{ READ " runs x\n", "`runs` names 'x', which is no field of the arguments" },
	{ READ " prints x\n", "`prints` names 'x', which is no field of the answer" },
	{ READ " editor x\n", "`editor` names 'x', which is no text of the arguments" },
	{ READ " bytes x\n", "`bytes_out` names 'x', which is no text of the answer" },
	{ READ " awaits x\n", "the answer has no part 'x'" },
	{ READ " brief x\n", "the answer has no part 'x'" },
};

static char *complaints(const char *schema, int *n)
{
	char *said = NULL;
	size_t size;
	struct schema s;
	FILE *errors = open_memstream(&said, &size);
	FILE *in = fmemopen((char *)schema, strlen(schema), "r");

	schema_init(&s, errors);
	schema_parse(&s, "t.op", in);
	if (!s.n_errors)
		schema_check_all(&s);
	*n = s.n_errors;
	schema_release(&s);
	fclose(in);
	fclose(errors);
	return said;
}

static void refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int n;
		char *said = complaints(rows[i].schema, &n);

		if (!n || !strstr(said, rows[i].says))
			fail_msg("%s--- said: %s--- not: %s", rows[i].schema, said,
				 rows[i].says);
		free(said);
	}
}

static void tells_all(void **state)
{
	int n;
	char *said = complaints("# R.\nrecord r\n a x  # A.\n b y  # B.\n", &n);

	(void)state;
	assert_int_equal(n, 2);
	assert_string_equal(said, "t.op:3: unknown type 'x' of 'a'\n"
				  "t.op:4: unknown type 'y' of 'b'\n");
	free(said);
}

static void takes_nothing(void **state)
{
	int n;
	char *said = complaints("-- nothing\n\n", &n);

	(void)state;
	assert_int_equal(n, 0);
	free(said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses),
		cmocka_unit_test(tells_all),
		cmocka_unit_test(takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
