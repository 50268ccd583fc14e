# wallprof: build, check, demo, bench, install. `make help` lists the targets.
#
# make V=1 shows the commands.
#
# Variants are whole builds in directories of their own: make VARIANT=asan unit. All compile the same sources.

VERSION := 0.1.0
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
BINDIR  ?= $(PREFIX)/bin
MANDIR  ?= $(PREFIX)/share/man
INCLUDEDIR ?= $(PREFIX)/include
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
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
MACHINE     := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))

# VARIANT=strict is for CI: gcc or clang, warnings are errors. Sanitizers: unit tests only, a preloaded sanitizer
# runtime cannot be had in a program that was built without.
sanitize_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -O1
sanitize_tsan := -fsanitize=thread -O1 -Wno-tsan
sanitize_fuzz := -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -O1
sanitize_fuzz-coverage := -fsanitize=address,undefined,fuzzer-no-link -fprofile-instr-generate -fcoverage-mapping -O1
SANITIZE := $(sanitize_$(VARIANT))

WARN    := -Wall -Wextra -Wundef -Wshadow -Wstrict-prototypes -Wvla -Werror=implicit-function-declaration
CFLAGS  ?= -O2 -g
ALL_CFLAGS := -std=gnu11 $(CFLAGS) $(WARN) $(WERROR) -fPIC -fvisibility=hidden -fno-plt -pthread $(SANITIZE) \
              -Iinclude -iquote src -iquote tests -iquote . $(CROSS_CPP) -D_GNU_SOURCE -DWALLPROF_VERSION='"$(VERSION)"'
# What a signal handler runs: no stack protector (it reads thread-local storage), no surprises from the vectorizer
# (large stack frames), and never a sanitizer's call into its runtime in the library itself; nor one into libgcc, which
# on aarch64 chooses an atomic instruction by the processor.
SIG_CFLAGS_aarch64 := -mno-outline-atomics
SIG_CFLAGS := -fno-stack-protector -fno-tree-vectorize -fno-builtin-memcpy -fno-builtin-memset $(SIG_CFLAGS_$(MACHINE))
ZLIB_A  ?= $(shell $(CC) -print-file-name=libz.a)

ENGINE_SRC  := $(filter-out src/tool/%,$(wildcard src/*/*.c src/sig/*/*.c))
PRELOAD_SRC := $(wildcard preload/*.c)
TOOL_SRC    := $(wildcard src/tool/*/*.c)
ENGINE_OBJ  := $(ENGINE_SRC:%.c=$(BUILD)/%.o) $(BUILD)/src/encode/html_page.o
PRELOAD_OBJ := $(PRELOAD_SRC:%.c=$(BUILD)/%.o)
TOOL_OBJ    := $(TOOL_SRC:%.c=$(BUILD)/%.o)
SIG_OBJ     := $(filter $(BUILD)/src/sig/%.o,$(ENGINE_OBJ))
# Left out on aarch64: what is written in x86_64's assembly. On x86_64: code that is known by its instructions there.
OTHERS_aarch64 := $(addprefix tests/,unit/test_sig_call.c unit/test_sig_stack.c unit/test_sig_prologue.c targets/target_cfi.c)
OTHERS_x86_64  := tests/unit/test_sig_code.c
# The tool is for the machine it is built on.
ifeq ($(VARIANT),aarch64)
OTHERS_aarch64 += $(wildcard tests/unit/test_tool_*.c)
else
TOOL        := $(BUILD)/wallprof
endif
# And under emulation what is about reading through the kernel, its memory map, what it tells of other threads,
# its filters and its vDSO: qemu has none as it is.
ifneq ($(RUN),)
OTHERS_$(MACHINE) += $(addprefix tests/,unit/test_eh_index.c unit/test_elf_loaded.c unit/test_anonymous_code.c unit/test_thread_stat.c unit/test_remote_sample.c unit/test_cut_short.c unit/test_thread_scan.c unit/test_sig_remote_walk.c unit/test_memory_limit.c \
      unit/test_call_filter.c unit/test_vdso.c)
endif
UNIT        := $(patsubst tests/%.c,$(BUILD)/tests/%,$(filter-out $(OTHERS_$(MACHINE)),$(wildcard tests/unit/test_*.c)))
TARGETS     := $(patsubst tests/%.c,$(BUILD)/tests/%,$(filter-out $(OTHERS_$(MACHINE)),$(wildcard tests/targets/target_*.c))) \
               $(patsubst tests/%.cc,$(BUILD)/tests/%,$(wildcard tests/targets/target_*.cc))
FUZZERS     := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/fuzz/fuzz_*.c))
E2E         := $(sort $(wildcard tests/e2e/e2e_*.sh)) tests/oracle/oracle_static.sh
# Those that are true under emulation, and those of the machine's own.
E2E_aarch64 := $(addprefix tests/,e2e/e2e_sig_symbols.sh e2e/e2e_exceptions.sh e2e/e2e_stacks.sh $(if $(WALLPROF_LONG),e2e/e2e_truth.sh e2e/e2e_threads.sh)) \
               $(sort $(wildcard tests/e2e/aarch64_*.sh)) tests/oracle/oracle_static.sh
# These take longest: where several run at a time, they had better not be the last. And these mostly wait.
E2E_LONG    := $(addprefix tests/,e2e/e2e_blocked.sh e2e/e2e_threads.sh e2e/e2e_many.sh e2e/e2e_endings.sh e2e/e2e_truth.sh e2e/e2e_html.sh e2e/e2e_stacks.sh e2e/e2e_transparency.sh)
E2E_WAITING := $(addprefix tests/,e2e/e2e_push.sh e2e/e2e_tool_export.sh e2e/e2e_stopped.sh)
LIB         := $(BUILD)/libwallprof.so
# How many programs are tested at a time. End-to-end tests are not made for a crowd; beside them those that wait.
JOBS        ?= $(shell nproc)
E2E_JOBS    ?= $(if $(filter 1,$(JOBS)),1,2)

Q   := $(if $(V),,@)

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help deps check unit race oracle unit-programs golden e2e e2e-long strict sanitizers fuzz lint format demo bench bench-unwind servers torture continuous family-build transparency install uninstall clean targets aarch64

all: $(LIB) $(TOOL)

help:
	@echo 'make          build $(LIB) and $(BUILD)/wallprof'
	@echo 'make demo     install what is needed, build, profile a real program and show the result'
	@echo 'make check    install what is needed, build, run every test'
	@echo 'make bench    print the table of costs (takes some minutes)'
	@echo 'make bench-unwind   of it what a walk costs in the handler, beside libunwind and others'
	@echo 'make oracle   compare the unwinding with libunwind, on large programs (10 minutes)'
	@echo 'make servers  profile eight real servers under load, judge the profiles, print a table (5 minutes)'
	@echo 'make torture TORTURE_SECONDS=120   everything at once that has ever gone wrong, so long each'
	@echo 'make family-build a real project built under wallprof-run --merge, and timed'
	@echo 'make continuous   redis in continuous mode for ten minutes, judged'
	@echo 'make e2e-long the end-to-end tests with all that check has no time for (30 minutes)'
	@echo 'make transparency   run the suites of CPython, stress-ng and libuv bare and profiled, compare test by test (40 minutes)'
	@echo 'make install  PREFIX=$(PREFIX) (DESTDIR is honoured)'
	@echo 'make fuzz FUZZ_SECONDS=3600   hostile tables, stacks and files, an hour each (scripts/fuzz has more)'
	@echo 'make golden   what the formats look like, anew, in tests/golden (after a change that is wanted)'
	@echo 'make unit | e2e | strict | sanitizers | fuzz | aarch64 | lint | format    parts of check'

deps:
	@scripts/setup-deps build

$(LIB): $(ENGINE_OBJ) $(PRELOAD_OBJ) preload/exports.map
	@echo '  LINK  $@'
	$(Q)$(CC) -shared -o $@ $(ENGINE_OBJ) $(PRELOAD_OBJ) -Wl,--version-script=preload/exports.map -Wl,--exclude-libs,ALL \
	    -Wl,-soname,libwallprof.so -Wl,-z,defs -Wl,-z,nodelete -Wl,-z,now -Wl,-z,relro -pthread $(CFLAGS) $(CROSS_LD) $(ZLIB_A)

$(BUILD)/src/sig/%.o: src/sig/%.c
	@mkdir -p $(@D)
	@echo '  CC    $<'
	$(Q)$(CC) $(ALL_CFLAGS) $(SIG_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo '  CC    $<'
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The page of the HTML format, in two pieces: what comes before a profile's data, and what comes after it.
HTML_SRC    := $(wildcard src/encode/html/* third_party/*/*)
$(BUILD)/html_page.before: scripts/html-page $(HTML_SRC)
	@mkdir -p $(@D)
	$(Q)scripts/html-page $@ $(@:.before=.after)

$(BUILD)/src/encode/html_page.o: src/encode/html_page.S $(BUILD)/html_page.before
	@mkdir -p $(@D)
	@echo '  AS    $<'
	$(Q)$(CC) -c -o $@ -Wa,-I$(BUILD) $<

# Of the engine the tool takes what it needs.
$(BUILD)/libengine.a: $(ENGINE_OBJ)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

TOOL_LIBS   := -ldw -lelf -liberty $(ZLIB_A)
$(BUILD)/wallprof: $(TOOL_OBJ) $(BUILD)/libengine.a
	@echo '  LINK  $@'
	$(Q)$(CC) -o $@ $(TOOL_OBJ) $(BUILD)/libengine.a $(SANITIZE) -pthread $(CFLAGS) $(TOOL_LIBS) -ldl

$(BUILD)/tests/unit/test_tool_%: $(BUILD)/tests/unit/test_tool_%.o $(TOOL_OBJ) $(BUILD)/libengine.a
	@echo '  LINK  $@'
	$(Q)$(CC) -o $@ $< $(filter-out $(BUILD)/src/tool/cmd/main.o $(BUILD)/src/tool/cmd/cmd_%,$(TOOL_OBJ)) $(BUILD)/libengine.a $(SANITIZE) -pthread \
	    $(TOOL_LIBS) -lcmocka -ldl

# What prints what the tool makes of addresses, beside addr2line.
$(BUILD)/tests/oracle/tool_frames: $(BUILD)/tests/oracle/tool_frames.o $(filter $(addprefix $(BUILD)/src/tool/debug/,debug_% frame_%),$(TOOL_OBJ)) \
    $(BUILD)/libengine.a
	@echo '  LINK  $@'
	$(Q)$(CC) -o $@ $^ $(SANITIZE) -pthread $(TOOL_LIBS)

# Unit tests link the engine's objects themselves, so that every internal function can be called.
$(BUILD)/tests/unit/test_call_filter: $(BUILD)/preload/call_filter.o
$(BUILD)/tests/unit/test_%: $(BUILD)/tests/unit/test_%.o $(ENGINE_OBJ)
	@echo '  LINK  $@'
	$(Q)$(CC) -o $@ $^ $(SANITIZE) -pthread $(CROSS_LD) $(ZLIB_A) -lcmocka -ldl

# Pages for a browser to open.
$(BUILD)/tests/judges/html_pages: $(BUILD)/tests/judges/html_pages.o $(ENGINE_OBJ)
	@echo '  LINK  $@'
	$(Q)$(CC) -o $@ $^ $(SANITIZE) -pthread $(CROSS_LD) $(ZLIB_A) -ldl

# The whole library in a program, for a sanitizer.
$(BUILD)/tests/targets/race_hooks: $(BUILD)/tests/targets/race_hooks.o $(ENGINE_OBJ) $(PRELOAD_OBJ)
	@echo '  LINK  $@'
	$(Q)$(CC) -rdynamic -o $@ $^ $(SANITIZE) -Wl,--wrap=sig_handler_send -pthread $(ZLIB_A) -ldl

# Fuzzers: clang only. They look over the shoulder of what reads memory carefully and of what allocates it.
comma := ,
$(BUILD)/tests/fuzz/fuzz_cfi: FUZZ_LDFLAGS := $(addprefix -Wl$(comma)--wrap=sig_memory_,copy is_readable)
$(BUILD)/tests/fuzz/fuzz_stack: FUZZ_LDFLAGS := $(addprefix -Wl$(comma)--wrap=sig_memory_,copy copy_some is_readable peek)
$(BUILD)/tests/fuzz/fuzz_elf: FUZZ_LDFLAGS := $(addprefix -Wl$(comma)--wrap=scratch_,alloc free grow)
$(BUILD)/tests/fuzz/fuzz_tool_pprof $(BUILD)/tests/fuzz/fuzz_tool_store: FUZZ_LDFLAGS := -Wl,--wrap=sink_write
$(BUILD)/tests/fuzz/fuzz_%.o: ALL_CFLAGS += -fno-sanitize=fuzzer-no-link
$(BUILD)/tests/fuzz/fuzz_tool_%: $(BUILD)/tests/fuzz/fuzz_tool_%.o $(TOOL_OBJ) $(BUILD)/libengine.a
	@echo '  LINK  $@'
	$(Q)$(CC) -o $@ $< $(filter-out $(BUILD)/src/tool/cmd/main.o,$(TOOL_OBJ)) $(BUILD)/libengine.a $(SANITIZE) -fsanitize=fuzzer \
	    $(FUZZ_LDFLAGS) -pthread $(TOOL_LIBS) -ldl

$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(ENGINE_OBJ)
	@echo '  LINK  $@'
	$(Q)$(CC) -o $@ $< $(ENGINE_OBJ) $(SANITIZE) -fsanitize=fuzzer $(FUZZ_LDFLAGS) -pthread $(ZLIB_A) -ldl

# The oracle needs libunwind, and only the files that evaluate unwind tables.
$(BUILD)/tests/oracle/oracle_static: $(BUILD)/tests/oracle/oracle_static.o \
    $(addprefix $(BUILD)/src/sig/,cfi/sig_cfi.o cfi/sig_eh_frame.o cfi/sig_expression.o cfi/sig_full_expression.o cfi/sig_full_frame.o sys/sig_memory.o \
      walk/sig_rules.o)
	@echo '  LINK  $@'
	$(Q)$(CC) -o $@ $^ $(SANITIZE) $(CROSS_LD) -lunwind-$(MACHINE) -lunwind

$(BUILD)/liboracle_live.so: $(BUILD)/tests/oracle/oracle_live.o $(ENGINE_OBJ)
	@echo '  LINK  $@'
	$(Q)$(CC) -shared -o $@ $^ -Wl,--exclude-libs,ALL -Wl,-z,defs -Wl,-z,now -pthread -ldl $(ZLIB_A)

# What times walks in a handler: the engine's objects, libunwind, and one chain of functions compiled both ways.
UNWIND_BENCH := $(addprefix $(BUILD)/tests/bench/,unwind_walkers.o unwind_chain_plain.o unwind_chain_fp.o)
UNWIND_PROGRAMS := $(BUILD)/bench/unwind $(BUILD)/bench/unwind_hang
$(BUILD)/tests/bench/unwind_chain_plain.o: CHAIN := -fomit-frame-pointer -DCHAIN_NAME=chain_plain_descend
$(BUILD)/tests/bench/unwind_chain_fp.o: CHAIN := -fno-omit-frame-pointer -DCHAIN_NAME=chain_fp_descend
$(filter %_plain.o %_fp.o,$(UNWIND_BENCH)): tests/bench/unwind_chain.c
	@mkdir -p $(@D)
	@echo '  CC    $< ($(@F))'
	$(Q)$(CC) -std=gnu11 -O2 -g $(CHAIN) -Wall -Wextra -D_GNU_SOURCE -MMD -MP -c -o $@ $<

$(UNWIND_PROGRAMS): $(BUILD)/bench/%: $(BUILD)/tests/bench/%.o $(UNWIND_BENCH) $(ENGINE_OBJ)
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(Q)$(CC) -o $@ $^ -pthread $(ZLIB_A) -lunwind -ldl

# What makes a recording up for the export to be timed with.
$(BUILD)/bench/stacks: $(BUILD)/tests/bench/stacks.o $(ENGINE_OBJ)
	@mkdir -p $(@D)
	@echo '  LINK  $@'
	$(Q)$(CC) -o $@ $^ -pthread $(ZLIB_A) -ldl

# Programs to profile: built as a distribution builds them, optimised and without frame pointers.
$(BUILD)/tests/targets/target_%: tests/targets/target_%.c
	@mkdir -p $(@D)
	@echo '  CC    $<'
	$(Q)$(CC) -std=gnu11 -O2 -g -fomit-frame-pointer -Wall -Wextra -Iinclude -D_GNU_SOURCE -MMD -MP -o $@ $< -pthread -lm
$(BUILD)/tests/targets/target_%: tests/targets/target_%.cc
	@mkdir -p $(@D)
	@echo '  CXX   $<'
	$(Q)$(CXX) -std=gnu++17 -O2 -g -fomit-frame-pointer -Wall -Wextra -Iinclude -MMD -MP -o $@ $< -pthread

targets: $(TARGETS)

# The longest first.
unit: $(UNIT)
	@WALLPROF_RUN='$(RUN)' TEST_JOBS=$(JOBS) scripts/run-tests $(filter %/test_schedule,$(UNIT)) $(filter-out %/test_schedule,$(UNIT))

build/pprof:
	@scripts/build-pprof $@

e2e: $(LIB) $(TOOL) $(TARGETS) $(BUILD)/tests/oracle/oracle_static $(BUILD)/tests/judges/html_pages $(if $(TOOL),$(BUILD)/tests/oracle/tool_frames) build/pprof
	@export WALLPROF_RUN='$(RUN)' CC='$(CC)' NM='$(NM)' WALLPROF_BUILD=$(abspath $(BUILD)) WALLPROF_PPROF=$(abspath build/pprof); \
	scripts/run-tests $(filter $(E2E_WAITING),$(E2E)) & waiting=$$!; \
	TEST_JOBS=$(E2E_JOBS) scripts/run-tests $(filter $(E2E_LONG),$(E2E)) $(filter-out $(E2E_LONG) $(E2E_WAITING),$(E2E)); others=$$?; \
	wait $$waiting && exit $$others

# With what there is no time for in check: each in its long form (is_long in tests/lib/e2e.sh).
e2e-long:
	@WALLPROF_LONG=1 $(MAKE) --no-print-directory e2e
	@WALLPROF_LONG=1 $(MAKE) --no-print-directory aarch64

# Both compilers, every warning an error.
strict:
	@$(MAKE) --no-print-directory VARIANT=strict-gcc CC=gcc WERROR=-Werror all unit-programs
	@$(MAKE) --no-print-directory VARIANT=strict-clang CC=clang WERROR=-Werror all unit-programs

# Every unit test under ASan and UBSan. Under TSan those with threads, but where the subject is what a signal handler
# finds, whose delivery TSan puts off, or who is in the process, where TSan has a thread of its own; and the hooks.
TSAN_UNIT := $(addprefix build/tsan/tests/unit/test_,cut_short sig_fp_offset_cache sig_rules sig_slots sink sampler_pause threads thread_stat)
sanitizers:
	@$(MAKE) --no-print-directory VARIANT=asan unit
	@$(MAKE) --no-print-directory VARIANT=tsan unit race UNIT='$(TSAN_UNIT)'

race: $(BUILD)/tests/targets/race_hooks
	@WALLPROF_BUILD=$(abspath $(BUILD)) scripts/run-tests tests/e2e/race_hooks.sh

# Hostile unwind tables, stacks and files, made up by libFuzzer: so many seconds for each fuzzer.
FUZZ_SECONDS ?= 20
fuzz:
	+@scripts/fuzz run $(FUZZ_SECONDS)

unit-programs: $(UNIT)

# Writes the files of tests/golden anew, for a change of a format that is wanted.
golden: $(BUILD)/tests/unit/test_tool_golden
	@mkdir -p tests/golden
	@WALLPROF_RENEW_GOLDEN=1 $<

# The other machine, under qemu-user. Wants a cross compiler, and Debian's archive once.
aarch64:
	+@scripts/make-aarch64

# Unwinding against libunwind: every rule of large programs, and stacks of running ones. About 10 minutes; not in check.
oracle: $(BUILD)/tests/oracle/oracle_static $(BUILD)/liboracle_live.so
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/oracle/oracle_static.sh --all
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/oracle/oracle_live.sh

# Programs that do all at once what has gone wrong, at 10,000 Hz, for so many seconds each. Short forms are in check.
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

format:
	clang-format -i $$(git ls-files '*.c' '*.h' '*.cc')

# What is cheap to find out comes first.
check:
	@scripts/setup-deps check
	@$(MAKE) --no-print-directory all
	@scripts/check

demo:
	@scripts/setup-deps demo
	@$(MAKE) --no-print-directory all build/pprof
	@WALLPROF_BUILD=$(abspath $(BUILD)) WALLPROF_PPROF=$(abspath build/pprof) scripts/demo

bench:
	@scripts/setup-deps bench
	@$(MAKE) --no-print-directory all $(UNWIND_PROGRAMS) $(BUILD)/bench/stacks
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/bench/run

# Of these only what a walk costs in the handler, and whether it comes to an end (4 minutes).
bench-unwind: $(LIB) $(UNWIND_PROGRAMS)
	@WALLPROF_BUILD=$(abspath $(BUILD)) tests/bench/run unwind hang

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

# bash-completion looks for a file by the command's name.
install: $(LIB) $(TOOL)
	install -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(BINDIR) $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man7 $(DESTDIR)$(COMPLETIONDIR)
	install -d $(DESTDIR)$(INCLUDEDIR)
	install -m 755 $(LIB) $(DESTDIR)$(LIBDIR)/libwallprof.so
	install -m 644 include/wallprof.h $(DESTDIR)$(INCLUDEDIR)
	sed -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' scripts/wallprof-run >$(BUILD)/wallprof-run
	install -m 755 $(BUILD)/wallprof-run $(TOOL) $(DESTDIR)$(BINDIR)
	install -m 644 docs/man/*.1 $(DESTDIR)$(MANDIR)/man1
	install -m 644 docs/man/*.7 $(DESTDIR)$(MANDIR)/man7
	install -m 644 scripts/completion/wallprof.bash $(DESTDIR)$(COMPLETIONDIR)/wallprof
	ln -sf wallprof $(DESTDIR)$(COMPLETIONDIR)/wallprof-run
	@if [ -z "$(DESTDIR)" ]; then scripts/refresh-loader $(LIBDIR); fi

INSTALLED := $(LIBDIR)/libwallprof.so $(INCLUDEDIR)/wallprof.h $(addprefix $(BINDIR)/,wallprof wallprof-run) \
             $(addprefix $(COMPLETIONDIR)/,wallprof wallprof-run) \
             $(foreach section,1 7,$(addprefix $(MANDIR)/man$(section)/,$(notdir $(wildcard docs/man/*.$(section)))))
uninstall:
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then /sbin/ldconfig; fi

-include $(wildcard $(addprefix $(BUILD)/,$(addsuffix .d,src/*/* src/sig/*/* src/tool/*/* preload/* tests/*/*)))

clean:
	rm -rf build
