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
ifeq ($(filter -j% --jobserver%,$(MAKEFLAGS)),)
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

# ---- flags ----------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Werror -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wundef -Wvla -Wwrite-strings

# How code of the image is generated; picolibc gets exactly these. No red zone: interrupts use the
# stack they find. No AVX: the firmware does not switch it on.
CODEGEN := -O2 -g -fPIE -fvisibility=hidden -mno-red-zone -mno-avx -fno-stack-protector \
           -fcf-protection=none -fno-asynchronous-unwind-tables -ffunction-sections \
           -fdata-sections

# The frame limit is for the image: firmware promises 128 KiB of stack and uses some itself.
EFI_CFLAGS := -std=c11 $(CODEGEN) $(WARNINGS) -Wframe-larger-than=1024 -fno-common \
              -ffile-prefix-map=$(CURDIR)/= -nostdinc -isystem $(shell $(CC) -print-file-name=include) \
              -isystem $(BUILD)/picolibc/include -I. -I$(BUILD)/generated
EFI_ASFLAGS := -g -ffile-prefix-map=$(CURDIR)/= -I. -Wa,--noexecstack
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

# ---- sources --------------------------------------------------------------------------------------

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

# ---- the C library --------------------------------------------------------------------------------

# Missing tools are named before anything is tried.
.PHONY: tools
tools:
	@tests/packages.sh check build

$(PICOLIBC): linker/picolibc.sh linker/picolibc.txt $(BUILD)/picolibc.flags | tools
	@linker/picolibc.sh $(BUILD) "$(CC)" "$(CODEGEN)"
	@touch $@

# A file that changes only when its text does.
define write_if_changed
@mkdir -p $(@D); printf '%s\n' $(1) >$@.new; \
if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
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

# ---- the application ------------------------------------------------------------------------------

$(BUILD)/efi/boot/uefi/%.c.o: EFI_CFLAGS += $(UEFI_CFLAGS)

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

# ---- host unit tests ------------------------------------------------------------------------------

# Everything but boot/uefi/ links into a host program. What only the bare machine can do (hw/*.S) is
# taken from tests/fakes/ there.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
HOST_CFLAGS := -std=c11 -O1 -g $(WARNINGS) -D_GNU_SOURCE -I. -I$(BUILD)/generated
UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNIT_PROGRAMS := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/unit/%)
UNIT_LIBRARY_OBJECTS := $(patsubst %,$(BUILD)/unit/%.o,$(PORTABLE_SOURCES) $(wildcard tests/fakes/*.c))

$(BUILD)/unit/%.c.o: %.c $(BUILD)/unit.flags | $(VERSION_H)
	$(call say,CC   $< (host))
	$(Q)mkdir -p $(@D)
	$(Q)$(HOST_CC) $(HOST_CFLAGS) $(SANITIZE) -MMD -MP -c $< -o $@

$(BUILD)/unit/%.S.o: %.S | tools
	$(call say,AS   $< (host))
	$(Q)mkdir -p $(@D)
	$(Q)$(HOST_CC) -g -I. -Wa,--noexecstack -MMD -MP -c $< -o $@

$(BUILD)/unit.flags: force
	$(call write_if_changed,'$(HOST_CC) $(HOST_CFLAGS) $(SANITIZE)')

$(BUILD)/unit/libhost.a: $(UNIT_LIBRARY_OBJECTS)
	$(Q)rm -f $@
	$(Q)ar rcs $@ $(UNIT_LIBRARY_OBJECTS)

$(UNIT_PROGRAMS): $(BUILD)/unit/%: $(BUILD)/unit/tests/unit/%.c.o $(BUILD)/unit/libhost.a
	$(call say,LINK $@)
	$(Q)$(HOST_CC) $(SANITIZE) -o $@ $^ -lcmocka -lm

.PHONY: unit
unit: $(UNIT_PROGRAMS)

-include $(UNIT_LIBRARY_OBJECTS:.o=.d) $(UNIT_SOURCES:%=$(BUILD)/unit/%.d)

.PHONY: clean
clean:
	rm -rf $(BUILD)
