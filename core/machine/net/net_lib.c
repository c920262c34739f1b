#include "core/machine/net/net_lib.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct symbol {
	const char *name;
	size_t at; /* offset of the function's pointer in struct net_lib */
};

#define X(name) { #name, offsetof(struct net_lib, name) },
static const struct symbol mnl_symbols[] = { NET_MNL(X) };
static const struct symbol nftnl_symbols[] = { NET_NFTNL(X) };
#undef X

static int net_lib_refuse(const char *file, struct fault *f)
{
	fault_set(f, FAULT_UNAVAILABLE, "", "a network for VMs needs %s: %s", file,
		  dlerror());
	return fault_hint(f, "Install it: apt-get install libnftnl11 libmnl0.");
}

static int net_lib_load(struct net_lib *lib, const char *file, void **handle,
			const struct symbol *symbols, size_t n, struct fault *f)
{
	*handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!*handle)
		return net_lib_refuse(file, f);
	for (size_t i = 0; i < n; i++) {
		void *function = dlsym(*handle, symbols[i].name);

		if (!function)
			return net_lib_refuse(file, f);
		memcpy((char *)lib + symbols[i].at, &function, sizeof(function));
	}
	return 0;
}

int net_lib_open(struct net_lib *lib, struct fault *f)
{
	int rc;

	if (lib->mnl && lib->nftnl)
		return 0;
	rc = net_lib_load(lib, "libmnl.so.0", &lib->mnl, mnl_symbols,
			  sizeof(mnl_symbols) / sizeof(mnl_symbols[0]), f);
	if (rc == 0)
		rc = net_lib_load(lib, "libnftnl.so.11", &lib->nftnl, nftnl_symbols,
				  sizeof(nftnl_symbols) / sizeof(nftnl_symbols[0]), f);
	if (rc < 0)
		net_lib_close(lib);
	return rc;
}

void net_lib_close(struct net_lib *lib)
{
	if (lib->nftnl)
		dlclose(lib->nftnl);
	if (lib->mnl)
		dlclose(lib->mnl);
	*lib = (struct net_lib){ 0 };
}
