# make            build/cadre
# make demo       a team works on a real repository, and a host is killed; BACKEND=qemu uses VMs
# make check      every kind of test; the last line is `N passed, N failed`
#                 (ONLY='word …': only tests with one of these words in their names; write
#                 op/deps for the test `op deps`.  check-vsock: tests of AF_VSOCK, also with a VM
#                 inside a VM; the tests in that VM take minutes without KVM)
# make check-long all tests at full size: see tests/README.md (ONLY= works here, too)
# make lint       format, cppcheck, includes, rooms, doors, sizes, calls, guards, documents, SQL,
#                 migrations, planted faults, commits
# make bench      the speed table, as ratios; PEERS=1 compares cadre with Redis and PostgreSQL, too
#                 (NAME='word …': only these lines; `build/bench --help` lists all lines)
# make bench-guard  do calls still cost the same number of instructions?  RENEW=1 stores the numbers
# make crash N=200, make power N=100, make chaos N=30, make faults, make sim N=1000000, make fuzz T=600, make tsan,
# make unseen N=10000, make malformed N=10000, make soak MINUTES=20
#                 the long runs of tests; make check does a short run of each
# make clients    four real agent clients with scripted models are set up, and do a day's work, in
#                 the oldest supported and the newest version; npm fetches the clients
#                 (NAME='word …': only these clients; CLIENTS_CACHE=: the folder that keeps them)
# make mutants    do the tests notice planted faults?  Plants the faults of tests/mutants/list
#                 (NAME='word …': only faults with one of these words in their names)
# make coverage   which lines and branches do tests reach, by room?  RENEW=1 raises the required shares
# make permute    do the transcripts pass if enums and events have other numbers?
# make portable   does PostgreSQL take every statement of the state?
# make docs, make fmt, make sums, make clean
# make deb        Debian packages, in build/deb; make check-deb installs and upgrades them in a new root
# make check-bare runs in a new root what a newcomer does: the demo, an install, the README's commands
# make install PREFIX=/usr/local DESTDIR= STRIP=-s, and make uninstall with the same variables
#
# B=asan|tsan|fuzz|quick|cov builds that variant in build/$B: `make B=asan tests`.
# VERBOSE=1 shows the commands.  Targets that need packages call tools/setup by themselves.

CC = gcc
CLANG = clang
PREFIX = /usr/local
DESTDIR =
B =
N =
N_crash = 200
N_power = 100
N_sim = 1000000
T =
ONLY =
REPO = .
JOBS = -j$(shell nproc)

O = build$(if $(B),/$(B))
OPT = $(or $(OPT_$(B)),$(error unknown variant B=$(B)))
OPT_ = -O2 -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fstack-protector-strong -D_FORTIFY_SOURCE=2
OPT_quick = -O0 -g0 -DCADRE_TESTING
OPT_cov = -O0 --coverage -DCADRE_TESTING $(patsubst %,-Wl$(,)--wrap=%,_exit raise execvpe)
# This variant leaves out six checks of UBSan that take a third of the compiler's time.
# AddressSanitizer finds most of the faults that the six checks find. The programs of `make
# fuzz` have all checks of UBSan.
OPT_asan = -Og -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize=null,object-size,alignment,pointer-overflow,nonnull-attribute,returns-nonnull-attribute \
	-fno-sanitize-recover=undefined -DCADRE_TESTING
OPT_tsan = -Og -fno-omit-frame-pointer -fsanitize=thread -DCADRE_TESTING
OPT_fuzz = -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=undefined -DCADRE_TESTING
ifeq ($(B),fuzz)
CC = $(CLANG)
endif

# pkg-config is called at the first use of these variables, not when make reads this file. So
# tools/setup can install the packages before pkg-config is called.
PKGS = sqlite3 jansson libuv libmd
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $$(PKGS) 2>/dev/null || echo missing))$(or \
	$(filter-out missing,$(PKG_CFLAGS)),$(if $(PKG_CFLAGS),$(error $(NO_PACKAGES))))
PKG_LIBS = $(eval PKG_LIBS := $$(shell pkg-config --libs $$(PKGS)))$(PKG_LIBS)
NO_PACKAGES = libraries that cadre is built with are missing: run tools/setup

WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wwrite-strings -Wvla -Wswitch-enum $(WERROR)
CPPFLAGS = -D_GNU_SOURCE -I. -Ibuild
CFLAGS = -std=gnu17 -g$(if $(filter asan tsan,$(B)),1) $(OPT) $(WARN)
, := ,
# Without a variant, the programs are linked with static libraries if these are installed. Each
# command runs as a process of its own. A process that does nothing spends three tenths of its
# time on loading shared libraries.
archive = $(or $(wildcard $(shell $(CC) -print-file-name=lib$(1).a)),$(2))
ARCHIVES = $(eval ARCHIVES := $(call archive,sqlite3,-lsqlite3) $(call archive,jansson,-ljansson) \
	$(call archive,uv_a,-luv) $(call archive,md,-lmd))$(ARCHIVES)
LIBS = $(if $(B),$(PKG_LIBS),$(ARCHIVES)) -pthread -ldl -lm
SAY = $(if $(VERBOSE),,@printf '  %-4s %s\n' $(1) '$(2)';)
compile = $(CC) $(CPPFLAGS) $(PKG_CFLAGS) $(CFLAGS) -pthread -MMD -MP -c -o $@ $<
link = $(CC) $(CFLAGS) -Wl,--as-needed $(LDFLAGS) -o $@ $(1) $(DUMP) $(LIBS)

# --- the programs and their parts ----------------------------------------------

MAIN = tools/cadre/main.c
SRC = $(filter-out $(MAIN), \
	$(wildcard core/*.c core/*/*.c core/*/*/*.c storage/*.c storage/*/*.c \
	guest/*.c mcp/*.c tools/cadre/*.c tools/cadre/*/*.c))
OPGEN = $(wildcard tools/build/opgen*.c)
# The source files of the code that reads schema/. Both generators, opgen and sqlgen, are linked
# with these files.
OPREAD = $(filter-out tools/build/opgen.c tools/build/opgen_write.c,$(OPGEN)) \
	core/base/near.c
SQLGEN = $(wildcard tools/build/sqlgen*.c)
OPS = $(wildcard schema/*.op)
MIGRATIONS = $(wildcard migrations/*.sql)
STATEMENTS = $(wildcard storage/*.sql)
# The arguments of sqlgen for each of three databases: the state, the guest's spool and the
# search index. The arguments name the schema and the statements.
DB_sql = $(OPS) storage/enums storage/exports $(MIGRATIONS) -- $(STATEMENTS)
DB_spool_sql = -p spool_ $(wildcard storage/spool/migrations/*.sql) -- storage/spool/spool.sql
DB_search_sql = -p search_ $(wildcard storage/search/schema*.sql) -- $(wildcard storage/search/index*.sql)
DBS = $(if $(SQLGEN),sql spool_sql search_sql)
GEN = $(if $(OPGEN),build/ops.gen) $(DBS:%=build/%.gen)
GEN_H = $(GEN:=.h)
LIB = $(O)/libcadre.a
# In the variant B=cov, a process writes its line counts even if the process ends by _exit(),
# raise() or execvpe().
DUMP = $(if $(filter cov,$(B)),$(O)/obj/tests/coverage/dump.o)
OBJ = $(SRC:%.c=$(O)/obj/%.o) $(GEN:build/%=$(O)/obj/%.o)
# Only the folders whose code runs in several threads are compiled with ThreadSanitizer. The
# objects of all other folders are taken from the release build, unless WHOLE=1.
MEET = $(patsubst %,core/%/\%,base client host link machine mirror op wire) storage/%
ifeq ($(B)$(WHOLE),tsan)
OBJ := $(patsubst %.c,$(O)/obj/%.o,$(filter $(MEET),$(SRC))) \
	$(patsubst %.c,build/obj/%.o,$(filter-out $(MEET),$(SRC))) $(GEN:build/%=build/obj/%.o)
endif

# Each tests/NAME.c and each tests/fuzz/NAME.c is a program. The program of a tests/NAME.c is
# linked with tests/NAME/*.c and with the files of the folder that the variable with_tests/NAME
# names. Every program is linked with the parts of tests/lib/ and tools/build/ that it uses. One
# program, tests/units, holds most unit tests (tests/unit/test_NAME.c). In this program, main()
# of each unit is called unit_NAME. Each of these units has a symbolic link to the program. A
# unit that defines a name of the library or of libc is a program of its own.
TEST_LIB = $(O)/libtest.a $(O)/libbuild.a $(LIB)
BENCH_OBJ = $(patsubst %.c,$(O)/obj/%.o,$(wildcard tools/bench/*.c))
BUILD_OBJ = $(patsubst %.c,$(O)/obj/%.o,$(wildcard tools/build/*gen_*.c))
# Unit tests also test the part of the bench that judges the bench's figures.
UNITS_WITH = $(patsubst %,$(O)/obj/tools/bench/%.o,judge others)
PROGRAMS = $(patsubst %.c,$(O)/%,$(wildcard tests/*.c))
FUZZERS = $(patsubst %.c,$(O)/%,$(filter-out %/replay.c,$(wildcard tests/fuzz/*.c)))
UNIT_TESTS = $(wildcard tests/unit/test_*.c)
UNIT_ALONE = $(shell grep -lE 'opgen/fixture.h|^const struct statement |^int getaddrinfo' $(UNIT_TESTS))
# With ThreadSanitizer, only the unit tests that start threads are built.
ifeq ($(B),tsan)
UNIT_TESTS := $(shell grep -lE '(pthread|uv_thread)_create' $(UNIT_TESTS))
endif
UNIT_SHARED = $(filter-out $(UNIT_ALONE),$(UNIT_TESTS))
# The programs of RELEASED test only the release build of the command. The other programs are
# also built with a sanitizer.
RELEASED = $(patsubst %,$(O)/tests/%,crash power sim soak guard steps)

all: $(if $(wildcard $(MAIN)),$(O)/cadre,$(LIB))
tests: all $(filter-out %/race $(if $(B),$(RELEASED)),$(PROGRAMS)) $(O)/tests/cadre $(O)/conformance \
	$(if $(B),$(UNIT_TESTS:%.c=$(O)/%) $(FUZZERS))
fuzzers: $(FUZZERS)
asan: ; +@$(MAKE) $(JOBS) B=$@ tests

# --- generated: shared by all variants --------------------------------------

# A generated file that would not change is not written. So if only prose or a WHERE clause
# changes, one file is compiled again, not every file that includes the header.
generate = $(1) > $(2).$$$$ && { cmp -s $(2).$$$$ $(2) && rm $(2).$$$$ || \
	mv $(2).$$$$ $(2); } || { rm -f $(2).$$$$; exit 1; }

build/ops.stamp: build/opgen $(OPS)
	$(call SAY,GEN,build/ops.gen.[ch]) \
	$(call generate,build/opgen -h $(OPS),build/ops.gen.h); \
	$(call generate,build/opgen $(OPS),build/ops.gen.c); touch $@
$(DBS:%=build/%.stamp): build/%.stamp: build/sqlgen $(sort $(filter schema/% storage/% migrations/%,$(foreach d,$(DBS),$(DB_$d))))
	$(call SAY,GEN,build/$*.gen.[ch]) \
	$(call generate,build/sqlgen -h $(DB_$*),build/$*.gen.h); \
	$(call generate,build/sqlgen $(DB_$*),build/$*.gen.c); touch $@
# The unit tests of the operations' tables use the schema in tests/opgen/.
build/fixture.stamp: build/opgen $(wildcard tests/opgen/*.op)
	$(call SAY,GEN,build/fixture.gen.[ch]) \
	$(call generate,build/opgen -h $(filter %.op,$^),build/fixture.gen.h); \
	$(call generate,build/opgen $(filter %.op,$^),build/fixture.gen.c); touch $@
$(patsubst %,$(O)/obj/tests/unit/test_%.o,op op_doors face): build/fixture.stamp
# The program tests/boats has one more noun, boat. The code of no door mentions this noun.
build/boats.stamp: build/opgen $(OPS) tests/boats/boat.op
	$(call SAY,GEN,build/boats.gen.[ch]) \
	$(call generate,build/opgen -h $(filter %.op,$^),build/boats.gen.h); \
	$(call generate,build/opgen $(filter %.op,$^),build/boats.gen.c); touch $@
$(O)/obj/tests/boats.o: build/boats.stamp
build/ops.gen.h build/ops.gen.c: build/ops.stamp ; @:
$(DBS:%=build/%.gen.h): build/%.gen.h: build/%.stamp ; @:
$(DBS:%=build/%.gen.c): build/%.gen.c: build/%.stamp ; @:

GEN_CC = gcc $(CPPFLAGS) $(PKG_CFLAGS) -std=gnu17 -g -O1 $(WARN) -o $@ $(filter %.c,$^) -ljansson
GEN_USES = $(foreach f,alloc arena,core/base/$(f).c core/base/$(f).h) core/base/near.h core/op/op.h $(wildcard tools/build/*.h)
build/opgen: $(OPGEN) $(GEN_USES)
	@mkdir -p $(@D)
	$(call SAY,HOST,$@) $(GEN_CC)
build/sqlgen: $(SQLGEN) $(OPREAD) $(GEN_USES)
	@mkdir -p $(@D)
	$(call SAY,HOST,$@) $(GEN_CC) -lsqlite3

# --- compiled -------------------------------------------------------------------

$(O)/obj/%.o: %.c | $(GEN_H)
	@mkdir -p $(@D)
	$(call SAY,CC,$@) $(compile)
$(O)/obj/%.gen.o: build/%.gen.c | $(GEN_H)
	@mkdir -p $(@D)
	$(call SAY,CC,$@) $(compile)
$(LIB): $(OBJ) | $(DUMP)
$(O)/libbuild.a: $(BUILD_OBJ)
$(O)/libtest.a: $(patsubst %.c,$(O)/obj/%.o,$(wildcard tests/lib/*.c))
$(LIB) $(O)/libbuild.a $(O)/libtest.a:
	@mkdir -p $(@D)
	$(call SAY,AR,$@) rm -f $@ && ar rcs $@ $^
$(O)/cadre: $(MAIN:%.c=$(O)/obj/%.o) $(if $(filter tsan,$(B)),$(O)/obj/tests/tsan/close.o) $(LIB)
	@mkdir -p $(@D)
	$(call SAY,LD,$@) $(call link,$^)
# The program with the operations that the official MCP suite calls. The linker takes the table
# `extras` from fixture.o, not the empty table from the library.
$(O)/conformance: $(MAIN:%.c=$(O)/obj/%.o) $(O)/obj/tests/mcp/fixture.o $(LIB)
	@mkdir -p $(@D)
	$(call SAY,LD,$@) $(call link,$^)
# The bench is no part of the product. The bench is linked with every library of the command,
# since the bench compares a process of the command with a process of the bench.
$(O)/bench: $(BENCH_OBJ) $(LIB)
	@mkdir -p $(@D)
	$(call SAY,LD,$@) $(call link,$^ -Wl$(,)--no-as-needed -luv -Wl$(,)--as-needed)

$(O)/tests/run_op: LDFLAGS += -Wl,-Map=$@.map
# A build of the command for tests: the test controls the command's disk (fault_vfs).
$(O)/tests/cadre: $(patsubst %,$(O)/obj/%.o,$(MAIN:.c=) tests/lib/fault_vfs) $(LIB)
	@mkdir -p $(@D)
	$(call SAY,LD,$@) $(call link,$^)
$(O)/tests/units: $(O)/obj/tests/unit/units.o $(UNIT_SHARED:%.c=$(O)/obj/%.o) \
		$(patsubst %.c,$(O)/obj/%.o,$(wildcard $(UNIT_SHARED:.c=/*.c))) $(UNITS_WITH) $(TEST_LIB)
	@mkdir -p $(@D)
	$(call SAY,LD,$@) $(call link,$^) -lcmocka
$(UNIT_SHARED:%.c=$(O)/%): $(O)/tests/units
	@mkdir -p $(@D)
	@ln -sf ../units $@
# To optimize a test's own code would take longer than to run the code unoptimized.
$(O)/obj/tests/%.o: CFLAGS += -O0 -U_FORTIFY_SOURCE
$(UNIT_SHARED:%.c=$(O)/obj/%.o): CPPFLAGS += -Dmain=unit_$(patsubst test_%,%,$(*F))
$(UNIT_SHARED:%.c=$(O)/obj/%.o): CFLAGS += -Wno-missing-prototypes
$(O)/obj/tests/unit/units.o: CPPFLAGS += -DUNITS='$(patsubst test_%,UNIT(%),$(basename $(notdir $(UNIT_SHARED))))'
$(O)/obj/tests/unit/units.o: $(UNIT_SHARED) Makefile

.SECONDEXPANSION:
with_tests/power = tests/crash
parts = $(patsubst %.c,$(O)/obj/%.o,$(wildcard $(1)/*.c))
# A fuzzer's own functions replace the library's functions of the same names.
$(FUZZERS): LDFLAGS += -Wl,-z,muldefs
# libFuzzer has a main() of its own. Without libFuzzer, main() of replay.c runs a fuzzer on the
# seeds and on a few variations of each seed.
$(FUZZERS): $(O)/%: $(O)/obj/%.o $(if $(filter fuzz,$(B)),,$(O)/obj/tests/fuzz/replay.o) $(TEST_LIB)
	@mkdir -p $(@D)
	$(call SAY,LD,$@) $(call link,$(if $(filter fuzz,$(B)),-fsanitize=fuzzer) $^)
$(PROGRAMS) $(UNIT_ALONE:%.c=$(O)/%): $(O)/%: $(O)/obj/%.o $$(call parts,$$*) $$(call parts,$$(with_$$*)) $(TEST_LIB)
	@mkdir -p $(@D)
	$(call SAY,LD,$@) $(call link,$^) -lcmocka

$(O)/obj/tests/crash/rules.o: tests/crash/rules.sql
$(O)/obj/tests/lib/counts.o: tests/lib/counts.sql

-include $(shell test -d $(O)/obj && find $(O)/obj -name '*.d')

include tools/build/rules.mk tools/build/deb.mk tools/guest/rules.mk

# --- run ------------------------------------------------------------------------

# Most of the targets below call tools/setup first, so that such a target works as the first
# command in a new clone. The recursive make reads this file again after tools/setup has
# installed the packages.
demo:
	@tools/setup $(if $(filter qemu,$(BACKEND)),,--build)
	+@$(MAKE) --no-print-directory $(JOBS) all
	@REPO='$(REPO)' BACKEND='$(BACKEND)' CADRE='$(CURDIR)/build/cadre' tools/demo
check check-vsock chaos:
	@tools/setup $(if $(filter check,$@),$(if $(filter lint,$(ONLY)),--lint))
	+@N=$(if $(filter chaos,$@),$(or $(N),30)) tests/run.sh $(if $(filter check,$@),$(ONLY),vm/$(@:check-%=%))
check-long:
	@tools/setup
	+@tests/run.sh --long $(ONLY)
lint: all
	@bad=0; for l in $(wildcard tools/lint/*); do $$l || bad=1; done; exit $$bad
bench:
	@tools/setup --build $(if $(PEERS),--peers)
	+@$(MAKE) --no-print-directory $(JOBS) all build/bench
	@PEERS=$(PEERS) CADRE_IMAGES=$${CADRE_IMAGES-$(CURDIR)/build/vm/images} build/bench $(if $(NAME),$(NAME),--page docs/speed.md)
bench-guard:
	@tools/setup
	+@$(MAKE) --no-print-directory $(JOBS) build/tests/guard
	@tests/guard/run $(if $(RENEW),--renew)
# No rate limits bind agents in the tests `crash`, `power` and `soak`.
crash power soak: export CADRE_LIMITS_ENABLED = false
faults: B = asan
crash power sim faults:
	@tools/setup
	+@$(MAKE) --no-print-directory $(JOBS) B=$(B) tests
	@CADRE=$(CURDIR)/$(O)/cadre $(if $(filter faults,$@), \
		$(O)/tests/run_op --faults $(wildcard tests/op/*.test), \
		$(O)/tests/$@ $(or $(N),$(N_$@)))
# The soak has the variable MINUTES instead of N, since the soak runs for a given time.
soak:
	@tools/setup
	+@$(MAKE) --no-print-directory $(JOBS) B=$(B) tests
	@CADRE=$(CURDIR)/$(O)/cadre $(O)/tests/soak $$(($(or $(MINUTES),20) * 60))
# With WAIT=1, each client also makes a call that lasts longer than the client's time limit for
# an answer. The call takes a minute for each client.
clients: export CLIENTS_CACHE ?= $(or $(HOME),$(CURDIR)/build)/.cache/cadre-clients
clients: all
	@tests/clients/install "$$CLIENTS_CACHE"
	@tests/clients/install --newest "$$CLIENTS_CACHE/newest"
	@for cache in "$$CLIENTS_CACHE" "$$CLIENTS_CACHE/newest"; do \
		echo "the clients in $$cache"; \
		for part in $(if $(WAIT),'run --wait',run) setup turns; do \
			set -- $$part; \
			CADRE=$(CURDIR)/$(O)/cadre node tests/clients/$$1.mjs "$$cache" $${2-} \
				$(or $(NAME),claude codex gemini opencode) || exit; \
		done; \
	done
permute: ; @tests/e2e/permute.sh
coverage:
	@tools/setup
	@tests/coverage/run $(if $(RENEW),--renew)
portable: build/sqlgen
	@tools/setup --peers
	@python3 tests/peers/portable.py build/sqlgen $(DB_sql)
mutants:
	@tools/setup
	@tests/mutants/run $(NAME)
unseen: all
	@CADRE=$(CURDIR)/$(O)/cadre python3 tests/peers/unseen.py $(or $(N),10000)
malformed:
	@tools/setup
	+@N=$(or $(N),10000) tests/run.sh e2e/malformed
fuzz tsan:
	@tools/setup
	+@FUZZ_SECONDS=$(or $(T),600) tests/run.sh --long $@
docs: all
	build/cadre docs reference > docs/reference.md
	build/cadre docs man > docs/cadre.1
	for noun in $$(build/cadre docs nouns); do build/cadre docs man $$noun > docs/cadre-$$noun.1 || exit 1; done
	build/cadre docs agent-card > schema/agent-card.schema.json
	tools/build/put_cost docs/mcp.md
fmt: ; tools/lint/format --fix
sums: ; tools/lint/migrations --add # after a release of migrations
clean: ; rm -rf build

# --- install -------------------------------------------------------------------

# With an empty STRIP, the installed programs keep their symbols.
D = $(DESTDIR)$(PREFIX)
STRIP = -s
UNITS = cadre.service cadre@.service
DOC = $(D)/share/doc/cadre
install:
	@$(if $(DESTDIR),,tools/setup --build)
	+@$(MAKE) --no-print-directory $(JOBS) all
	install -Dm755 $(STRIP) build/cadre $(D)/bin/cadre
	install -Dm644 -t $(D)/share/man/man1 docs/*.1
	install -d $(D)/share/bash-completion/completions $(D)/share/zsh/site-functions \
		$(D)/share/fish/vendor_completions.d $(D)/share/systemd/user
	build/cadre completion bash > $(D)/share/bash-completion/completions/cadre
	build/cadre completion zsh > $(D)/share/zsh/site-functions/_cadre
	build/cadre completion fish > $(D)/share/fish/vendor_completions.d/cadre.fish
	for u in $(UNITS); do \
		sed 's,@BINDIR@,$(PREFIX)/bin,' dist/$$u > $(D)/share/systemd/user/$$u || exit 1; done
	install -Dm644 -t $(DOC) LICENSE README.md
	install -Dm644 -t $(DOC)/docs docs/*.md docs/*.svg
	install -Dm644 -t $(DOC)/prometheus dist/prometheus/*.yml
	install -Dm644 -t $(DOC)/grafana dist/grafana/*.json

# Removes the files of `make install`. Keeps the folders that other programs may use.
uninstall:
	rm -f $(D)/bin/cadre $(D)/lib/cadre/cadre-guest $(patsubst docs/%,$(D)/share/man/man1/%,$(wildcard docs/*.1)) \
		$(D)/share/bash-completion/completions/cadre \
		$(D)/share/zsh/site-functions/_cadre \
		$(D)/share/fish/vendor_completions.d/cadre.fish \
		$(UNITS:%=$(D)/share/systemd/user/%)
	rm -rf $(DOC)
	-rmdir $(D)/lib/cadre 2>/dev/null

.PHONY: all tests fuzzers asan tsan demo check check-long check-vsock chaos lint bench bench-guard crash power sim faults mutants coverage clients permute portable unseen malformed soak fuzz docs \
	fmt sums clean install uninstall
.SECONDARY:
.DELETE_ON_ERROR:
