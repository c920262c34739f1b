/*
 * home_who - the identity of this process, where no variable names it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/home.h"
#include "core/home/here.h"
#include "core/home/paths.h"
#include "core/home/settings.h"

/* Whether identities are kept for this process: in a state of its user's, outside of
 * workspaces, whose door says who calls. */
static bool keeps(const struct home *h)
{
	struct stat st;

	return h->dir[0] && !paths_env("CADRE_SOCKET") && !stat(h->dir, &st) &&
	       st.st_uid == geteuid();
}

static int home_who_take(struct home *h, const char *team, const char *agent,
			 const char *token, struct fault *f)
{
	struct identity *id = &h->identity;

	team = home_keep(h, team);
	agent = home_keep(h, agent);
	token = home_keep(h, token);
	if (!team || !agent || !token)
		return fault_set(f, FAULT_INVALID, "", "names are too long");
	id->level = WHO_OBSERVER;
	id->nobody = false;
	id->kept = true;
	id->team = team;
	id->agent = agent;
	id->token = token;
	return 0;
}

int home_recall(struct home *h, struct fault *f)
{
	const char *team = h->identity.team;
	struct here_sessions s;
	struct here k;
	int rc;

	if (h->identity.agent || !keeps(h) || !here_place(h->place))
		return 0;
	rc = here_find(h->dir, h->place, &k, f);
	if (rc <= 0)
		return rc;
	here_sessions(h->dir, &k, &s);
	if (s.differs)
		k = s.who;
	if (team && strcmp(team, k.team) != 0) {
		fault_set(f, FAULT_DENIED, "/team",
			  "%s is said, but this directory is %s of team %s", team,
			  k.agent, k.team);
		return fault_hint(f, "as the operator: --operator; to forget who it is: "
				     "cadre whoami --forget");
	}
	h->who = s.differs ? HOME_BY_SESSION : HOME_BY_PLACE;
	h->sure = s.own != 0;
	h->beside = h->sure ? 0 : s.other;
	return home_who_take(h, k.team, k.agent, k.token, f);
}

int home_become(struct home *h, const char *team, const char *agent, const char *token,
		struct fault *f)
{
	h->who = HOME_BY_JOINING;
	return home_who_take(h, team, agent, token, f);
}

int home_can_keep(struct home *h, struct fault *f)
{
	if (keeps(h) && here_place(h->place))
		return 0;
	fault_set(f, FAULT_UNAVAILABLE, "", "who this directory is cannot be kept: %s",
		  h->dir[0] ? "the state is another user's, or this is a workspace"
			    : "this is a workspace");
	return fault_hint(f, "set CADRE_TEAM, CADRE_AGENT and CADRE_TOKEN instead");
}

/* Fills in what is to be kept. */
static int home_who_fill(struct home *h, const char *team, const char *agent,
			 const char *token, struct here *k, struct fault *f)
{
	if (home_can_keep(h, f) < 0)
		return f->code;
	memcpy(k->place, h->place, sizeof(k->place));
	if (snprintf(k->team, sizeof(k->team), "%s", team) >= (int)sizeof(k->team) ||
	    snprintf(k->agent, sizeof(k->agent), "%s", agent) >= (int)sizeof(k->agent) ||
	    snprintf(k->token, sizeof(k->token), "%s", token) >= (int)sizeof(k->token))
		return fault_set(f, FAULT_INVALID, "", "names are too long");
	return 0;
}

int home_keep_here(struct home *h, const char *team, const char *agent, const char *token,
		   bool over, struct fault *f)
{
	struct here k;

	if (home_who_fill(h, team, agent, token, &k, f) < 0 ||
	    here_write(h->dir, &k, over, f) < 0)
		return f->code;
	if (over)
		here_session_forget(h->dir, k.place);
	return 0;
}

int home_keep_session(struct home *h, const char *team, const char *agent,
		      const char *token, bool over, struct fault *f)
{
	struct here k;

	return home_who_fill(h, team, agent, token, &k, f) < 0
		       ? f->code
		       : here_session_keep(h->dir, &k, over, f);
}

void home_begin_session(struct home *h)
{
	const struct identity *id = &h->identity;
	struct fault none = { 0 };

	if (h->who == HOME_BY_PLACE && !h->sure && !h->beside)
		home_keep_session(h, id->team, id->agent, id->token, false, &none);
}
