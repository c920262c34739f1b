/*
 * workspace_make - makes the rows of new workspaces. A workspace is a directory or a VM, or
 * belongs to a machine that runs already. The directory or the VM may be a copy.
 */
#include <inttypes.h>
#include <string.h>

#include "core/access/who.h"
#include "core/base/link_address.h"
#include "core/base/nic.h"
#include "core/call/id.h"
#include "core/event/event.h"
#include "core/team/team.h"
#include "core/workspace/network.h"
#include "core/workspace/workspace.h"

enum { VCPUS = 1, MEMORY_MB = 512, DISK_GB = 8 };

/* Tries to add the workspace under `name`, which ends with four random hexadecimal digits.
 * Returns 0 if another workspace has the name `name`. */
static int add_named(struct call *call, const struct new_workspace *n, int64_t id,
		     const char *name)
{
	return sql_run(call, workspace_add, .id = id, .host = store_host(call->store),
		       .team = call->caller.team, .agent = n->agent, .name = name,
		       .backend = n->backend,
		       .path = n->address  ? NULL
			       : n->folder ? n->folder
					   : arena_printf(&call->arena, "workspaces/%s",
							  name),
		       .address = n->address, .link_token = n->link_token,
		       .parent = n->parent, .snapshot = n->snapshot, .source = n->source,
		       .image = n->image, .vcpus = n->vcpus, .memory_mb = n->memory_mb,
		       .disk_gb = n->disk_gb, .now = call->now);
}

/* Moves the agent into this workspace, and sets the agent's status to `initializing`. */
static int workspace_make_move_in(struct call *call, int64_t agent, int64_t row)
{
	int rc = sql_run(call, agent_set_workspace, .agent = agent, .workspace = row);

	return rc < 0 ? rc
		      : sql_run(call, agent_set_status, .agent = agent,
				.status = AGENT_STATUS_INITIALIZING, .now = call->now);
}

int workspace_add(struct call *call, const struct new_workspace *n, int64_t *id)
{
	uint64_t salt = (call->seed ^ (uint64_t)n->agent * 0x9e3779b97f4a7c15u) * 31;
	const char *name = NULL;
	int64_t row = sql_new_id(call, workspace);
	int rc = row < 0 ? call->fault.code : 0;

	for (int tries = 0; tries < 64 && rc == 0; tries++) {
		name = arena_printf(&call->arena, "%s-%s-%04x", call->caller.team_name,
				    n->member, (unsigned)((salt >> 40) + tries) & 0xffff);
		rc = add_named(call, n, row, name);
	}
	if (rc <= 0)
		return rc < 0 ? rc
			      : fault_set(&call->fault, FAULT_CONFLICT, "",
					  "too many workspaces are named like %s", name);
	if (id)
		*id = row;
	if ((rc = sql_run(call, board_add_vms, .team = call->caller.team, .vms = 1)) <
		    0 ||
	    (n->agent && (rc = workspace_make_move_in(call, n->agent, row)) < 0) ||
	    (n->backend == BACKEND_KIND_QEMU && (rc = network_take(call, row)) < 0))
		return rc;
	return event_emit(call, EVENT_WORKSPACE_CREATED, row, n->agent, name);
}

/* Refuses `want` new workspaces if the total would be above `most`. `there` is the number of
 * workspaces that exist already, and `key` is the name of the limit. */
static int check_most(struct call *call, const char *whose, int64_t there, int64_t want,
		      int64_t most, const char *key, const char *where)
{
	if (there + want <= most)
		return 0;
	return fault_set(&call->fault, FAULT_EXHAUSTED, where,
			 "%s has %" PRId64 " of %" PRId64 " workspaces (%s)", whose,
			 there, most, key);
}

int workspace_check_room(struct call *call, int64_t want, const char *where)
{
	const struct config *c = &call->settings->config;
	struct team_counts_row vms;
	const char *whose;
	struct vms_all_row all;
	struct team_row t;
	int rc;

	if ((rc = sql_row(call, team_by_id, &t, .id = call->caller.team)) < 0 ||
	    (rc = sql_row(call, team_counts, &vms, .team = t.id)) < 0 ||
	    (rc = sql_row(call, vms_all, &all, .host = store_host(call->store))) < 0)
		return rc;
	whose = arena_printf(&call->arena, "team %s", t.name);
	if ((rc = check_most(call, whose, vms.used + vms.reserved, want, t.max_vms,
			     "max_vms", where)) < 0 ||
	    (rc = check_most(call, whose, vms.used, want, c->limits_max_vms_per_team,
			     "limits.max_vms_per_team", where)) < 0)
		return rc;
	return check_most(call, "the host", all.n, want, c->limits_max_total_vms,
			  "limits.max_total_vms", where);
}

/* Finds the member for whom a workspace is made. A member works in one workspace at a time. */
static int find_worker(struct call *call, const char *agent, struct agent_row *a)
{
	int rc;

	if (!agent)
		return 0;
	if ((rc = who_agent(call, agent, "/agent", a)) < 0)
		return rc;
	if (a->kind == AGENT_KIND_OPERATOR)
		return fault_set(&call->fault, FAULT_INVALID, "/agent",
				 "the operator works outside workspaces");
	if (!a->workspace)
		return 0;
	fault_set(&call->fault, FAULT_CONFLICT, "/agent", "%s has a workspace already",
		  a->name);
	return fault_hint(&call->fault, "Destroy that workspace first.");
}

static int workspace_make_row(struct call *call, const char *agent,
			      struct new_workspace *n)
{
	struct agent_row a = { 0 };
	int rc;

	if ((rc = workspace_check_room(call, 1, "")) < 0 ||
	    (rc = find_worker(call, agent, &a)) < 0)
		return rc;
	n->member = agent ? a.name : "free";
	n->agent = a.id;
	if ((rc = workspace_add(call, n, &call->made)) < 0)
		return rc;
	return team_announce(call, call->caller.team);
}

/* --- create ------------------------------------------------------------------------------- */

static int check_attach(struct call *call, const struct workspace_create_in *in)
{
	struct fault *f = &call->fault;
	struct link_address at;

	if (!in->address)
		return fault_set(f, FAULT_INVALID, "/address",
				 "attaching a guest needs its address");
	if (in->source)
		return fault_set(f, FAULT_INVALID, "/source",
				 "an attached guest gets no copy of a source");
	if (link_parse(in->address, "/address", &at, f))
		return f->code;
	if (at.kind == LINK_VSOCK && at.number == LINK_CID_ANY)
		return fault_set(
			f, FAULT_INVALID, "/address",
			"vsock:any is no guest's address: give the guest's own CID");
	if ((at.kind == LINK_TCP) == !in->token)
		return fault_set(f, FAULT_INVALID, "/token",
				 in->token ? "only a guest at a TCP address takes a token"
					   : "a guest at a TCP address needs its token");
	return 0;
}

int workspace_set_vm(struct call *call, const struct vm_wishes *w, const char *where,
		     struct new_workspace *n)
{
	const struct {
		bool given;
		const char *name;
	} vm_only[] = {
		{ w->image != NULL, "image" },
		{ w->vcpus != 0, "vcpus" },
		{ w->memory_mb != 0, "memory_mb" },
		{ w->disk_gb != 0, "disk_gb" },
	};

	if (n->backend == BACKEND_KIND_QEMU) {
		n->image = w->image ? w->image : n->image;
		n->vcpus = w->vcpus ? w->vcpus : n->vcpus ? n->vcpus : VCPUS;
		n->memory_mb = w->memory_mb   ? w->memory_mb
			       : n->memory_mb ? n->memory_mb
					      : MEMORY_MB;
		n->disk_gb = w->disk_gb ? w->disk_gb : n->disk_gb ? n->disk_gb : DISK_GB;
		return 0;
	}
	for (size_t i = 0; i < sizeof(vm_only) / sizeof(*vm_only); i++)
		if (vm_only[i].given)
			return fault_set(&call->fault, FAULT_INVALID,
					 arena_printf(&call->arena, "%s/%s", where,
						      vm_only[i].name),
					 "works only with a VM (backend qemu)");
	return 0;
}

static int check_source(struct call *call, const char *source, const char *where)
{
	return source && call->settings->check_golden
		       ? call->settings->check_golden(source, where, &call->fault)
		       : 0;
}

/* Whether `source` is the path of an entry in the state's trash that stands for a VM's disk
 * (core/machine/trash.h). */
static bool is_kept_disk(const struct call *call, const char *source)
{
	size_t n = call->settings->home ? strlen(call->settings->home) : 0;
	const char *end = strrchr(source, '.');

	return n && !strncmp(source, call->settings->home, n) &&
	       !strncmp(source + n, "/trash/", 7) && !strchr(source + n + 7, '/') &&
	       end && !strcmp(end, ".vm");
}

/* Refuses arguments that are for a backend other than the call's backend. */
static int check_backend(struct call *call, const struct workspace_create_in *in)
{
	struct fault *f = &call->fault;

	if (in->backend == BACKEND_KIND_ATTACH)
		return check_attach(call, in);
	if (in->backend == BACKEND_KIND_FOLDER) {
		fault_set(f, FAULT_INVALID, "/backend",
			  "only an agent with a runner works in its project folder");
		return fault_hint(
			f, "Give the agent a project and a runner: {agent.update}.");
	}
	if (in->address || in->token)
		return fault_set(f, FAULT_INVALID, in->address ? "/address" : "/token",
				 "works only with a guest to attach");
	if (in->backend == BACKEND_KIND_QEMU && in->source &&
	    !is_kept_disk(call, in->source))
		return fault_set(f, FAULT_INVALID, "/source",
				 "a VM begins with an image: see `cadre image build "
				 "--rootfs`");
	/* A repeated call copies nothing, so the source may be missing. */
	return call->made ? 0 : check_source(call, in->source, "/source");
}

int workspace_create(struct call *call, const struct workspace_create_in *in,
		     struct workspace_create_out *out)
{
	const struct vm_wishes wishes = { in->image, in->vcpus, in->memory_mb,
					  in->disk_gb };
	struct new_workspace n = {
		.backend = in->backend,
		.source = in->source,
		.address = in->address,
		.link_token = in->token,
	};
	int rc;

	if ((rc = who_team(call, in->team)) < 0 || (rc = check_backend(call, in)) < 0 ||
	    (rc = workspace_set_vm(call, &wishes, "", &n)) < 0 ||
	    (!call->made && (rc = workspace_make_row(call, in->agent, &n)) < 0))
		return rc;
	return workspace_tell(call, call->made, &out->workspace);
}

/* --- fork --------------------------------------------------------------------------------- */

/* Checks that a workspace has been up. A workspace that was never up has nothing to copy. */
static int workspace_is_made(struct call *call, const struct workspace_row *w,
			     const char *where)
{
	if (w->was_up)
		return 0;
	if (w->state == WORKSPACE_STATE_CREATING) {
		fault_set(&call->fault, FAULT_UNAVAILABLE, where,
			  "%s is still being made", w->name);
		return fault_hint(&call->fault,
				  "{Call again when it is ready|Wait for it: cadre wait "
				  "workspace %.80s; or make it with --wait}.",
				  w->name);
	}
	return fault_set(&call->fault, FAULT_CONFLICT, where, "%s was never made",
			 w->name);
}

/* Makes the new workspace a copy of the present files of `w`, or of a snapshot of `w`. */
static int set_parent(struct call *call, const struct workspace_row *w,
		      const char *snapshot, const char *where, struct new_workspace *n)
{
	struct arena *a = &call->arena;
	struct snapshot_row s = { 0 };
	int rc = workspace_is_over(call, w);

	if (rc < 0 || (rc = workspace_is_here(call, w, where)) < 0)
		return rc;
	if (!w->path)
		return fault_set(&call->fault, FAULT_CONFLICT, where,
				 "the guest of workspace %s runs elsewhere: it cannot be "
				 "copied",
				 w->name);
	if (w->backend == BACKEND_KIND_FOLDER) {
		fault_set(&call->fault, FAULT_CONFLICT, where,
			  "workspace %s is a person's folder, and cannot be "
			  "copied as a workspace",
			  w->name);
		return fault_hint(&call->fault,
				  "To copy the folder, name it as `source`.");
	}
	if ((rc = workspace_is_made(call, w, where)) < 0)
		return rc;
	if (snapshot && (rc = snapshot_ready(call, w, snapshot, &s)) < 0)
		return rc;
	n->backend = w->backend;
	n->parent = w->id;
	n->snapshot = s.id;
	n->image = w->image;
	n->vcpus = w->vcpus;
	n->memory_mb = w->memory_mb;
	n->disk_gb = w->disk_gb;
	if (w->backend == BACKEND_KIND_PROCESS && !snapshot)
		n->source = arena_printf(a, "%s/%s", call->settings->home, w->path);
	else if (w->backend == BACKEND_KIND_PROCESS)
		n->source =
			arena_printf(a, "%s/snapshots/%s/%s", call->settings->home,
				     id_public(call, ID_WORKSPACE, w->id, w->created_at),
				     id_public(call, ID_SNAPSHOT, s.id, s.created_at));
	return 0;
}

int workspace_set_golden(struct call *call, const char *golden, const char *snapshot,
			 struct new_workspace *n)
{
	struct workspace_row w;
	int rc;

	if (!golden && !snapshot)
		return 0;
	if (!golden || golden[0] == '/') {
		n->source = golden;
		return snapshot
			       ? fault_set(
					 &call->fault, FAULT_INVALID, "/snapshot",
					 "`snapshot` needs a workspace as `golden`, not a directory")
			       : check_source(call, golden, "/golden");
	}
	if ((rc = workspace_find_any(call, golden, &w)) == FAULT_NOT_FOUND)
		fault_hint(&call->fault,
			   "If a directory is meant, write a path: ./%.60s.", golden);
	if (rc < 0)
		return fault_move(&call->fault, "/workspace", "/golden");
	return set_parent(call, &w, snapshot, "/golden", n);
}

int workspace_fork(struct call *call, const struct workspace_fork_in *in,
		   struct workspace_fork_out *out)
{
	struct new_workspace n = { 0 };
	struct workspace_row w;
	int rc;

	if (!call->made &&
	    ((rc = workspace_find(call, in->team, in->workspace, &w)) < 0 ||
	     (rc = set_parent(call, &w, in->snapshot, "/workspace", &n)) < 0 ||
	     (rc = workspace_make_row(call, in->agent, &n)) < 0))
		return rc;
	call->workspace.copied = call->made;
	return workspace_tell(call, call->made, &out->workspace);
}

int network_take(struct call *call, int64_t workspace)
{
	struct network_take_row taken;
	struct nic_range range;
	int rc;

	if ((rc = nic_range_parse(call->settings->network_range, &range, &call->fault)) <
		    0 ||
	    (rc = sql_row(call, network_take, &taken, .workspace = workspace)) <= 0 ||
	    taken.slot <= nic_slots(&range))
		return rc < 0 ? rc : 0;
	fault_set(&call->fault, FAULT_EXHAUSTED, "",
		  "all %" PRId64 " addresses of %s "
		  "are in use",
		  nic_slots(&range) - 1, call->settings->network_range);
	return fault_hint(&call->fault,
			  "Destroy a workspace, or set a wider network.range in "
			  "cadre.toml.");
}

/* --- what is allowed ------------------------------------------------------------- */

/* A VM, the network policy of this VM, and the policies of the VM's teams. */
struct vm {
	int64_t row, created_at, team, slot;
	const char *name;
	bool internet, inter_vm; /* the policy of the VM itself */
	struct network_team_row teams;
};

static int read_ports(struct call *call, int64_t team, int64_t workspace, bool *all,
		      int64_t **ports, size_t *n)
{
	struct network_ports_row row;
	struct query q = { 0 };
	int rc;

	*all = true;
	while ((rc = sql_each(call, &q, network_ports, &row, .team = team,
			      .workspace = workspace)) > 0) {
		*all = false;
		if (row.allowed)
			arena_add(&call->arena, *ports, *n, row.port);
	}
	return rc;
}

static int read_forwards(struct call *call, int64_t workspace,
			 struct workspace_network *out)
{
	struct network_forwards_row row;
	struct query q = { 0 };
	int rc;

	while ((rc = sql_each(call, &q, network_forwards, &row, .workspace = workspace)) >
	       0) {
		struct port_forward *f = arena_push(&call->arena, &out->forwards,
						    &out->n_forwards, sizeof(*f));

		*f = (struct port_forward){ .port = row.port,
					    .to = row.target,
					    .transport = row.transport,
					    .public = row.public };
	}
	return rc;
}

static int tell_nic(struct call *call, const struct vm *vm, struct workspace_network *out)
{
	const char *id = id_public(call, ID_WORKSPACE, vm->row, vm->created_at);
	struct nic *nic = arena_alloc(&call->arena, sizeof(*nic));
	struct nic_range range;
	int rc = nic_range_parse(call->settings->network_range, &range, &call->fault);

	if (rc < 0 || !id)
		return rc < 0 ? rc : (int)call->fault.code;
	nic_of(&range, call->settings->tag, id, vm->slot, nic);
	*out = (struct workspace_network){
		.workspace = vm->name,
		.tap = nic->tap,
		.mac = nic->mac_text,
		.address = nic->address,
		.prefix = nic->prefix,
		.gateway = nic->gateway,
		.allow_internet = vm->internet && vm->teams.allow_internet,
		.allow_inter_vm = vm->inter_vm && vm->teams.allow_inter_vm,
	};
	return 0;
}

static int network_tell(struct call *call, const struct vm *vm,
			struct workspace_network *out)
{
	struct network_fault_row fault;
	int rc;

	if ((rc = tell_nic(call, vm, out)) < 0 ||
	    (rc = read_ports(call, vm->team, vm->row, &out->all_ports,
			     &out->allowed_ports, &out->n_allowed_ports)) < 0 ||
	    (rc = read_forwards(call, vm->row, out)) < 0 ||
	    (rc = sql_row(call, network_fault, &fault, .workspace = vm->row)) < 0)
		return rc;
	out->fault = fault.network_fault;
	return 0;
}

static int read_vm(struct call *call, const struct workspace_row *w, struct vm *vm)
{
	struct network_of_row own;
	int rc = sql_row(call, network_of, &own, .workspace = w->id);

	if (rc < 0)
		return rc;
	if (!own.slot) {
		fault_set(&call->fault, FAULT_CONFLICT, "/workspace",
			  "workspace %s has no network of its own: its backend is %s",
			  w->name,
			  field_choice(&record_workspace, "backend", w->backend));
		return fault_hint(&call->fault,
				  "Network policies hold for VMs; processes "
				  "share this machine's network.");
	}
	*vm = (struct vm){
		.row = w->id,
		.created_at = w->created_at,
		.team = w->team,
		.slot = own.slot,
		.name = w->name,
		.internet = own.allow_internet,
		.inter_vm = own.allow_inter_vm,
	};
	rc = sql_row(call, network_team, &vm->teams, .team = w->team);
	return rc < 0 ? rc : 0;
}

/* --- changing it ---------------------------------------------------------------------- */

static int refuse_wider(struct call *call, const char *where, const char *what)
{
	fault_set(&call->fault, FAULT_DENIED, where, "team %s does not allow %s",
		  call->caller.team_name, what);
	return fault_hint(&call->fault, "A workspace can only restrict what its team "
					"allows.");
}

static int network_set_ports(struct call *call, const struct vm *vm, const int64_t *ports,
			     size_t n)
{
	int64_t *allowed = NULL;
	size_t n_allowed = 0;
	bool all;
	int rc = read_ports(call, vm->team, 0, &all, &allowed, &n_allowed);

	if (rc < 0 || (rc = sql_run(call, network_ports_clear, .workspace = vm->row)) < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		bool found = all;

		for (size_t k = 0; k < n_allowed && !found; k++)
			found = allowed[k] == ports[i];
		if (!found)
			return refuse_wider(call, "/allowed_ports",
					    arena_printf(&call->arena, "port %" PRId64,
							 ports[i]));
		if ((rc = sql_run(call, network_port_add, .workspace = vm->row,
				  .port = ports[i])) < 0)
			return rc;
	}
	return 0;
}

static int network_refuse_taken(struct call *call, const struct vm *vm, size_t i,
				const struct port_forward *f)
{
	struct network_forward_owner_row owner = { 0 };
	int rc = sql_row(call, network_forward_owner, &owner, .transport = f->transport,
			 .port = f->port, .workspace = vm->row);

	if (rc < 0)
		return rc;
	fault_set(&call->fault, FAULT_CONFLICT,
		  arena_printf(&call->arena, "/forwards/%zu/port", i),
		  "%s port %" PRId64 " leads to %s already",
		  field_choice(&record_port_forward, "transport", f->transport), f->port,
		  owner.name);
	return fault_hint(&call->fault, "Choose another port, or close that port first.");
}

static int set_forwards(struct call *call, const struct vm *vm,
			const struct port_forward *forwards, size_t n)
{
	int rc;

	if (call->caller.level < WHO_OPERATOR)
		return fault_set(&call->fault, FAULT_DENIED, "/forwards",
				 "only the operator can open ports of this machine");
	if ((rc = sql_run(call, network_forwards_clear, .workspace = vm->row)) < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		const struct port_forward *f = &forwards[i];

		rc = sql_run(call, network_forward_add, .transport = f->transport,
			     .port = f->port, .workspace = vm->row, .target = f->to,
			     .public = f->public);
		if (rc <= 0)
			return rc < 0 ? rc : network_refuse_taken(call, vm, i, f);
	}
	return 0;
}

static int network_change(struct call *call, const struct workspace_net_in *in,
			  struct vm *vm)
{
	int rc;

	if (in->allow_internet && in->has_allow_internet && !vm->teams.allow_internet)
		return refuse_wider(call, "/allow_internet", "the internet");
	if (in->allow_inter_vm && in->has_allow_inter_vm && !vm->teams.allow_inter_vm)
		return refuse_wider(call, "/allow_inter_vm", "traffic between its VMs");
	if (in->has_allow_internet)
		vm->internet = in->allow_internet;
	if (in->has_allow_inter_vm)
		vm->inter_vm = in->allow_inter_vm;
	if ((rc = sql_run(call, network_set, .workspace = vm->row,
			  .allow_internet = vm->internet,
			  .allow_inter_vm = vm->inter_vm)) < 0 ||
	    (in->allowed_ports && (rc = network_set_ports(call, vm, in->allowed_ports,
							  in->n_allowed_ports)) < 0) ||
	    (in->forwards &&
	     (rc = set_forwards(call, vm, in->forwards, in->n_forwards)) < 0))
		return rc;
	call->made = vm->row;
	return event_emit(call, EVENT_WORKSPACE_NETWORK, vm->row, 0, NULL);
}

int workspace_net(struct call *call, const struct workspace_net_in *in,
		  struct workspace_net_out *out)
{
	bool changes = in->has_allow_internet || in->has_allow_inter_vm ||
		       in->allowed_ports || in->forwards;
	struct workspace_row w;
	struct vm vm;
	int rc;

	if ((rc = workspace_find(call, in->team, in->workspace, &w)) < 0 ||
	    (rc = read_vm(call, &w, &vm)) < 0 ||
	    (changes && !call->made && (rc = network_change(call, in, &vm)) < 0))
		return rc;
	return network_tell(call, &vm, &out->network);
}

/* --- for the host ----------------------------------------------------------------------- */

static int tell_member(struct call *call, const struct network_members_row *r,
		       struct host_nic *out)
{
	struct vm vm = {
		.row = r->id,
		.created_at = r->created_at,
		.team = r->team,
		.slot = r->slot,
		.name = r->name,
		.internet = r->allow_internet,
		.inter_vm = r->allow_inter_vm,
	};
	int rc = sql_row(call, network_team, &vm.teams, .team = r->team);

	*out = (struct host_nic){ .row = r->id,
				  .id = id_public(call, ID_WORKSPACE, r->id,
						  r->created_at),
				  .team_row = r->team,
				  .parent_row = r->parent,
				  .slot = r->slot };
	return rc < 0 ? rc : network_tell(call, &vm, &out->network);
}

int workspace_network_rows(struct call *call, const struct workspace_network_rows_in *in,
			   struct workspace_network_rows_out *out)
{
	struct network_members_row *rows = NULL;
	size_t n = 0;
	int rc = sql_all(call, network_members, &rows, &n,
			 .host = store_host(call->store));

	(void)in;
	for (size_t i = 0; i < n && rc >= 0; i++)
		rc = tell_member(call, &rows[i],
				 arena_push(&call->arena, &out->members, &out->n_members,
					    sizeof(*out->members)));
	return rc < 0 ? rc : 0;
}

int workspace_network_note(struct call *call, const struct workspace_network_note_in *in,
			   struct workspace_network_note_out *out)
{
	int rc = sql_run(call, network_set_fault, .host = store_host(call->store),
			 .network_fault = in->fault);

	out->changed = rc > 0;
	return rc < 0 ? rc : 0;
}
