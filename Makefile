# Ironchase. `make help` lists what can be made.
#
# Everything that is made lies below build/. Nothing here needs root but the installation of missing
# packages (by `make run`, `make test`, `make lint`, `make format`) and writing a stick.

VERSION := 0.1.0

BUILD := build
CC := gcc
PYTHON := python3
HOST_CC := $(CC)

MAKEFLAGS += --no-builtin-rules --no-print-directory
SHELL := /bin/bash

# V=1 shows the commands.
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@echo "  $(1)")

.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := application

# Without a -j of the user's, use every processor.
ifeq ($(MAKELEVEL)$(filter -j% --jobserver%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif

# The commit that is built, and its date for everything that carries one: the same commit gives the
# same bytes.
COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
DIRTY := $(shell git status --porcelain -- Makefile boot hw kernels console linker 2>/dev/null)
COMMIT := $(COMMIT)$(if $(DIRTY),-dirty)
export SOURCE_DATE_EPOCH ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),946684800)
export TZ := UTC
export LC_ALL := C

# ---- flags --------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Werror -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wundef -Wvla -Wwrite-strings

# How code of the image is generated; picolibc gets exactly these. No red zone: interrupts use the
# stack they find. No AVX: the firmware does not switch it on.
CODEGEN := -Os -g -fPIE -fvisibility=hidden -mno-red-zone -mno-avx -fno-stack-protector \
           -fcf-protection=none -fno-asynchronous-unwind-tables -ffunction-sections \
           -fdata-sections

# Room on the stick is scarce, time only where an order is computed line by line: that alone is
# compiled for speed. (The measured loops are assembly.)
FAST_CFLAGS := -O2
FAST_SOURCES := order

# The frame limit is for the image: firmware promises 128 KiB of stack and uses some itself.
# POSIX has strnlen, which C11 lacks.
COMPILER_INCLUDE := $(shell $(CC) -print-file-name=include 2>/dev/null)
EFI_CFLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L $(CODEGEN) $(WARNINGS) \
              -Wframe-larger-than=1024 -fno-common $(NO_PLACE) \
              -nostdinc -isystem $(COMPILER_INCLUDE) -isystem $(BUILD)/picolibc/include \
              -I. -I$(BUILD)/generated
EFI_ASFLAGS := -g $(NO_PLACE) -I. -Wa,--noexecstack
EFI_LDFLAGS := -nostdlib -static-pie -Wl,--no-dynamic-linker -Wl,-z,text -Wl,-z,norelro \
               -Wl,-z,noexecstack -Wl,-z,max-page-size=4096 -Wl,--build-id=none -Wl,--gc-sections \
               -Wl,--orphan-handling=error -Wl,--fatal-warnings -Wl,--hash-style=sysv \
               -Wl,-T,linker/ironchase.lds

# UEFI's headers are for boot/uefi/ alone.
GNU_EFI_INCLUDE := /usr/include/efi
GNU_EFI_LIB := /usr/lib
UEFI_CFLAGS := -DGNU_EFI_USE_MS_ABI -isystem $(GNU_EFI_INCLUDE) -isystem $(GNU_EFI_INCLUDE)/x86_64

# A trap may come while vector registers hold a measurement's data.
TRAP_CFLAGS := -mgeneral-regs-only

# ---- sources ------------------------------------------------------------------------------------

HARDWARE_SOURCES := $(wildcard hw/*.c)
PORTABLE_SOURCES := $(HARDWARE_SOURCES) $(wildcard kernels/*.c kernels/*.S console/*.c boot/*.c)
EFI_SOURCES := $(PORTABLE_SOURCES) $(wildcard hw/*.S boot/uefi/*.c boot/uefi/*.S)
EFI_OBJECTS := $(EFI_SOURCES:%=$(BUILD)/efi/%.o)

EFI := $(BUILD)/ironchase.efi
ELF := $(BUILD)/ironchase.elf
IMAGE := $(BUILD)/ironchase.img
PICOLIBC := $(BUILD)/picolibc/lib/libc.a
VERSION_H := $(BUILD)/generated/version.h

.PHONY: application
application: $(EFI)

# ---- the C library ------------------------------------------------------------------------------

# Missing tools are named before anything is tried.
.PHONY: tools
tools:
	@tests/packages.sh check build

$(PICOLIBC): linker/picolibc.sh linker/picolibc.txt $(BUILD)/picolibc.flags | tools
	@linker/picolibc.sh $(BUILD) "$(CC)" "$(CODEGEN)"
	@touch $@

# A file that changes only when its text does.
define write_if_changed
@mkdir -p $(@D); new=$@.$$$$; printf '%s\n' $(1) >$$new; \
if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi
endef

.PHONY: force
$(BUILD)/picolibc.flags: force
	$(call write_if_changed,'$(CC) $(CODEGEN) $(PICOLIBC_SRC)')

$(BUILD)/efi.flags: force
	$(call write_if_changed,'$(CC) $(EFI_CFLAGS) $(UEFI_CFLAGS) $(EFI_LDFLAGS)')

$(VERSION_H): force | tools
	$(call write_if_changed,'#define IRONCHASE_VERSION "$(VERSION)"' \
	    '#define IRONCHASE_COMMIT "$(COMMIT)"' \
	    "#define IRONCHASE_COMPILER \"gcc $$($(CC) -dumpfullversion)\"")

# ---- the application ----------------------------------------------------------------------------

$(BUILD)/efi/boot/uefi/%.c.o: EFI_CFLAGS += $(UEFI_CFLAGS)
$(FAST_SOURCES:%=$(BUILD)/efi/kernels/%.c.o): EFI_CFLAGS += $(FAST_CFLAGS)

define efi_compile
$(call say,CC   $<)
$(Q)mkdir -p $(@D)
$(Q)$(CC) $(EFI_CFLAGS) $(if $(findstring trap,$(<F)),$(TRAP_CFLAGS)) -MMD -MP -c $< -o $@
endef

$(BUILD)/efi/%.c.o: %.c $(BUILD)/efi.flags $(PICOLIBC) | $(VERSION_H)
	$(efi_compile)

$(BUILD)/efi/%.S.o: %.S $(BUILD)/efi.flags | tools
	$(call say,AS   $<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(EFI_ASFLAGS) -MMD -MP -c $< -o $@

$(ELF): $(EFI_OBJECTS) linker/ironchase.lds $(PICOLIBC)
	$(call say,LINK $@)
	$(Q)$(CC) $(EFI_LDFLAGS) -Wl,-Map,$(BUILD)/ironchase.map -o $@ \
	    $(GNU_EFI_LIB)/crt0-efi-x86_64.o $(EFI_OBJECTS) $(GNU_EFI_LIB)/libgnuefi.a $(PICOLIBC) -lgcc

$(EFI): $(ELF) linker/make_pe.py linker/check_pe.py linker/elf.py linker/sbat.csv
	$(call say,PE   $@)
	$(Q)$(PYTHON) linker/make_pe.py $(ELF) linker/sbat.csv $@
	$(Q)$(PYTHON) linker/check_pe.py $(ELF) $@ linker/sbat.csv $(VERSION) $(COMMIT)

-include $(EFI_OBJECTS:.o=.d)

# ---- the image of a stick -----------------------------------------------------------------------

CONFIG := boot/ironchase.cfg
STICK_README := boot/README.TXT

.PHONY: image
image: $(IMAGE)

.PHONY: image-tools
image-tools:
	@tests/packages.sh check image

$(IMAGE): $(EFI) $(CONFIG) $(STICK_README) linker/make_image.sh | image-tools
	$(call say,IMG  $@)
	$(Q)linker/make_image.sh $@ $(EFI) $(CONFIG) $(STICK_README)

.PHONY: usb
usb: $(IMAGE)
	@linker/write_usb.sh $(IMAGE) $(DEV)

# What the user writes in SET is a text for run.py, nothing for a shell or for make.
unexport SET
.PHONY: run
run: export RUN_SETTINGS := $(value SET)
run:
	@tests/packages.sh install build image run
	@$(MAKE) image
	@$(PYTHON) tests/qemu/run.py $(IMAGE) $(BUILD)/run-machine $(BUILD)/run

# ---- programs for the host ----------------------------------------------------------------------

# Everything but boot/uefi/ links into a host program. What only the bare machine can do (hw/*.S) is
# taken from tests/fakes/ there. Each variant is a library, so that a program gets the fakes that it
# names:
#   unit     with sanitizers, for tests/unit/test_*.c
#   model    as fast and as plain as in the image, for tests/model/*.c, watched from outside
HOST_CFLAGS := -std=c11 -g $(WARNINGS) -D_GNU_SOURCE -I. -I$(BUILD)/generated
HOSTED_OWN := tests/hosted/main.c tests/hosted/insn_linux.c
HOST_SOURCES := $(PORTABLE_SOURCES) $(wildcard tests/fakes/*.c) \
                $(filter-out $(HOSTED_OWN),$(wildcard tests/hosted/*.c))
unit_FLAGS := -O1 -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=all \
              -fno-omit-frame-pointer
model_FLAGS := $(CODEGEN) $(FAST_CFLAGS)

UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNIT_PROGRAMS := $(UNIT_SOURCES:tests/%.c=$(BUILD)/%)
MODEL_SOURCES := $(wildcard tests/model/*.c)
MODEL_PROGRAMS := $(MODEL_SOURCES:tests/%.c=$(BUILD)/%)

# $(1) is the variant.
define host_variant
$(BUILD)/$(1).flags: force
	$$(call write_if_changed,'$(HOST_CC) $(HOST_CFLAGS) $($(1)_FLAGS)')

$(BUILD)/$(1)/%.c.o: %.c $(BUILD)/$(1).flags | $(VERSION_H)
	$$(call say,CC   $$< ($(1)))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(HOST_CC) $(HOST_CFLAGS) $($(1)_FLAGS) -MMD -MP -c $$< -o $$@

$(BUILD)/$(1)/%.S.o: %.S $(BUILD)/$(1).flags | tools
	$$(call say,AS   $$< ($(1)))
	$$(Q)mkdir -p $$(@D)
	$$(Q)$(HOST_CC) -g -I. -Wa,--noexecstack -MMD -MP -c $$< -o $$@

$(BUILD)/$(1)/libhost.a: $(HOST_SOURCES:%=$(BUILD)/$(1)/%.o)
	$$(Q)rm -f $$@
	$$(Q)ar rcs $$@ $$^

-include $(HOST_SOURCES:%=$(BUILD)/$(1)/%.d)
endef
$(eval $(call host_variant,unit))
$(eval $(call host_variant,model))

define host_link
$(call say,LINK $@)
$(Q)$(HOST_CC) $($(1)_FLAGS) -o $@ $^ $(2) -lm
endef

$(BUILD)/unit/test_recover: LIBRARIES := -lcjson

$(UNIT_PROGRAMS): $(BUILD)/%: $(BUILD)/unit/tests/%.c.o $(BUILD)/unit/libhost.a
	$(call host_link,unit,-lcmocka $(LIBRARIES))

$(MODEL_PROGRAMS): $(BUILD)/%: $(BUILD)/model/tests/%.c.o $(BUILD)/model/libhost.a
	$(call host_link,model)

-include $(UNIT_SOURCES:%=$(BUILD)/unit/%.d) $(MODEL_SOURCES:%=$(BUILD)/model/%.d)

# The program for Linux: of the fakes it has none, since its own objects come first.
HOSTED := $(BUILD)/hosted/ironchase

.PHONY: hosted
hosted:
	@tests/packages.sh check build hosted
	@$(MAKE) $(HOSTED)

$(HOSTED): $(HOSTED_OWN:%=$(BUILD)/model/%.o) $(BUILD)/model/libhost.a
	$(Q)mkdir -p $(@D)
	$(call host_link,model,-lcjson)

-include $(HOSTED_OWN:%=$(BUILD)/model/%.d)

.PHONY: bench
bench: hosted
	@$(PYTHON) tests/hosted/bench.py $(if $(PEERS),--peers "$(PEERS)") $(if $(RUNS),--runs $(RUNS)) \
	    $(if $(LARGEST),--largest $(LARGEST)) $(HOSTED) $(BUILD)/bench

# Plugins for QEMU's emulator: they watch the very image run.
PLUGIN_SOURCES := $(wildcard tests/qemu/*.c)
PLUGINS := $(PLUGIN_SOURCES:tests/qemu/%.c=$(BUILD)/qemu/%.so)

$(PLUGINS): $(BUILD)/qemu/%.so: tests/qemu/%.c | tools
	$(call say,CC   $<)
	$(Q)mkdir -p $(@D)
	$(Q)$(HOST_CC) $(HOST_CFLAGS) -Wno-missing-prototypes -O2 -fPIC -shared -MMD -MP -o $@ $<

-include $(PLUGINS:.so=.d)

# Applications for the firmware that boots the image in the tests: each is one C file and, if it is
# there, the assembly file of the same name.
LOADER_SOURCES := $(wildcard tests/qemu/loaders/*.c)
LOADERS := $(LOADER_SOURCES:tests/qemu/loaders/%.c=$(BUILD)/qemu/%.efi)
$(BUILD)/efi/tests/qemu/loaders/%.c.o: EFI_CFLAGS += $(UEFI_CFLAGS)

define loader_objects
$(BUILD)/qemu/$(1).elf: \
    $(patsubst %,$(BUILD)/efi/%.o,$(wildcard tests/qemu/loaders/$(1).[cS]))
endef
$(foreach loader,$(LOADERS),$(eval $(call loader_objects,$(basename $(notdir $(loader))))))

$(LOADERS:.efi=.elf): linker/ironchase.lds $(PICOLIBC)
	$(call say,LINK $@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(EFI_LDFLAGS) -o $@ $(GNU_EFI_LIB)/crt0-efi-x86_64.o $(filter %.o,$^) \
	    $(GNU_EFI_LIB)/libgnuefi.a $(PICOLIBC) -lgcc

$(LOADERS): %.efi: %.elf linker/make_pe.py linker/sbat.csv
	$(Q)$(PYTHON) linker/make_pe.py $< linker/sbat.csv $@

-include $(LOADER_SOURCES:%=$(BUILD)/efi/%.d)

.PHONY: unit model plugins loaders
loaders: $(LOADERS)
unit: $(UNIT_PROGRAMS)
model: $(MODEL_PROGRAMS) $(BUILD)/model/libhost.a
plugins: $(PLUGINS)

# ---- tests --------------------------------------------------------------------------------------

VENV := $(BUILD)/venv

$(VENV)/ready: tests/requirements.txt | tools
	@echo "  VENV $(VENV)"
	$(Q)rm -rf $(VENV)
	$(Q)$(PYTHON) -m venv $(VENV)
	$(Q)$(VENV)/bin/pip install --quiet --requirement tests/requirements.txt
	$(Q)touch $@

# What lint tells the compilers' front ends: the image's flags, and the host's for tests/.
IMAGE_LINT_CFLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -nostdlibinc -mno-avx \
                     -isystem $(BUILD)/picolibc/include -I. -I$(BUILD)/generated $(UEFI_CFLAGS)
HOST_LINT_CFLAGS := $(filter-out -Wmissing-prototypes,$(HOST_CFLAGS))

$(BUILD)/lint.flags: force
	$(call write_if_changed,'image $(IMAGE_LINT_CFLAGS)' 'host $(HOST_LINT_CFLAGS)')

.PHONY: test
test:
	@tests/packages.sh install build image run hosted test lint
	@$(MAKE) $(VENV)/ready
	+@$(VENV)/bin/python tests/run_tests.py --make "$(MAKE)" --build $(BUILD) $(SUITES)

.PHONY: lint
lint:
	@tests/packages.sh install build hosted lint
	@$(MAKE) $(BUILD)/lint.flags $(PICOLIBC) $(VERSION_H)
	@$(PYTHON) tests/lint/lint.py $(BUILD)

.PHONY: format
format:
	@tests/packages.sh install lint
	@$(PYTHON) tests/lint/lint.py --format $(BUILD)

# ---- the rest -----------------------------------------------------------------------------------

.PHONY: clean
clean:
	rm -rf $(BUILD)

.PHONY: help
help:
	@printf '%s\n' \
	    'make              build/ironchase.efi, the application' \
	    'make run          builds, boots a copy of the image in QEMU, and brings the results to' \
	    '                  build/run/; SET="suite=smoke experiments=chase" passes settings, values' \
	    '                  with blanks in quotes of their own' \
	    'make test         everything that is tested; SUITES=unit (or pytest) for a part' \
	    'make image        build/ironchase.img, the image of a USB stick' \
	    'make usb DEV=/dev/sdX' \
	    '                  writes the image to a stick' \
	    'make hosted       build/hosted/ironchase, the same measurements as a program of Linux;' \
	    '                  its --help tells the rest' \
	    'make bench        the same beside other programs, as a table; PEERS=dir has chase.c, e3.c,' \
	    '                  multichase; RUNS=12 lets them take turns, LARGEST=64M ends the curve' \
	    'make lint         clang-format, clang-tidy, cppcheck, shellcheck, include rules' \
	    'make format       lays the sources out with clang-format' \
	    'make clean        removes build/' \
	    '' \
	    'V=1 shows commands. PICOLIBC_SRC=dir builds picolibc from a source tree of yours.'
