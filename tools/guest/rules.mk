# The program inside a VM is small, and is linked statically, since the initrd has no libraries.
GUEST = $(if $(B),,build/cadre-guest)
GUEST_MOST = 4194304
GUEST_LIBS = -lsqlite3 -ljansson -l:libuv_a.a -lmd -pthread -ldl -lm

all: $(GUEST)
# The handlers of operations, and the tables of the state, are left out, since this program
# sends each operation to a host.
build/obj/tools/guest/ops.o: build/ops.gen.c | build/ops.stamp
	$(call SAY,CC,$@) mkdir -p $(@D) && $(CC) $(CPPFLAGS) -DOPS_WITHOUT_HANDLERS $(PKG_CFLAGS) $(CFLAGS) -c -o $@ $<
build/cadre-guest: $(patsubst %,build/obj/tools/guest/%.o,guest_main ops stateless) build/libcadre.a
	$(call SAY,LD,$@) $(CC) $(CFLAGS) -static -s -Wl,--gc-sections -Wl,-w -o $@ $^ $(GUEST_LIBS)
	@test $$(stat -c %s $@) -le $(GUEST_MOST) || { echo "$@ is over $(GUEST_MOST) bytes"; exit 1; }

install: install-guest
install-guest: $(GUEST)
	install -Dm755 build/cadre-guest $(D)/lib/cadre/cadre-guest
.PHONY: install-guest
