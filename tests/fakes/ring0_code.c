/* The assembly of hw/ as it stands, so that host programs run it under tests/fakes/ring0.c. Only
 * hw/insn.S is not here: tests/fakes/processor.c stands in for that one.
 * The assembler takes lines that begin with # for comments; what hw/window.S has from the C
 * preprocessor is given to it here. */
#include "hw/window_path.h"

#define TEXT_OF(value)    #value
#define PASS(name, value) __asm__(".set " name ", " TEXT_OF(value) "\n")

PASS("PATH_INSIDE_GDT", PATH_INSIDE_GDT);
PASS("PATH_INSIDE_IDT", PATH_INSIDE_IDT);
PASS("PATH_INSIDE_TR", PATH_INSIDE_TR);
PASS("PATH_INSIDE_CR4", PATH_INSIDE_CR4);
PASS("PATH_INSIDE_CR3", PATH_INSIDE_CR3);
PASS("PATH_INSIDE_SP", PATH_INSIDE_SP);
PASS("PATH_FOUND_GDT", PATH_FOUND_GDT);
PASS("PATH_FOUND_IDT", PATH_FOUND_IDT);
PASS("PATH_FOUND_TR", PATH_FOUND_TR);
PASS("PATH_FOUND_CR4", PATH_FOUND_CR4);
PASS("PATH_FOUND_CR3", PATH_FOUND_CR3);
PASS("PATH_FOUND_SP", PATH_FOUND_SP);
PASS("PATH_WAY_OUT_SP", PATH_WAY_OUT_SP);

__asm__(".pushsection .text\n"
        ".include \"hw/window.S\"\n"
        ".include \"hw/trap.S\"\n"
        ".include \"hw/provoke.S\"\n"
        ".popsection\n");
