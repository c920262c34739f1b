/*
 * agent_name - a name for an agent that brings none: two words that people keep apart and
 * remember.
 */
#include <inttypes.h>

#include "core/agent/agent.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *const adjectives[] = {
	"able",   "agile",  "amber", "bold",   "brave", "bright",  "brisk",  "calm",
	"clever", "cosmic", "crisp", "eager",  "early", "fair",    "fleet",  "gentle",
	"golden", "grand",  "happy", "humble", "jolly", "keen",    "kind",   "lively",
	"lucky",  "mellow", "merry", "neat",   "noble", "patient", "plucky", "polite",
	"proud",  "quick",  "quiet", "rapid",  "ready", "royal",   "rustic", "silver",
	"smart",  "steady", "sunny", "swift",  "tidy",  "vivid",   "warm",   "wise",
};

static const char *const nouns[] = {
	"badger", "beaver", "bison",  "crane",   "dingo",   "dolphin", "eagle",  "falcon",
	"ferret", "finch",  "fox",    "gecko",   "gibbon",  "hare",    "hawk",   "heron",
	"ibis",   "iguana", "jackal", "jaguar",  "kestrel", "koala",   "lemur",  "lion",
	"llama",  "lynx",   "magpie", "marten",  "mole",    "moose",   "newt",   "ocelot",
	"orca",   "otter",  "owl",    "panda",   "pelican", "puffin",  "rabbit", "raven",
	"robin",  "salmon", "seal",   "sparrow", "stork",   "tapir",   "tiger",  "walrus",
};

enum { TRIED_PLAIN = 4 };

const char *agent_name_pick(struct call *call, size_t tried)
{
	/* There is an even number of pairs: an odd step leads to other words. */
	uint64_t pairs = COUNT(adjectives) * COUNT(nouns), step = call->seed >> 32 | 1;
	uint64_t at = (call->seed % pairs + tried * (step % pairs)) % pairs;
	const char *adjective = adjectives[at % COUNT(adjectives)];
	const char *noun = nouns[at / COUNT(adjectives)];

	if (tried < TRIED_PLAIN)
		return arena_printf(&call->arena, "%s-%s", adjective, noun);
	return arena_printf(&call->arena, "%s-%s-%zu", adjective, noun,
			    tried - TRIED_PLAIN + 2);
}
