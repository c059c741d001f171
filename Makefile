# SPDX-License-Identifier: ISC
#
# One makefile for the whole tree; GNU Make 4.3 on Debian 12.  Products and
# objects live under build/ only.  Sources are found by wildcard, and a folder
# that is not there brings no rules, so a new file needs no edit here.
#
#   make [all]            products          make check        the quick tests
#   make deps             apt, what is missing                 (installs first)
#   make lint             style and pages   make check-long   everything
#   make bench            all benches       make install      DESTDIR, PREFIX
#   make bench-compare BASE=rev             make demo         a show
#   make clean
#
# V=1 shows the commands.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-print-directory -rR

PREFIX	?= /usr/local
DESTDIR	?=
AT	:= $(if $(V),,@)
say	= $(if $(V),@:,@printf '  %-7s %s\n' '$(1)' '$(2)')

# ---------------------------------------------------------------------------
# Debian packages: the only list.  A fresh machine has git and make.

DEPS_BUILD := gcc libc6-dev libsodium-dev libxxhash-dev libzstd-dev \
    libjansson-dev libreadline-dev libconfuse-dev libbsd-dev libev-dev \
    pkg-config
DEPS_TEST := libcriterion-dev mandoc python3-minimal python3 zstd
DEPS_LONG := clang libclang-rt-14-dev llvm gcc-aarch64-linux-gnu \
    libc6-dev-arm64-cross qemu-user
DEPS_BENCH := git python3 memcached redis-server libmemcached-dev \
    libhiredis-dev liblmdb-dev

# ---------------------------------------------------------------------------
# Variants: one object folder each, build/obj/VARIANT.
#   opt    the products           test  with the named points, for tests
#   pic    the client library     asan  address and undefined behaviour
#   tsan   clang's ThreadSanitizer      arm64  cross build, run by qemu
#   clang  the tests built by clang
#   fault-NAME  one seeded fault (make mutant FAULT=NAME PROG=...)

WERROR	?= -Werror
WARN	:= -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
    -Wcast-qual -Wpointer-arith -Wwrite-strings -Wvla $(WERROR)
INCS	:= -Ilibshm -Iserver -Iclient -Ictl -Ibench -Itests/support
BASE_FLAGS := -std=c11 -D_GNU_SOURCE -g $(WARN) $(INCS) -pthread
HARD	:= -D_FORTIFY_SOURCE=2 -fstack-protector-strong
POINTS	:= -DSHM_TEST_POINTS
ASAN	:= -fsanitize=address,undefined -fno-sanitize-recover=all \
    -fno-omit-frame-pointer
# Unit tests where Criterion does not run; system headers, as Criterion's.
STANDIN	:= -isystem tests/standin

CC_opt	:= gcc
FLAGS_opt := $(BASE_FLAGS) -O2 $(HARD)
CC_pic	:= gcc
FLAGS_pic := $(FLAGS_opt) -fPIC -fvisibility=hidden
CC_test	:= gcc
FLAGS_test := $(FLAGS_opt) $(POINTS)
CC_asan	:= gcc
FLAGS_asan := $(BASE_FLAGS) -O1 $(POINTS) $(ASAN)
LINK_asan := $(ASAN)
CC_tsan	:= clang
FLAGS_tsan := $(STANDIN) $(BASE_FLAGS) -O1 $(POINTS) -fsanitize=thread
LINK_tsan := -fsanitize=thread
CC_arm64 := aarch64-linux-gnu-gcc
FLAGS_arm64 := $(STANDIN) $(BASE_FLAGS) -O2 $(POINTS) -DXXH_INLINE_ALL
LINK_arm64 := -static
CC_clang := clang
FLAGS_clang := $(BASE_FLAGS) -O2 $(HARD)

VARIANTS := opt pic test asan tsan arm64 clang

# ---------------------------------------------------------------------------
# Sources.

srcs	= $(sort $(wildcard $(1)/*.c))
SHM	:= $(call srcs,libshm)
SERVER	:= $(filter-out server/main.c,$(call srcs,server))
CLIENT	:= $(call srcs,client)
CTL	:= $(filter-out ctl/main.c,$(call srcs,ctl))
SIM	:= $(filter ctl/sim_%.c ctl/trace_%.c ctl/policy%.c,$(CTL))
SUPPORT	:= $(call srcs,tests/support)
BENCH_PROGS := $(wildcard bench/bench_*.c)
FLOOR_PROGS := $(wildcard bench/floor_*.c)
BENCH_HELP := $(filter-out $(BENCH_PROGS) $(FLOOR_PROGS),$(call srcs,bench))
UNIT	:= $(sort $(shell [ -d tests/unit ] && find tests/unit -name '*.c'))
UNIT_HELP := $(foreach f,$(UNIT),$(if $(filter test_%,$(notdir $f)),,$f))

KINDS	:= race crash sim fuzz
PLAIN	:= $(foreach k,$(KINDS),$(wildcard tests/$k/$k_*.c))
# Sources beside a race, crash or sim program that help all of its kind.
help_of	= $(filter-out $(PLAIN),$(call srcs,$(patsubst %/,%,$(dir $(1)))))
objs	= $(patsubst %.c,build/obj/$(1)/%.o,$(2))

# Libraries.  A tests program may call into any folder: it links them all.
LIBS_SHM := -lsodium -lxxhash -lm -pthread
LIBS_SIM := -lzstd -lm
LIBS_CTL := $(LIBS_SIM) -ljansson -lreadline
LIBS_SERVER := -lconfuse -lbsd -lev -ljansson $(LIBS_SHM)
LIBS_TEST := $(if $(SERVER),$(LIBS_SERVER)) $(LIBS_SHM) $(LIBS_SIM) \
    -ljansson $(if $(CTL),-lreadline)

# ---------------------------------------------------------------------------
# Objects and archives of each variant.  A stamp holds the flags or the list
# of members and changes only when they do, so a changed flag or a deleted
# source rebuilds what it must and nothing else.

.PHONY: FORCE
FORCE:

define stamp
@mkdir -p $(@D); printf '%s\n' '$(1)' | cmp -s - $@ || \
    printf '%s\n' '$(1)' >$@
endef

# $(1) variant
define variant_rules
build/obj/$(1)/.flags: FORCE
	$$(call stamp,$$(CC_$(1)) $$(FLAGS_$(1)))
build/obj/$(1)/%.o: %.c build/obj/$(1)/.flags
	$$(call say,CC,$$@)
	@mkdir -p $$(@D)
	$$(AT)$$(CC_$(1)) $$(FLAGS_$(1)) -MMD -MP -c -o $$@ $$<
endef

# $(1) variant, $(2) archive, $(3) sources
define archive_rules
$(2).list: FORCE
	$$(call stamp,$(sort $(3)))
$(2): $(call objs,$(1),$(3)) $(2).list
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	$$(AT)rm -f $$@ && ar rcs $$@ $$(filter %.o,$$^)
endef

$(foreach v,$(VARIANTS),$(eval $(call variant_rules,$v)))

# The archives a tests program links, in an order that resolves.
ARCHIVES := $(if $(SERVER),server) $(if $(CTL),ctl) $(if $(CLIENT),client) \
    $(if $(BENCH_HELP),bench) $(if $(SUPPORT),support) $(if $(SHM),shm)
archives = $(foreach a,$(ARCHIVES),build/obj/$(1)/lib$a.a)
SRC_server := $(SERVER)
SRC_ctl	:= $(CTL)
SRC_client := $(CLIENT)
SRC_bench := $(BENCH_HELP)
SRC_support := $(SUPPORT)
SRC_shm	:= $(SHM)
TEST_VARIANTS := test asan tsan arm64 clang
$(foreach v,$(TEST_VARIANTS),$(foreach a,$(ARCHIVES),$(eval $(call \
    archive_rules,$v,build/obj/$v/lib$a.a,$(SRC_$a)))))

# ---------------------------------------------------------------------------
# Products.

PRODUCTS :=

ifneq ($(SHM),)
PRODUCTS += build/libweirshm.a
$(eval $(call archive_rules,opt,build/libweirshm.a,$(SHM)))
endif

ifneq ($(SIM),)
$(eval $(call archive_rules,opt,build/libweirsim.a,$(SIM)))
PRODUCTS += build/libweirsim.a
endif

ifneq ($(wildcard ctl/main.c),)
PRODUCTS += build/weir-ctl
$(eval $(call archive_rules,opt,build/libweirctl.a,$(CTL)))
build/weir-ctl: $(call objs,opt,ctl/main.c) build/libweirctl.a \
    build/libweirshm.a
	$(call say,LD,$@)
	$(AT)$(CC_opt) -o $@ $^ $(LIBS_CTL) $(LIBS_SHM)
endif

ifneq ($(wildcard server/main.c),)
PRODUCTS += build/weird
build/weird: $(call objs,opt,server/main.c $(SERVER)) build/libweirshm.a
	$(call say,LD,$@)
	$(AT)$(CC_opt) -o $@ $^ $(LIBS_SERVER)
endif

ifneq ($(CLIENT),)
PRODUCTS += build/libweirclient.so.0 build/libweirclient.a
CLIENT_MAP := $(wildcard client/weirclient.map)
build/libweirclient.so.0: $(call objs,pic,$(CLIENT) $(SHM)) $(CLIENT_MAP)
	$(call say,LD,$@)
	$(AT)$(CC_pic) -shared -Wl,-soname,$(@F) -Wl,--no-undefined \
	    $(addprefix -Wl$(comma)--version-script=,$(CLIENT_MAP)) \
	    -o $@ $(filter %.o,$^) $(LIBS_SHM)
	$(AT)ln -sf $(@F) build/libweirclient.so
$(eval $(call archive_rules,pic,build/libweirclient.a,$(CLIENT) $(SHM)))
endif
comma	:= ,

BENCHES := $(patsubst bench/bench_%.c,build/bench/%,$(BENCH_PROGS)) \
    $(patsubst bench/floor_%.c,build/bench/floor_%,$(FLOOR_PROGS))
ifneq ($(BENCH_HELP),)
$(eval $(call archive_rules,opt,build/obj/opt/libbench.a,$(BENCH_HELP)))
endif
# Clients of the peers, as far as they are installed; what was compiled
# without one is compiled again once it is there.
PEER	= $(if $(wildcard /usr/include/$(1)),-l$(2))
LIBS_PEERS := $(call PEER,lmdb.h,lmdb) $(call PEER,hiredis/hiredis.h,hiredis) \
    $(call PEER,libmemcached/memcached.h,memcached)
build/obj/opt/.peers: FORCE
	$(call stamp,$(LIBS_PEERS))
$(call objs,opt,$(wildcard bench/peer*.c)): build/obj/opt/.peers

BENCH_LIBS := $(if $(BENCH_HELP),build/obj/opt/libbench.a) \
    $(if $(SIM),build/libweirsim.a) \
    $(if $(CLIENT),build/libweirclient.a) $(if $(SHM),build/libweirshm.a)

define bench_rule
$(1): $(call objs,opt,$(2)) $$(BENCH_LIBS) | $(filter build/weird,$(PRODUCTS))
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(AT)$$(CC_opt) -o $$@ $$^ $$(LIBS_SHM) $$(LIBS_SIM) -ljansson \
	    -Wl,--as-needed $$(LIBS_PEERS)
endef
$(foreach b,$(BENCH_PROGS),$(eval $(call bench_rule,$(patsubst \
    bench/bench_%.c,build/bench/%,$b),$b)))
$(foreach b,$(FLOOR_PROGS),$(eval $(call bench_rule,$(patsubst \
    bench/floor_%.c,build/bench/floor_%,$b),$b)))
# Allocations are counted by functions in the place of malloc(): not for
# every program, so they are no part of an archive.
build/bench/micro: $(call objs,opt,$(call srcs,bench/interpose))

ifneq ($(wildcard demo/*.c),)
build/demo/shop: $(call objs,opt,$(filter-out demo/stampede.c,\
    $(call srcs,demo)))
build/demo/stampede: $(call objs,opt,demo/stampede.c)
build/demo/shop build/demo/stampede: build/libweirclient.a
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(AT)$(CC_opt) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS_SHM)
.PHONY: demo
demo: deps
	+@$(SUB) build/weird build/weir-ctl build/demo/shop \
	    build/demo/stampede
	@demo/run
endif

.PHONY: all benches
all: $(PRODUCTS)
benches: $(BENCHES)

# ---------------------------------------------------------------------------
# Tests: build/tests/VARIANT/unit is one Criterion program; each race, crash
# and sim source is a program of its own that prints pass, fail, skip lines.

# What of it a variant builds.  The arm64 run has libshm alone: the machine
# has no arm64 libraries, and tests/arm64 stands in for the hash of one.
ARM64	:= $(call srcs,tests/arm64)
UNIT_ARM64 := $(filter tests/unit/libshm/% tests/unit/support/%,$(UNIT)) \
    $(ARM64)
PLAIN_ARM64 := $(filter tests/race/%,$(PLAIN))
archives_arm64 = $(filter %/libshm.a %/libsupport.a,$(call archives,arm64))

# $(1) variant, $(2) sources, $(3) archives, $(4) libraries
define unit_rules
build/tests/$(1)/unit.list: FORCE
	$$(call stamp,$(2))
build/tests/$(1)/unit: $(call objs,$(1),$(2)) $(3) \
    build/tests/$(1)/unit.list
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(AT)$$(CC_$(1)) $$(LINK_$(1)) -o $$@ $$(filter %.o,$$^) \
	    -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group \
	    $(4)
endef

# $(1) variant, $(2) sources, the program's first, $(3) archives,
# $(4) libraries
define plain_rules
build/tests/$(1)/$(patsubst tests/%.c,%,$(firstword $(2))): \
    $(call objs,$(1),$(2)) $(3)
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(AT)$$(CC_$(1)) $$(LINK_$(1)) -o $$@ $$(filter %.o,$$^) \
	    -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group $(4)
endef

$(foreach v,test asan clang,$(eval $(call unit_rules,$v,$(UNIT),$(call \
    archives,$v),-lcriterion $(LIBS_TEST))))
$(eval $(call unit_rules,tsan,$(UNIT) tests/standin/standin.c,$(call \
    archives,tsan),$(LIBS_TEST)))
$(eval $(call unit_rules,arm64,$(UNIT_ARM64) tests/standin/standin.c,$(call \
    archives_arm64),-lm))

$(foreach p,$(PLAIN),$(foreach v,test asan tsan clang,$(eval $(call \
    plain_rules,$v,$p $(call help_of,$p),$(call archives,$v),$(LIBS_TEST)))))
$(foreach p,$(PLAIN_ARM64),$(eval $(call plain_rules,arm64,$p $(call \
    help_of,$p) $(ARM64),$(call archives_arm64),-lm)))

# Programs that scripts of e2e run: clients of the built daemon, linked as a
# user's are, and what is loaded into a process before its libraries.
E2E	:= $(sort $(wildcard tests/e2e/faults_*.c))
E2E_PRELOADS := $(sort $(wildcard tests/e2e/preload_*.c))
E2E_HELP := $(filter-out $(E2E) $(E2E_PRELOADS),$(call srcs,tests/e2e))
e2e_of	= $(patsubst tests/%.c,build/tests/%,$(E2E)) \
    $(patsubst tests/%.c,build/tests/%.so,$(E2E_PRELOADS))
define e2e_rule
$(patsubst tests/%.c,build/tests/%,$(1)): $(call objs,opt,$(1) $(E2E_HELP) \
    $(filter-out %/test_pool.c,$(SUPPORT))) build/libweirclient.a
	$$(call say,LD,$$@)
	@mkdir -p $$(@D)
	$$(AT)$$(CC_opt) -o $$@ $$^ $$(LIBS_SHM)
endef
$(foreach p,$(E2E),$(eval $(call e2e_rule,$p)))
$(patsubst tests/%.c,build/tests/%.so,$(E2E_PRELOADS)): \
    build/tests/%.so: build/obj/pic/tests/%.o
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(AT)$(CC_pic) -shared -o $@ $^

unit_of	= $(if $(UNIT),build/tests/$(1)/unit)
plain_of = $(patsubst tests/%.c,build/tests/$(1)/%,$(PLAIN))

.PHONY: tests-test tests-asan tests-asan-unit tests-tsan tests-clang \
    tests-arm64
tests-test: all $(call unit_of,test) $(call plain_of,test) $(e2e_of)
tests-asan-unit: $(call unit_of,asan)
tests-asan: $(call unit_of,asan) $(call plain_of,asan)
tests-tsan: $(call unit_of,tsan) $(call plain_of,tsan)
tests-clang: $(call unit_of,clang) $(call plain_of,clang)
tests-arm64: $(call unit_of,arm64) \
    $(PLAIN_ARM64:tests/%.c=build/tests/arm64/%)

# One seeded fault: only the sources that name it are compiled again (all of
# them when a header does), the rest comes from the test variant.
ifneq ($(FAULT),)
FAULT_IN := $(shell grep -lw 'FAULT($(FAULT))' $(wildcard libshm/*.[ch] \
    server/*.[ch] client/*.[ch] ctl/*.[ch]) /dev/null)
CC_fault-$(FAULT) := $(CC_test)
FLAGS_fault-$(FAULT) := $(FLAGS_test) -DFAULT_ON=$(FAULT)
$(eval $(call variant_rules,fault-$(FAULT)))
MUTANT_SRC := tests/$(PROG).c $(if $(filter unit/%,$(PROG)),$(UNIT_HELP),\
    $(call help_of,tests/$(PROG).c))
FAULT_SRC := $(if $(filter %.h,$(FAULT_IN)),$(SHM) $(SERVER) $(CLIENT) \
    $(CTL) $(MUTANT_SRC),$(FAULT_IN))
MUTANT	:= build/mutants/$(FAULT)/$(PROG)
$(MUTANT): $(call objs,fault-$(FAULT),$(FAULT_SRC)) \
    $(call objs,test,$(filter-out $(FAULT_SRC),$(MUTANT_SRC))) \
    $(call archives,test)
	$(if $(FAULT_IN),,$(error no source names FAULT($(FAULT))))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(AT)$(CC_test) -o $@ $(filter %.o,$^) \
	    -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
	    $(if $(filter unit/%,$(PROG)),-lcriterion) $(LIBS_TEST)
.PHONY: mutant
mutant: $(MUTANT)
endif

# ---------------------------------------------------------------------------
# Entry points.  Each installs what is missing first, and compiles in a
# second make, so that a machine without a compiler gets one in between.

JOBS	= $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
SUB	= $(MAKE) $(JOBS)
RUN	:= tests/run

.PHONY: deps deps-long bench-deps lint check check-long check-asan \
    check-tsan check-clang check-mutants check-arm64 bench bench-compare \
    install clean show-flags

# For the lint that compiles each header by itself.
show-flags:
	@echo $(filter-out -I%,$(FLAGS_opt)) $(INCS)

deps:
	@.ci/deps $(DEPS_BUILD) $(DEPS_TEST)
deps-long:
	@.ci/deps $(DEPS_BUILD) $(DEPS_TEST) $(DEPS_LONG)
bench-deps:
	@.ci/deps $(DEPS_BUILD) $(DEPS_BENCH)

check: deps
	+@$(SUB) tests-test
	@$(RUN) --quick lint unit:test race:test crash:test sim:test \
	    fuzz:test e2e

check-long: deps-long
	+@$(SUB) tests-test tests-asan tests-tsan tests-clang tests-arm64
	+@$(RUN) --long lint unit:test unit:asan unit:tsan unit:clang \
	    race:test crash:test sim:test fuzz:test e2e \
	    race:asan crash:asan sim:asan fuzz:asan \
	    race:tsan crash:tsan sim:tsan unit:arm64 race:arm64 mutants

check-asan: deps
	+@$(SUB) tests-asan
	@$(RUN) --quick unit:asan race:asan crash:asan sim:asan fuzz:asan

check-tsan: deps-long
	+@$(SUB) tests-tsan
	@$(RUN) --quick unit:tsan race:tsan crash:tsan sim:tsan

check-clang: deps-long
	+@$(SUB) tests-clang
	@$(RUN) --quick unit:clang

check-arm64: deps-long
	+@$(SUB) tests-arm64
	@$(RUN) --quick unit:arm64 race:arm64

check-mutants: deps
	+@$(SUB) tests-test
	+@$(RUN) --quick mutants

lint: deps
	@$(RUN) --quick lint

bench: bench-deps
	+@$(SUB) all benches
	@bench/run

bench-compare: bench-deps
	+@bench/compare $(BASE)

VERSION	= $(shell sed -n 's/^.define WEIR_VERSION_STRING.*"\(.*\)"/\1/p' \
    client/weir.h)
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/sbin \
	    $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include \
	    $(foreach s,1 3 5 7 8,$(DESTDIR)$(PREFIX)/share/man/man$s)
	$(foreach f,$(filter build/weir-ctl,$(PRODUCTS)),\
	    install -m 755 $f $(DESTDIR)$(PREFIX)/bin/;)
	$(foreach f,$(filter build/weird,$(PRODUCTS)),\
	    install -m 755 $f $(DESTDIR)$(PREFIX)/sbin/;)
	$(foreach f,$(filter build/libweirclient%,$(PRODUCTS)),\
	    install -m 644 $f $(DESTDIR)$(PREFIX)/lib/;)
	$(if $(CLIENT),ln -sf libweirclient.so.0 \
	    $(DESTDIR)$(PREFIX)/lib/libweirclient.so)
	$(foreach f,$(wildcard client/weir.h client/weir_fetch.h),\
	    install -m 644 $f $(DESTDIR)$(PREFIX)/include/;)
	$(if $(wildcard client/weirclient.pc.in),\
	    sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
	    client/weirclient.pc.in \
	    >$(DESTDIR)$(PREFIX)/lib/pkgconfig/weirclient.pc)
	$(foreach f,$(wildcard man/*.[1-8]),install -m 644 $f \
	    $(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $f))/;)

clean:
	rm -rf build

# Headers each object was built from, written by the compiler.
include $(shell [ -d build/obj ] && find build/obj -name '*.d')
