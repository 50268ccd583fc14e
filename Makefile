# wallprof: build, check, demo, bench, install. `make help` lists the targets.
#
# make V=1 shows the commands.
#
# Variants are whole builds in directories of their own: make VARIANT=asan unit. All compile the same sources.

VERSION := $(shell sed -n 's/.*WALLPROF_VERSION "\(.*\)"/\1/p' src/encode/version.h)
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
BINDIR  ?= $(PREFIX)/bin
MANDIR  ?= $(PREFIX)/share/man
INCLUDEDIR ?= $(PREFIX)/include
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
DOCDIR  ?= $(PREFIX)/share/doc/wallprof
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
# What pkg-config takes for PREFIX. A tree that can be unpacked anywhere names it by where wallprof.pc lies (scripts/dist).
PKGCONFIG_PREFIX ?= $(PREFIX)
DESTDIR ?=
VARIANT ?= release
ifeq ($(origin CC),default)
CC := gcc
endif
BUILD   := build/$(VARIANT)

# VARIANT=aarch64 is cross-built, and qemu runs what it builds. What Debian has for that machine is unpacked into
# build/arm64, not installed (scripts/arm64-root says why): libraries to link with, and programs to profile.
ifeq ($(VARIANT),aarch64)
CC          := aarch64-linux-gnu-gcc
CXX         := aarch64-linux-gnu-g++
NM          := aarch64-linux-gnu-nm
ARM64       := $(abspath build/arm64)
ARM64_LIBS  := $(ARM64)/root/usr/lib/aarch64-linux-gnu
CROSS_CPP   := -isystem $(ARM64)/root/usr/include -isystem $(ARM64)/root/usr/include/aarch64-linux-gnu
CROSS_LD    := -L$(ARM64_LIBS) -Wl,-rpath-link,$(ARM64_LIBS)
ZLIB_A      := $(ARM64_LIBS)/libz.a
RUN         := qemu-aarch64 -L $(ARM64)/root
endif
MACHINE     := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))

# VARIANT=strict is for CI: gcc or clang, warnings are errors. Sanitizers: unit tests only, a preloaded sanitizer
# runtime cannot be had in a program that was built without.
sanitize_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -O1
sanitize_tsan := -fsanitize=thread -O1 -Wno-tsan
sanitize_fuzz := -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -O1
sanitize_fuzz-coverage := -fsanitize=address,undefined,fuzzer-no-link -fprofile-instr-generate -fcoverage-mapping -O1
SANITIZE := $(sanitize_$(VARIANT))

WARN    := -Wall -Wextra -Wundef -Wshadow -Wstrict-prototypes -Wvla -Werror=implicit-function-declaration
CFLAGS  ?= -O2 -g
ALL_CFLAGS := -std=gnu11 $(CPPFLAGS) $(CFLAGS) $(WARN) $(WERROR) -fPIC -fvisibility=hidden -fno-plt -pthread $(SANITIZE) \
              -Iinclude -iquote src -iquote tests -iquote . $(CROSS_CPP) -D_GNU_SOURCE
# The library runs with glibc 2.17 and newer. A sanitizer stands before functions of any version.
ALL_CFLAGS += $(if $(SANITIZE),,-include src/sig/sys/glibc_versions.h)
# What a signal handler runs: no stack protector (it reads thread-local storage), no checked calls into the C library
# (a distribution's -D_FORTIFY_SOURCE), no surprises from the vectorizer
# (large stack frames), and never a sanitizer's call into its runtime in the library itself; nor one into libgcc, which
# on aarch64 chooses an atomic instruction by the processor.
SIG_CFLAGS_aarch64 := -mno-outline-atomics
SIG_CFLAGS := -U_FORTIFY_SOURCE -fno-stack-protector -fno-tree-vectorize -fno-builtin-memcpy -fno-builtin-memset $(SIG_CFLAGS_$(MACHINE))
# CPPFLAGS, CFLAGS and LDFLAGS of the command line or the environment are honoured wherever C is compiled and linked.
LINK    := $(CC) $(CFLAGS) $(LDFLAGS)
ZLIB_A  ?= $(shell $(CC) -print-file-name=libz.a 2>/dev/null)

ENGINE_SRC  := $(filter-out src/tool/%,$(wildcard src/*/*.c src/sig/*/*.c))
PRELOAD_SRC := $(wildcard preload/*.c)
# The formats that only the tool writes. They need nothing that the engine does not need, so their tests run on both machines.
FORMATS_SRC := $(wildcard src/tool/formats/*.c src/tool/meaning/*.c)
TOOL_SRC    := $(filter-out $(FORMATS_SRC),$(wildcard src/tool/*/*.c))
ENGINE_OBJ  := $(ENGINE_SRC:%.c=$(BUILD)/%.o)
PRELOAD_OBJ := $(PRELOAD_SRC:%.c=$(BUILD)/%.o)
FORMATS_OBJ := $(FORMATS_SRC:%.c=$(BUILD)/%.o) $(BUILD)/src/tool/formats/html_page.o
TOOL_OBJ    := $(TOOL_SRC:%.c=$(BUILD)/%.o)
TESTLIB_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/lib/*.c))
SIG_OBJ     := $(filter $(BUILD)/src/sig/%.o,$(ENGINE_OBJ))
LIB         := $(BUILD)/libwallprof.so

# A test says what it is in a line of its own near its top, "test: WORD...":
#   quick         in `make check`. Every other end-to-end test is in `make check-all`.
#   long          takes longest, and starts first where several tests run at a time
#   waits         mostly waits, and runs beside the others
#   tsan          has threads that ThreadSanitizer can judge. It cannot where the subject is what a signal handler finds,
#                 whose delivery it puts off, or which threads there are, since one of them is its own.
#   not-x86_64, not-aarch64   is about the instructions of the other machine
#   not-emulated  needs what qemu lacks: reading through the kernel, its memory map, its filters, its vDSO
#   aarch64       an end-to-end test that is true under emulation too; aarch64-long: in its long form
that_are     = $(shell grep -lE '^..? test:.* $(1)( |$$)' /dev/null $(2))
TEST_FILES  := $(sort $(wildcard tests/unit/test_*.c tests/targets/target_*.c))
OTHERS      := $(call that_are,not-$(MACHINE),$(TEST_FILES)) $(if $(RUN),$(call that_are,not-emulated,$(TEST_FILES)))
# The tool is for the machine it is built on.
ifeq ($(VARIANT),aarch64)
OTHERS      += $(wildcard tests/unit/test_tool_*.c)
else
TOOL        := $(BUILD)/wallprof
endif
TEST_FILES  := $(filter-out $(OTHERS),$(TEST_FILES))
TEST_FILES  := $(call that_are,long,$(TEST_FILES)) $(filter-out $(call that_are,long,$(TEST_FILES)),$(TEST_FILES))
program_of   = $(patsubst tests/%.c,$(BUILD)/tests/%,$(filter tests/$(1)/%,$(2)))
UNIT        := $(call program_of,unit,$(TEST_FILES))
UNIT_TSAN   := $(call program_of,unit,$(call that_are,tsan,$(TEST_FILES)))
TARGETS     := $(call program_of,targets,$(TEST_FILES)) $(patsubst tests/%.cc,$(BUILD)/tests/%,$(wildcard tests/targets/target_*.cc))
FUZZERS     := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/fuzz/fuzz_*.c))
E2E_ALL     := $(sort $(wildcard tests/e2e/e2e_*.sh)) tests/oracle/oracle_static.sh
E2E_quick   := $(call that_are,quick,$(E2E_ALL))
E2E_rest    := $(filter-out $(E2E_quick),$(E2E_ALL))
E2E_aarch64 := $(call that_are,aarch64$(if $(WALLPROF_LONG),(-long)?),$(E2E_ALL) $(sort $(wildcard tests/e2e/aarch64_*.sh)))
E2E         := $(E2E_ALL)
E2E_LONG     = $(call that_are,long,$(E2E))
E2E_WAITS    = $(call that_are,waits,$(E2E))
# How many programs are tested at a time. End-to-end tests are not made for a crowd; beside them those that wait.
JOBS        ?= $(shell nproc)
E2E_JOBS    ?= $(if $(filter 1,$(JOBS)),1,2)

Q   := $(if $(V),,@)

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help deps check check-all coverage gate-rates unit unit-tsan race oracle oracle-static unit-programs golden e2e e2e-quick e2e-rest e2e-aarch64 e2e-long soak strict sanitizers fuzz lint options pictures format demo bench bench-unwind bench-viewers servers torture continuous family-build transparency zoo install uninstall dist deb clean targets aarch64

all: $(LIB) $(TOOL)

help:
	@echo 'make          build $(LIB) and $(BUILD)/wallprof'
	@echo 'make demo     install what is needed, build, profile a real program and show the result'
	@echo 'make check    install what is needed, build, run the unit tests and one end-to-end test of each promise (6 minutes)'
	@echo 'make check-all   run all other tests: sanitizers, fuzzers, aarch64, oracles, every end-to-end test (30 minutes)'
	@echo 'make soak RUNS=20 LOAD=stress|hog|none   run the tests of check so often beside a load, and print a table'
	@echo 'make bench    print the table of costs (takes some minutes)'
	@echo 'make bench-unwind   of it what a walk costs in the handler, beside libunwind and others'
	@echo 'make bench-viewers  the page beside speedscope, pprof and async-profiler, in Chromium (PPROF, JFR_CONVERTER: theirs; 20 minutes)'
	@echo 'make oracle   compare the unwinding with libunwind, on large programs (5 minutes)'
	@echo 'make coverage RUNS=1000 REAL_RUNS=200   how often error bars hold the truth (30 minutes)'
	@echo 'make gate-rates   how often wallprof diff --gate is wrong (2 minutes)'
	@echo 'make servers  profile eight real servers under load, judge the profiles, print a table (5 minutes)'
	@echo 'make torture TORTURE_SECONDS=120   everything at once that has ever gone wrong, so long each'
	@echo 'make family-build a real project built under wallprof-run --merge, and timed'
	@echo 'make continuous   redis in continuous mode for ten minutes, judged'
	@echo 'make e2e-long the end-to-end tests with all that check has no time for (30 minutes)'
	@echo 'make transparency   run the suites of CPython, stress-ng and libuv bare and profiled, compare test by test (40 minutes)'
	@echo 'make zoo ZOO_ROUNDS=5   run programs of many kinds bare and profiled, compare how they end (KINDS: which; 25 minutes)'
	@echo 'make install  PREFIX=$(PREFIX) (DESTDIR is honoured)'
	@echo 'make dist     a tarball, in build/dist. DIST_SUITE=bullseye: for every Linux with glibc 2.31 (root, debootstrap)'
	@echo 'make deb      a Debian package, in build/dist'
	@echo 'make fuzz FUZZ_SECONDS=3600   hostile tables, stacks and files, an hour each (scripts/fuzz has more)'
	@echo 'make options  write anew what is made of src/config/options.def (completion, manual, docs/recording.md)'
	@echo 'make pictures  draw the pictures of the documents anew, of a recording of demo/ledger.c (needs chromium)'
	@echo 'make golden   what the formats look like, anew, in tests/golden (after a change that is wanted)'
	@echo 'make unit | e2e-quick | lint    parts of check'
	@echo 'make e2e-rest | strict | sanitizers | fuzz | aarch64 | oracle    parts of check-all'

deps:
	@scripts/setup-deps build

# Of the engine only what the preloaded code calls for: what serves the tool alone stays out. -Bsymbolic-functions: what a hook
# calls of another hook is ours, also in a program that exports a function of the same name. noseparate-code: two mappings
# instead of four, each of which costs a program 5 us at its start and end. --sort-section: what is in .bss.tables comes last, and
# small variables lie together, since a page costs 2 us at the start, and again in a forked child.
$(LIB): $(PRELOAD_OBJ) $(BUILD)/libengine.a $(BUILD)/exports.map
	@echo '  LINK  $@'
	$(Q)$(LINK) -shared -o $@ $(PRELOAD_OBJ) $(BUILD)/libengine.a -Wl,--version-script=$(BUILD)/exports.map -Wl,--exclude-libs,ALL \
	    -Wl,-soname,libwallprof.so -Wl,-Bsymbolic-functions -Wl,-z,defs -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -Wl,-z,noseparate-code -Wl,--sort-section=name -pthread $(CROSS_LD) $(ZLIB_A) -ldl

# What a program can see of the library: the functions it interposes, and those of wallprof.h.
$(BUILD)/exports.map: src/session/libc.def
	@mkdir -p $(@D)
	$(Q){ echo '{ global:'; sed -n 's/^LIBC_\(SINCE\|APART\)([^,]*, /LIBC(/; s/^LIBC([^,]*, \([^,]*\),.*/\1;/p; s/^\(HOOK\|PUBLIC\)(\(.*\))/\2;/p' $<; echo 'local: *; };'; } >$@

$(BUILD)/src/sig/%.o: src/sig/%.c
	@mkdir -p $(@D)
	@echo '  CC    $<'
	$(Q)$(CC) $(ALL_CFLAGS) $(SIG_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo '  CC    $<'
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The page of the HTML format, in two pieces: what comes before a profile's data, and what comes after it.
HTML_SRC    := $(wildcard src/tool/formats/html/*)
$(BUILD)/html_page.before: scripts/html-page $(HTML_SRC)
	@mkdir -p $(@D)
	$(Q)scripts/html-page $@ $(@:.before=.after)

$(BUILD)/src/tool/formats/html_page.o: src/tool/formats/html_page.S $(BUILD)/html_page.before
	@mkdir -p $(@D)
	@echo '  AS    $<'
	$(Q)$(CC) $(CPPFLAGS) -c -o $@ -Wa,-I$(BUILD) $<

# Archives: of each a program takes what it needs. The tool is for the machine it is built on.
$(BUILD)/libengine.a: $(ENGINE_OBJ)
$(BUILD)/libtests.a: $(TESTLIB_OBJ)
$(BUILD)/libformats.a: $(FORMATS_OBJ)
$(BUILD)/libtool.a: $(filter-out $(BUILD)/src/tool/cmd/main.o,$(TOOL_OBJ))
$(BUILD)/lib%.a:
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

ifneq ($(TOOL),)
TOOL_A      := $(BUILD)/libtool.a
# elfutils is linked statically where its archives suffice (Debian 11 and 12), so that the tool starts where only the C library is.
JANSSON     ?= $(shell $(CC) -print-file-name=libjansson.a 2>/dev/null)
TOOL_LIBS   := -Wl,--wrap=dlopen -Wl,--as-needed -liberty $(if $(filter /%,$(JANSSON)),$(JANSSON),-ljansson)
ELFUTILS    := $(BUILD)/elfutils.ld
$(ELFUTILS): scripts/link-elfutils $(wildcard $(shell $(CC) -print-file-name=libdw.a 2>/dev/null))
	@mkdir -p $(@D)
	$(Q)CC='$(CC)' scripts/link-elfutils $@
endif
ARCHIVES    := $(TOOL_A) $(BUILD)/libformats.a $(BUILD)/libengine.a $(ELFUTILS)
PROGRAM_LIBS := $(SANITIZE) -pthread $(CROSS_LD) $(TOOL_LIBS) $(ZLIB_A) -ldl -lm
$(BUILD)/wallprof: $(BUILD)/src/tool/cmd/main.o $(ARCHIVES)
	@echo '  LINK  $@'
	$(Q)$(LINK) -o $@ $^ $(PROGRAM_LIBS)

# Unit tests see every internal function. Hooks are not among them: linked in, they would take the test's own calls.
$(BUILD)/tests/unit/test_call_filter: $(BUILD)/preload/call_filter.o
$(BUILD)/tests/unit/test_%: $(BUILD)/tests/unit/test_%.o $(BUILD)/libtests.a $(ARCHIVES)
	@echo '  LINK  $@'
	$(Q)$(LINK) -o $@ $^ -lcmocka $(PROGRAM_LIBS)

# What prints what the tool makes of addresses, beside addr2line; and pages for a browser to open.
$(BUILD)/tests/oracle/tool_frames $(BUILD)/tests/judges/html_pages: %: %.o $(BUILD)/libtests.a $(ARCHIVES)
	@echo '  LINK  $@'
	$(Q)$(LINK) -o $@ $^ $(PROGRAM_LIBS)

# What plays programs, for `make coverage`.
$(BUILD)/tests/coverage/simulated: %: %.o $(BUILD)/libtests.a $(ARCHIVES)
	@echo '  LINK  $@'
	$(Q)$(LINK) -o $@ $^ -lcmocka $(PROGRAM_LIBS)

# The whole library in a program, for a sanitizer.
$(BUILD)/tests/targets/race_hooks: $(BUILD)/tests/targets/race_hooks.o $(ENGINE_OBJ) $(PRELOAD_OBJ)
	@echo '  LINK  $@'
	$(Q)$(LINK) -rdynamic -o $@ $^ $(SANITIZE) -Wl,--wrap=sig_request_send -pthread $(ZLIB_A) -ldl

# Fuzzers: clang only. They look over the shoulder of what reads memory carefully and of what allocates it.
comma := ,
$(BUILD)/tests/fuzz/fuzz_cfi: FUZZ_LDFLAGS := $(addprefix -Wl$(comma)--wrap=sig_memory_,copy is_readable)
$(BUILD)/tests/fuzz/fuzz_stack: FUZZ_LDFLAGS := $(addprefix -Wl$(comma)--wrap=sig_memory_,copy copy_some is_readable peek)
$(BUILD)/tests/fuzz/fuzz_elf: FUZZ_LDFLAGS := $(addprefix -Wl$(comma)--wrap=scratch_,alloc free grow)
$(BUILD)/tests/fuzz/fuzz_tool_pprof $(BUILD)/tests/fuzz/fuzz_tool_store: FUZZ_LDFLAGS := -Wl,--wrap=sink_write
$(BUILD)/tests/fuzz/fuzz_%.o: ALL_CFLAGS += -fno-sanitize=fuzzer-no-link
$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/libtests.a $(ARCHIVES)
	@echo '  LINK  $@'
	$(Q)$(LINK) -o $@ $^ -fsanitize=fuzzer $(FUZZ_LDFLAGS) $(PROGRAM_LIBS)

# The oracle needs libunwind.
$(BUILD)/tests/oracle/oracle_static: $(BUILD)/tests/oracle/oracle_static.o $(BUILD)/libengine.a
	@echo '  LINK  $@'
	$(Q)$(LINK) -o $@ $^ $(SANITIZE) $(CROSS_LD) -lunwind-$(MACHINE) -lunwind

$(BUILD)/liboracle_live.so: $(BUILD)/tests/oracle/oracle_live.o $(BUILD)/libengine.a
	@echo '  LINK  $@'
	$(Q)$(LINK) -shared -o $@ $^ -Wl,--exclude-libs,ALL -Wl,-z,defs -Wl,-z,now -pthread -ldl $(ZLIB_A)

# What times walks in a handler: the engine's objects, libunwind, and one chain of functions compiled both ways.
UNWIND_BENCH := $(addprefix $(BUILD)/tests/bench/,unwind_walkers.o unwind_chain_plain.o unwind_chain_fp.o)
UNWIND_PROGRAMS := $(BUILD)/bench/unwind $(BUILD)/bench/unwind_hang
$(BUILD)/tests/bench/unwind_chain_plain.o: CHAIN := -fomit-frame-pointer -DCHAIN_NAME=chain_plain_descend
$(BUILD)/tests/bench/unwind_chain_fp.o: CHAIN := -fno-omit-frame-pointer -DCHAIN_NAME=chain_fp_descend
$(filter %_plain.o %_fp.o,$(UNWIND_BENCH)): tests/bench/unwind_chain.c
	@mkdir -p $(@D)
	@echo '  CC    $< ($(@F))'
	$(Q)$(CC) -std=gnu11 $(CPPFLAGS) -O2 -g $(CHAIN) -Wall -Wextra -D_GNU_SOURCE -MMD -MP -c -o $@ $<

$(UNWIND_PROGRAMS): $(BUILD)/bench/%: $(BUILD)/tests/bench/%.o $(UNWIND_BENCH) $(BUILD)/libengine.a
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(Q)$(LINK) -o $@ $^ -pthread $(ZLIB_A) -lunwind -ldl

# What makes a recording up for the export to be timed with.
$(BUILD)/bench/stacks: $(BUILD)/tests/bench/stacks.o $(BUILD)/libengine.a
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(Q)$(LINK) -o $@ $^ -pthread $(ZLIB_A) -ldl

# It shows its functions to others, as the interpreter does.
$(addprefix $(BUILD)/tests/targets/target_hostile_,python php perl): TARGET_LDFLAGS := -rdynamic

# Programs to profile: built as a distribution builds them, optimised and without frame pointers.
$(BUILD)/tests/targets/target_%: tests/targets/target_%.c
	@mkdir -p $(@D)
	@echo '  CC    $<'
	$(Q)$(CC) -std=gnu11 -O2 -g -fomit-frame-pointer -Wall -Wextra -Iinclude -D_GNU_SOURCE $(CPPFLAGS) -MMD -MP $(LDFLAGS) $(TARGET_LDFLAGS) -o $@ $< -pthread -lm
$(BUILD)/tests/targets/target_%: tests/targets/target_%.cc
	@mkdir -p $(@D)
	@echo '  CXX   $<'
	$(Q)$(CXX) -std=gnu++17 -O2 -g -fomit-frame-pointer -Wall -Wextra -Iinclude $(CPPFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< -pthread

targets: $(TARGETS)

RUN_TESTS   := WALLPROF_RUN='$(RUN)' TEST_VARIANT=$(VARIANT) scripts/run-tests
unit: $(UNIT)
	@TEST_JOBS=$(JOBS) $(RUN_TESTS) $(UNIT)

unit-tsan: $(UNIT_TSAN)
	@TEST_JOBS=$(JOBS) $(RUN_TESTS) $(UNIT_TSAN)

build/pprof:
	@scripts/build-pprof $@

e2e: $(LIB) $(TOOL) $(TARGETS) $(BUILD)/tests/oracle/oracle_static $(BUILD)/tests/judges/html_pages $(if $(TOOL),$(BUILD)/tests/oracle/tool_frames) build/pprof
	@export CC='$(CC)' NM='$(NM)' WALLPROF_BUILD=$(abspath $(BUILD)) WALLPROF_PPROF=$(abspath build/pprof); \
	$(RUN_TESTS) $(E2E_WAITS) & waiting=$$!; \
	TEST_JOBS=$(E2E_JOBS) $(RUN_TESTS) $(E2E_LONG) $(filter-out $(E2E_LONG) $(E2E_WAITS),$(E2E)); others=$$?; \
	wait $$waiting && exit $$others

# Those of make check, all others, and those that are for the other machine.
e2e-quick e2e-rest e2e-aarch64:
	@$(MAKE) --no-print-directory e2e E2E='$(E2E_$(@:e2e-%=%))'

# Each test in its long form (is_long in tests/lib/e2e.sh), for which check-all has no time.
e2e-long:
	@WALLPROF_LONG=1 $(MAKE) --no-print-directory e2e
	@WALLPROF_LONG=1 $(MAKE) --no-print-directory aarch64

# Both compilers, every warning an error. The symbols of what make check builds are looked at there.
strict:
	@$(MAKE) --no-print-directory VARIANT=strict-gcc CC=gcc WERROR=-Werror all unit-programs
	@$(MAKE) --no-print-directory VARIANT=strict-clang CC=clang WERROR=-Werror all unit-programs
	@WALLPROF_BUILD=build/strict-clang tests/e2e/e2e_sig_symbols.sh

# Every unit test under ASan and UBSan. Under TSan those with threads, and the hooks.
sanitizers:
	@$(MAKE) --no-print-directory VARIANT=asan unit
	@$(MAKE) --no-print-directory VARIANT=tsan unit-tsan race

race: $(BUILD)/tests/targets/race_hooks
	@WALLPROF_BUILD=$(abspath $(BUILD)) $(RUN_TESTS) tests/e2e/race_hooks.sh

# Hostile unwind tables, stacks and files, made up by libFuzzer: so many seconds for each fuzzer.
FUZZ_SECONDS ?= 20
fuzz:
	+@scripts/fuzz run $(FUZZ_SECONDS)

# With what `make coverage` plays, or nobody would see that it does not build any more.
unit-programs: $(UNIT) $(if $(TOOL),$(BUILD)/tests/coverage/simulated)

# Writes the files of tests/golden anew, for a change of a format that is wanted.
golden: $(BUILD)/tests/unit/test_tool_golden
	@mkdir -p tests/golden
	@WALLPROF_RENEW_GOLDEN=1 $<

# The other machine, under qemu-user. Wants a cross compiler, and Debian's archive once.
aarch64:
	+@scripts/make-aarch64

# Unwinding against libunwind: every rule of large programs, and stacks of running ones. Those that take longest come first.
ORACLES := oracle-static $(addprefix oracle-live-,node clang cc1plus xz python sort gdb perl git)
oracle: $(BUILD)/tests/oracle/oracle_static $(BUILD)/liboracle_live.so
	@$(MAKE) --no-print-directory --output-sync=target --keep-going $(ORACLES)
oracle-static:
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/oracle/oracle_static.sh --all
oracle-live-%:
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/oracle/oracle_live.sh $*

# Programs that do all at once what has gone wrong, at 10,000 Hz, for so many seconds each. Short forms are in check-all.
TORTURE_SECONDS ?= 120
torture: $(LIB) $(TARGETS) build/pprof
	@TORTURE_SECONDS=$(TORTURE_SECONDS) CC='$(CC)' WALLPROF_BUILD=$(abspath $(BUILD)) WALLPROF_PPROF=$(abspath build/pprof) \
	    WALLPROF_TEST_TIMEOUT=$$(($(TORTURE_SECONDS) * 20 + 600)) scripts/run-tests $(sort $(wildcard tests/e2e/torture_*.sh))

# A server that is recorded for good: a profile a minute, memory flat, no error. CONTINUOUS_SECONDS and CONTINUOUS_INTERVAL.
family-build: $(LIB) $(TOOL)
	@scripts/build-pprof build/pprof
	@WALLPROF_BUILD=$(abspath $(BUILD)) WALLPROF_PPROF=$(abspath build/pprof) tests/e2e/family_build.sh

continuous: $(LIB)
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/e2e/continuous_redis.sh

lint:
	@scripts/lint

# Writes what is made of src/config/options.def: the completion, wallprof-run(1), and the table in docs/recording.md.
options:
	@scripts/options

# The pictures of the README and of the page: demo/ledger.c is built, recorded and drawn.
pictures: $(LIB) $(TOOL)
	@WALLPROF_BUILD=$(abspath $(BUILD)) scripts/pictures

format:
	clang-format -i $$(git ls-files '*.c' '*.h' '*.cc')

# What is cheap to find out comes first. Together they are every test; neither repeats the other's.
check check-all:
	@scripts/setup-deps check
	@$(MAKE) --no-print-directory all
	@scripts/check $@

# The tests of check again and again beside a load; tests/soak has the loads.
RUNS ?= 20
LOAD ?= stress
soak: $(LIB) $(TOOL) $(TARGETS) $(UNIT) build/pprof
	@scripts/soak $(RUNS) $(LOAD)

demo:
	@scripts/setup-deps demo
	@$(MAKE) --no-print-directory all
	@WALLPROF_BUILD=$(abspath $(BUILD)) scripts/demo

bench:
	@scripts/setup-deps bench
	@$(MAKE) --no-print-directory all $(UNWIND_PROGRAMS) $(BUILD)/bench/stacks
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/bench/run

# Of these only what a walk costs in the handler, and whether it comes to an end (4 minutes).
bench-unwind: $(LIB) $(UNWIND_PROGRAMS)
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/bench/run unwind hang

# Wants chromium, node, and java for async-profiler's page, whose converter is what JFR_CONVERTER names.
bench-viewers: $(LIB) $(TOOL) $(BUILD)/tests/judges/html_pages build/pprof
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/bench/viewers

# How often error bars hold the truth: RUNS simulated runs of each program, REAL_RUNS real ones (docs/accuracy.md).
coverage: $(LIB) $(TOOL) $(BUILD)/tests/coverage/simulated $(BUILD)/tests/targets/target_shares
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/coverage/run

# How often the gate of wallprof diff takes chance for a change, and finds 2 % (2 minutes, on a quiet machine).
gate-rates: $(LIB) $(TOOL)
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/coverage/gate

# Real servers under real load. SERVERS='redis nginx' are those two; tests/servers/lib.sh has the other settings.
servers:
	@scripts/setup-deps servers
	@$(MAKE) --no-print-directory all build/pprof
	@WALLPROF_BUILD=$(abspath $(BUILD)) WALLPROF_PPROF=$(abspath build/pprof) tests/servers/run $(SERVERS)

# Suites that others wrote, bare and profiled. SUITES='stress-ng cpython:test_io' are those two.
transparency:
	@scripts/setup-deps transparency
	@$(MAKE) --no-print-directory all
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/transparency/run $(SUITES)

# Programs of many kinds, bare and profiled. KINDS='erlang apache' are those two. check-all has one round.
ZOO_ROUNDS ?= 5
zoo:
	@scripts/setup-deps zoo
	@$(MAKE) --no-print-directory all
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/zoo/run --rounds=$(ZOO_ROUNDS) $(KINDS)

# The tool is linked anew, as it has to know where the library is; others may use the build meanwhile. bash-completion looks for a
# file by the command's name.
install: $(LIB) $(TOOL)
	install -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man7 $(DESTDIR)$(COMPLETIONDIR)
	install -d $(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(DOCDIR) $(DESTDIR)$(PKGCONFIGDIR)
	install -m 755 $(LIB) $(DESTDIR)$(LIBDIR)/libwallprof.so
	install -m 644 include/wallprof.h $(DESTDIR)$(INCLUDEDIR)
	@echo '  LINK  $(DESTDIR)$(BINDIR)/wallprof'
	$(Q)made=$$(mktemp -d) && trap 'rm -rf "$$made"' EXIT && \
	    $(CC) $(ALL_CFLAGS) -g0 -DWALLPROF_LIBDIR='"$(LIBDIR)"' -c -o "$$made/library_place.o" src/tool/run/library_place.c && \
	    $(LINK) -o "$$made/wallprof" $(BUILD)/src/tool/cmd/main.o "$$made/library_place.o" $(ARCHIVES) $(PROGRAM_LIBS) && \
	    install -m 755 "$$made/wallprof" $(DESTDIR)$(BINDIR)
	ln -sf wallprof $(DESTDIR)$(BINDIR)/wallprof-run
	install -m 644 docs/man/*.1 $(DESTDIR)$(MANDIR)/man1
	install -m 644 docs/man/*.7 $(DESTDIR)$(MANDIR)/man7
	install -m 644 scripts/completion/wallprof.bash $(DESTDIR)$(COMPLETIONDIR)/wallprof
	ln -sf wallprof $(DESTDIR)$(COMPLETIONDIR)/wallprof-run
	install -m 644 LICENSE CHANGELOG.md $(DESTDIR)$(DOCDIR)
	sed -e 's|@PREFIX@|$(PKGCONFIG_PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|' -e 's|@VERSION@|$(VERSION)|' \
	    -e 's|@INCLUDEDIR@|$(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)|' scripts/wallprof.pc >$(DESTDIR)$(PKGCONFIGDIR)/wallprof.pc
	chmod 644 $(DESTDIR)$(PKGCONFIGDIR)/wallprof.pc
	@if [ -z "$(DESTDIR)" ]; then scripts/refresh-loader $(LIBDIR); fi

INSTALLED := $(LIBDIR)/libwallprof.so $(INCLUDEDIR)/wallprof.h $(addprefix $(BINDIR)/,wallprof wallprof-run) \
             $(addprefix $(COMPLETIONDIR)/,wallprof wallprof-run) \
             $(addprefix $(DOCDIR)/,LICENSE CHANGELOG.md) $(PKGCONFIGDIR)/wallprof.pc \
             $(foreach section,1 7,$(addprefix $(MANDIR)/man$(section)/,$(notdir $(wildcard docs/man/*.$(section)))))
uninstall:
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then /sbin/ldconfig; fi

# A tarball of what install installs, with what it is built on: DIST_SUITE=bullseye builds it in a Debian of that suite, so that it
# runs with the C library of that and all later ones. Root can do that (scripts/debian-root).
DIST_SUITE  ?=
dist: $(if $(DIST_SUITE),,$(LIB) $(TOOL))
	@$(if $(DIST_SUITE),scripts/dist-in $(DIST_SUITE),scripts/dist $(VERSION) $(MACHINE))

deb: $(LIB) $(TOOL)
	@scripts/deb $(VERSION)

-include $(wildcard $(addprefix $(BUILD)/,$(addsuffix .d,src/*/* src/sig/*/* src/tool/*/* preload/* tests/*/*)))

clean:
	rm -rf build
