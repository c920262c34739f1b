/*
 * reservation - takes, renews, gives back and lists reservations.
 */
#include "core/reservation/reservation.h"

#include <inttypes.h>
#include <string.h>

#include "core/access/who.h"
#include "core/reservation/glob.h"
#include "core/call/space.h"
#include "core/team/estop.h"

enum {
	TEAM_MOST = 1024,
	STEPS_MOST = 1 << 26, /* maximum number of steps in a call that compares globs;
				 the steps take half a second */
};

/* --- paths ------------------------------------------------------------------------------- */

/* Tidies a path. An absolute path must be in the agent's project. `where` is the argument that
 * a fault names. */
static const char *tidy(struct call *call, const char *given, const char *where)
{
	struct agent_row a = { 0 };
	char path[GLOB_PATH];
	const char *why;

	if (*given == '/' && call->caller.agent &&
	    sql_row(call, agent_by_id, &a, .id = call->caller.agent) < 0)
		return NULL;
	why = glob_tidy(given, a.project, path);
	if (!why)
		return arena_strdup(&call->arena, path);
	fault_set(&call->fault, FAULT_INVALID, where, "%.200s: %s", given, why);
	fault_hint(&call->fault, "Give paths from the top of the project.");
	return NULL;
}

static const char *reservation_place(struct call *call, const char *list, size_t i)
{
	return arena_printf(&call->arena, "/%s/%zu", list, i);
}

/* Tidies the globs of a call. Returns an array in the call's arena, or NULL. */
static const char **tidy_globs(struct call *call, const char *const *given, size_t n)
{
	const char **globs = arena_alloc(&call->arena, (n + 1) * sizeof(*globs));

	for (size_t i = 0; i < n; i++) {
		const char *where = reservation_place(call, "globs", i), *why;

		if (!(globs[i] = tidy(call, given[i], where)))
			return NULL;
		if ((why = glob_fault(globs[i]))) {
			fault_set(&call->fault, FAULT_INVALID, where, "%.200s: %s",
				  given[i], why);
			return NULL;
		}
	}
	return globs;
}

static bool reservation_among(const char *glob, const char **globs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(glob, globs[i]))
			return true;
	return false;
}

/* --- rows -------------------------------------------------------------------------------- */

/* Finds the living reservations of the call's team, or of one agent of the team. */
static int living(struct call *call, int64_t agent, struct reservation_line_row **rows,
		  size_t *n)
{
	*rows = NULL;
	return sql_all(call, reservation_lines, rows, n, .team = call->caller.team,
		       .agent = agent, .after = 0, .now = call->now);
}

static void reservation_show(const struct call *call,
			     const struct reservation_line_row *r,
			     struct reservation *out)
{
	*out = (struct reservation){ .id = r->id,
				     .glob = r->paths,
				     .agent = r->name,
				     .shared = r->shared,
				     .has_lease_until = !call->caller.team_stopped,
				     .lease_until = r->lease_until,
				     .reason = r->reason,
				     .since = r->created_at };
}

/* Lists the agent's reservations of the globs in `globs`. If `globs` is NULL, lists all
 * reservations of the agent. */
static int reservation_tell(struct call *call, int64_t agent, const char **globs,
			    size_t n, struct reservation **out, size_t *n_out)
{
	struct reservation_line_row *rows;
	size_t count;
	int rc = living(call, agent, &rows, &count);

	for (size_t i = 0; i < count && rc >= 0; i++)
		if (!globs || reservation_among(rows[i].paths, globs, n))
			reservation_show(call, &rows[i],
					 arena_push(&call->arena, out, n_out,
						    sizeof(**out)));
	return rc;
}

static int tell_event(struct call *call, int kind, int64_t holder, const char *glob)
{
	return event_emit(call, kind, 0, holder, glob);
}

/* The globs that the call names, or all globs that the agent holds. */
struct meant {
	const char **globs;
	size_t n;
};

static int find_meant(struct call *call, int64_t agent, const char *const *given,
		      size_t n, struct meant *out)
{
	struct reservation_line_row *rows;
	int rc;

	*out = (struct meant){ .n = n };
	if (n)
		return (out->globs = tidy_globs(call, given, n)) ? 0 : call->fault.code;
	if ((rc = living(call, agent, &rows, &out->n)) < 0)
		return rc;
	out->globs = arena_alloc(&call->arena, (out->n + 1) * sizeof(*out->globs));
	for (size_t i = 0; i < out->n; i++)
		out->globs[i] = rows[i].paths;
	return 0;
}

static int reservation_not_held(struct call *call, const char *name, const char *glob,
				size_t i)
{
	fault_set(&call->fault, FAULT_NOT_FOUND, reservation_place(call, "globs", i),
		  "%s holds no reservation of %s", name, glob);
	return fault_hint(&call->fault,
			  "The reservation may be over, or its path is spelled "
			  "differently: see {reservation.list}.");
}

/* --- taking ------------------------------------------------------------------------------ */

/* Refuses globs that take too long to compare, because other callers have to wait meanwhile. */
static int too_much(struct call *call, const char *where)
{
	fault_set(&call->fault, FAULT_INVALID, where,
		  "comparing these globs with the reservations of team "
		  "%s takes too long",
		  call->caller.team_name);
	return fault_hint(&call->fault,
			  "Name fewer globs at once, with fewer `*` and `?`.");
}

static int in_the_way(struct call *call, const struct reservation_line_row *r,
		      const char *glob, size_t i)
{
	/* In a stopped team a lease does not run. */
	const char *left =
		r->lease_until >= ESTOP_FAR
			? ""
			: arena_printf(&call->arena, " for %" PRId64 " min more",
				       (r->lease_until - call->now + 59999) / 60000);

	fault_set(&call->fault, FAULT_CONFLICT, reservation_place(call, "globs", i),
		  "%s: %s holds %s of %s%s", glob, r->name,
		  r->shared ? "a shared reservation" : "the reservation", r->paths, left);
	return fault_hint(&call->fault,
			  "Choose other paths, wait, or ask %s to release them.",
			  r->name);
}

/* Counts the globs that the caller does not hold yet. A glob that the caller already holds gets
 * no second row. */
static size_t count_new(const struct call *call, const char **globs, size_t n,
			const struct reservation_line_row *held, size_t n_held)
{
	size_t fresh = 0;

	for (size_t i = 0; i < n; i++)
		fresh += !reservation_among(globs[i], globs, i);
	for (size_t k = 0; k < n_held; k++)
		fresh -= held[k].agent == call->caller.agent &&
			 reservation_among(held[k].paths, globs, n);
	return fresh;
}

/* Refuses globs that another agent's reservation excludes. Also refuses too many globs, and
 * globs that take too long to compare. */
static int reservation_check_free(struct call *call, const char **globs, size_t n,
				  bool shared)
{
	struct reservation_line_row *rows;
	size_t count, steps = 0;
	int rc = living(call, 0, &rows, &count);

	if (rc < 0)
		return rc;
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < n; i++)
			if (rows[k].agent != call->caller.agent &&
			    !(shared && rows[k].shared) &&
			    glob_meets(rows[k].paths, globs[i], &steps))
				return in_the_way(call, &rows[k], globs[i], i);
			else if (steps > STEPS_MOST)
				return too_much(call, "/globs");
	if (count + count_new(call, globs, n, rows, count) > TEAM_MOST) {
		fault_set(&call->fault, FAULT_EXHAUSTED, "/globs",
			  "team %s holds %zu reservations; the limit is %d",
			  call->caller.team_name, count, TEAM_MOST);
		return fault_hint(&call->fault, "Name folders instead of each file.");
	}
	return 0;
}

static int reservation_take_globs(struct call *call, const struct reservation_take_in *in,
				  const char **globs)
{
	size_t lapsed;
	int64_t id;
	int rc;

	if ((rc = estop_check(call, "")) < 0 ||
	    (rc = reservation_check_free(call, globs, in->n_globs, in->shared)) < 0 ||
	    (rc = reservation_settle(call, TEAM_MOST, &lapsed)) < 0)
		return rc;
	for (size_t i = 0; i < in->n_globs; i++) {
		if (reservation_among(globs[i], globs, i))
			continue;
		if ((id = sql_new_id(call, reservation)) < 0)
			return (int)id;
		rc = sql_run(call, reservation_take, .id = id, .team = call->caller.team,
			     .agent = call->caller.agent,
			     .generation = call->caller.generation, .paths = globs[i],
			     .stem = glob_stem(&call->arena, globs[i]),
			     .shared = in->shared, .reason = in->reason,
			     .lease_ms = in->ttl_seconds * 1000, .now = call->now);
		if (rc < 0 || (rc = tell_event(call, EVENT_RESERVATION_TAKEN,
					       call->caller.agent, globs[i])) < 0)
			return rc;
	}
	call->made = call->caller.agent;
	return 0;
}

int reservation_take(struct call *call, const struct reservation_take_in *in,
		     struct reservation_take_out *out)
{
	const char **globs;
	int rc;

	if ((rc = who_team(call, in->team)) < 0)
		return rc;
	if (!in->n_globs)
		return fault_set(&call->fault, FAULT_INVALID, "/globs", "names no paths");
	if (!(globs = tidy_globs(call, in->globs, in->n_globs)))
		return call->fault.code;
	if (!call->made && (rc = reservation_take_globs(call, in, globs)) < 0)
		return rc;
	rc = reservation_tell(call, call->caller.agent, globs, in->n_globs,
			      &out->reservations, &out->n_reservations);
	if (rc >= 0 && out->n_reservations) {
		out->has_lease_until = out->reservations[0].has_lease_until;
		out->lease_until = out->reservations[0].lease_until;
		out->shared = out->reservations[0].shared;
	}
	return rc;
}

/* --- renewing and giving back ------------------------------------------------------------ */

int reservation_renew(struct call *call, const struct reservation_renew_in *in,
		      struct reservation_renew_out *out)
{
	const struct caller *c = &call->caller;
	struct meant m;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = find_meant(call, c->agent, in->globs, in->n_globs, &m)) < 0)
		return rc;
	for (size_t i = 0; i < m.n && !call->made; i++) {
		rc = sql_run(call, reservation_renew, .agent = c->agent,
			     .generation = c->generation, .paths = m.globs[i],
			     .lease_ms = in->has_ttl_seconds ? in->ttl_seconds * 1000 : 0,
			     .now = call->now);
		if (rc <= 0)
			return rc < 0 ? rc
				      : reservation_not_held(call, c->name, m.globs[i],
							     i);
	}
	call->made = c->agent;
	return reservation_tell(call, c->agent, m.globs, m.n, &out->reservations,
				&out->n_reservations);
}

static int reservation_release_globs(struct call *call, const struct agent_row *a,
				     const struct meant *m)
{
	int rc;

	for (size_t i = 0; i < m->n; i++) {
		if (reservation_among(m->globs[i], m->globs, i))
			continue;
		rc = sql_run(call, reservation_release, .agent = a->id,
			     .generation = a->generation, .paths = m->globs[i],
			     .now = call->now);
		if (rc == 0)
			return reservation_not_held(call, a->name, m->globs[i], i);
		if (rc < 0 || (rc = tell_event(call, EVENT_RESERVATION_RELEASED, a->id,
					       m->globs[i])) < 0)
			return rc;
	}
	return 0;
}

int reservation_release(struct call *call, const struct reservation_release_in *in,
			struct reservation_release_out *out)
{
	struct reservation_line_row *left;
	struct agent_row a;
	struct meant m;
	size_t n;
	int rc;

	if ((rc = who_team(call, in->team)) < 0 ||
	    (rc = who_is(call, in->agent, "/agent", &a)) < 0 ||
	    (rc = find_meant(call, a.id, in->globs, in->n_globs, &m)) < 0 ||
	    (!call->made && (rc = reservation_release_globs(call, &a, &m)) < 0) ||
	    (rc = living(call, a.id, &left, &n)) < 0)
		return rc;
	call->made = a.id;
	out->held = (int64_t)n;
	for (size_t i = 0; i < m.n; i++)
		arena_add(&call->arena, out->released, out->n_released, m.globs[i]);
	if (!m.n)
		out->note = arena_printf(&call->arena, "%s has nothing reserved", a.name);
	return 0;
}

int reservation_settle(struct call *call, int64_t most, size_t *n)
{
	struct reservation_over_row *all = NULL;
	int rc =
		sql_all(call, reservation_over, &all, n, .now = call->now, .limit = most);

	for (size_t i = 0; i < *n && rc >= 0; i++) {
		if ((rc = sql_run(call, reservation_end, .id = all[i].id)) < 0)
			return rc;
		rc = event_by(call, .kind = EVENT_RESERVATION_LAPSED, .team = all[i].team,
			      .actor = ACTOR_HOST, .target = all[i].agent,
			      .detail = all[i].paths);
	}
	return rc;
}

/* Writes a JSON list of all stems (glob_stem()) of globs that can match one of the paths. The
 * stems are "", the part before each slash of a path, and each path. */
static const char *stems_of(struct call *call, const char *const *paths, size_t n)
{
	struct text list = { 0 };
	const char *copy;

	text_add(&list, "[\"\"", 3);
	for (size_t i = 0; i < n; i++)
		for (const char *end = paths[i]; *end;) {
			end += strcspn(end + 1, "/") + 1;
			text_add(&list, ",", 1);
			text_add_json(&list, arena_strndup(&call->arena, paths[i],
							   (size_t)(end - paths[i])));
		}
	text_add(&list, "]", 1);
	copy = arena_strndup(&call->arena, list.data, list.len);
	text_release(&list);
	return copy;
}

/* --- reading ----------------------------------------------------------------------------- */

int reservation_covers(struct call *call, const struct agent_row *agent,
		       const char *const *paths, size_t n, struct reservation *out,
		       const char **path)
{
	struct reservation_line_row r;
	struct query q = { 0 };
	const char **tidied = arena_alloc(&call->arena, (n + 1) * sizeof(*tidied));
	size_t steps = 0;
	int rc;

	for (size_t i = 0; i < n; i++)
		if (!(tidied[i] =
			      tidy(call, paths[i], reservation_place(call, "paths", i))))
			return call->fault.code;
	while ((rc = sql_each(call, &q, reservation_covering, &r,
			      .team = call->caller.team,
			      .stems = stems_of(call, tidied, n), .now = call->now)) > 0)
		for (size_t i = 0; i < n && r.agent != agent->id && !r.shared; i++) {
			if (steps > STEPS_MOST) {
				query_end(&q);
				return too_much(call, "/paths");
			}
			if (glob_matches(r.paths, tidied[i], &steps)) {
				query_end(&q);
				reservation_show(call, &r, out);
				*path = tidied[i];
				return 1;
			}
		}
	query_end(&q);
	return rc;
}

int reservation_list(struct call *call, const struct reservation_list_in *in,
		     struct reservation_list_out *out)
{
	struct reservation_line_row r;
	struct agent_row a = { 0 };
	const char *path = NULL;
	size_t steps = 0;
	struct query q;
	int rc;

	if ((rc = who_team_of(call, in->team, in->agent, "/agent")) < 0 ||
	    (in->agent && (rc = who_agent(call, in->agent, "/agent", &a)) < 0))
		return rc;
	if (in->path && !(path = tidy(call, in->path, "/path")))
		return call->fault.code;
	if (path)
		sql_query(call, &q, reservation_covering, .team = call->caller.team,
			  .stems = stems_of(call, &path, 1), .agent = a.id,
			  .after = in->has_after ? in->after : 0, .now = call->now);
	else
		sql_query(call, &q, reservation_lines, .team = call->caller.team,
			  .agent = a.id, .after = in->has_after ? in->after : 0,
			  .now = call->now);
	while ((rc = sql_next(call, &q, &r)) > 0) {
		struct reservation line;

		reservation_show(call, &r, &line);
		if (path && !glob_matches(r.paths, path, &steps) && steps <= STEPS_MOST)
			continue;
		if (steps > STEPS_MOST) {
			query_end(&q);
			return too_much(call, "/path");
		}
		if (!space_put(call, out, reservations, &record_reservation, &line,
			       in->limit))
			break;
	}
	return query_over(&q, rc);
}

int reservation_words(struct call *call, int64_t agent, const char ***out, size_t *n)
{
	struct arena *a = &call->arena;
	struct reservation_line_row r;
	struct query q = { 0 };
	int64_t size;
	int rc;

	while ((rc = sql_each(call, &q, reservation_lines, &r, .team = call->caller.team,
			      .agent = agent, .now = call->now)) > 0 &&
	       *n < RESERVATIONS_TOLD)
		if (agent || r.agent != call->caller.agent)
			arena_add(a, *out, *n,
				  arena_printf(a, "%s by %s%s%s%s",
					       space_cut(call, r.paths, 80, &size),
					       r.name, r.shared ? ", shared" : "",
					       r.reason ? ": " : "",
					       r.reason ? space_cut(call, r.reason, 60,
								    &size)
							: ""));
	return query_over(&q, rc);
}
