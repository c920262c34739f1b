#include "core/workspace/network.h"

#include <inttypes.h>

#include "core/access/who.h"
#include "core/base/nic.h"
#include "core/event/event.h"
#include "core/call/id.h"
#include "core/workspace/workspace.h"

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
	return fault_hint(&call->fault, "Destroy a workspace, or set network.range in "
					"cadre.toml to a wider one.");
}

/* --- what is allowed ------------------------------------------------------------- */

/* The rows of a VM: the VM with its own policy, and the policy of its teams. */
struct vm {
	int64_t row, created_at, team, slot;
	const char *name;
	bool internet, inter_vm; /* as the VM's own row says */
	struct network_team_row teams;
};

static int read_ports(struct call *call, int64_t team, int64_t workspace, bool *all,
		      int64_t **ports, size_t *n)
{
	struct network_ports_row row;
	struct query q;
	int rc;

	*all = true;
	sql_query(call, &q, network_ports, .team = team, .workspace = workspace);
	while ((rc = sql_next(call, &q, &row)) > 0) {
		*all = false;
		if (row.allowed)
			*(int64_t *)arena_push(&call->arena, ports, n, sizeof(**ports)) =
				row.port;
	}
	return rc;
}

static int read_forwards(struct call *call, int64_t workspace,
			 struct workspace_network *out)
{
	struct network_forwards_row row;
	struct query q;
	int rc;

	sql_query(call, &q, network_forwards, .workspace = workspace);
	while ((rc = sql_next(call, &q, &row)) > 0) {
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
	return fault_hint(&call->fault, "Choose another port, or take it from there.");
}

static int set_forwards(struct call *call, const struct vm *vm,
			const struct port_forward *forwards, size_t n)
{
	int rc;

	if (call->caller.level < WHO_OPERATOR)
		return fault_set(&call->fault, FAULT_DENIED, "/forwards",
				 "only the operator opens ports of this machine");
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
