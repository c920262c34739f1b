# The generated sources of llhttp, as in Debian's package of llhttp for Node.js (see
# tools/setup).
LLHTTP = $(firstword $(wildcard /usr/share/llhttp /usr/local/share/llhttp))
LLHTTP_OBJ = $(patsubst %,$(O)/obj/llhttp/%.o,llhttp api http)

$(LIB): $(LLHTTP_OBJ)
$(LLHTTP_OBJ) $(O)/obj/core/http/%.o $(O)/obj/tests/fuzz/web.o: CPPFLAGS += -isystem $(LLHTTP)/../include/llhttp \
	-DLLHTTP_STRICT_MODE=1
$(LLHTTP_OBJ): WARN = -w
$(LLHTTP_OBJ): $(O)/obj/llhttp/%.o: $(LLHTTP)/%.c
	@mkdir -p $(@D)
	$(call SAY,CC,$@) $(compile)
$(LLHTTP)/%.c:
	$(error $(NO_PACKAGES))
