/* The self-test itself, on real pages of this program under a scripted ring 0: it passes where all
 * is well, and each thing that can be wrong fails the check that is there for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "boot/selftest.h"
#include "hw/vector.h"
#include "tests/fakes/processor.h"
#include "tests/fakes/ring0.h"

#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

/* Guard page, stack, a read-only page, a data page, and one that is not there. */
enum { STACK_PAGES = 8, READ_ONLY = 1 + STACK_PAGES, DATA, HOLE, PAGES };

static uint8_t *pages;
static void *low_memory;
static struct processor processor;
static struct selftest test;
static struct check check[SELFTEST_CHECKS];
static size_t checks;

static uint64_t page(unsigned number)
{
    return (uint64_t)(uintptr_t)pages + (uint64_t)number * PAGE_4K;
}

static void protect(unsigned number, int protection)
{
    assert_int_equal(mprotect((void *)(uintptr_t)page(number), PAGE_4K, protection), 0);
}

static void script_processor(void)
{
    processor_reset();
    *processor_cpuid(0, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 0xD };
    *processor_cpuid(1, ANY_SUBLEAF) = (struct cpuid_regs){ .ecx = 1U << 26 };
    *processor_cpuid(0xD, 0) = (struct cpuid_regs){ .eax = 7 };
    *processor_cpuid(0x80000000, ANY_SUBLEAF) = (struct cpuid_regs){ .eax = 0x80000000 };
    processor_set_xcr0(7, 1);
    processor_msr(0xC0000080)->value = 0xD00;
    processor_msr(0xC0000080)->reserved = ~UINT64_C(0xD01);
    processor_msr(0xC0010117)->reserved = 0xFFF;
}

static int take_memory(void **state)
{
    (void)state;
    low_memory = mmap(NULL, window_bytes(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    pages = mmap(NULL, (size_t)PAGES * PAGE_4K, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
    return low_memory == MAP_FAILED || pages == MAP_FAILED;
}

static int set_up(void **state)
{
    (void)state;
    script_processor();
    ring0_reset();
    protect(0, PROT_NONE);
    protect(READ_ONLY, PROT_READ);
    protect(DATA, PROT_READ | PROT_WRITE);
    protect(HOLE, PROT_NONE);
    processor = (struct processor){ .vendor = "GenuineIntel" };
    test = (struct selftest){
        .processor = &processor,
        .windows = 2, /* each costs thousands of single steps */
        .place = { .view = { 0x00ABC000, 4, page(READ_ONLY) },
                   .stack_bytes = (size_t)STACK_PAGES * PAGE_4K,
                   .unmapped = page(HOLE) + 8,
                   .read_only = page(READ_ONLY) + 16,
                   .no_execute = page(DATA) + 32 },
    };
    return 0;
}

static void run_body(void *arg)
{
    const char *reason = NULL;
    (void)arg;
    if (window_prepare(&test.window, low_memory, window_bytes(), &reason) == OK) {
        checks = selftest_run(&test, check, SELFTEST_CHECKS);
    }
}

/* Bodies that faulted leave marks of the address sanitizer on the stack they abandoned. */
static void forget_marks(void *self)
{
    ++*(unsigned *)self;
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region((void *)(uintptr_t)page(1), (size_t)STACK_PAGES * PAGE_4K);
#endif
}

static void run(void)
{
    unsigned turns = 0;
    checks = 0;
    test.idle = forget_marks;
    test.idle_self = &turns;
    ring0_run(run_body, NULL);
    assert_null(ring0()->died);
    assert_true(turns >= checks);
}

static const struct check *named(const char *name)
{
    for (size_t i = 0; i < checks; i++) {
        if (strcmp(check[i].name, name) == 0) {
            return &check[i];
        }
    }
    return NULL;
}

static const char *text_of(const char *name)
{
    const struct check *found = named(name);
    return found ? found->text : "";
}

/* All checks pass but this one (NULL: all do). */
static void assert_only_failure(const char *name)
{
    for (size_t i = 0; i < checks; i++) {
        if (check[i].ok != (!name || strcmp(check[i].name, name) != 0)) {
            fail_msg("%s: %s", check[i].name, check[i].text);
        }
    }
    assert_true(!name || named(name));
}

static void test_all_is_well(void **state)
{
    (void)state;
    test.windows = SELFTEST_WINDOWS;
    run();
    assert_only_failure(NULL);
    assert_int_equal(checks, 11);
    assert_true(checks <= SELFTEST_CHECKS);
    assert_non_null(strstr(text_of("page fault: read"), "vector 14, code 0h"));
    assert_non_null(strstr(text_of("stack overflow"), "vector 14, code 2h"));
    assert_non_null(strstr(text_of("many windows"), "100 windows"));
    /* On this processor the refused register is EFER, not the one of AMD's. */
    assert_int_equal(processor_count(ACCESS_RDMSR, 0xC0010117), 0);
    assert_int_equal(processor_msr(0xC0000080)->value, 0xD00);
}

static void test_what_the_processor_lacks_is_left_out(void **state)
{
    (void)state;
    test.place.no_execute = 0;
    processor_cpuid(1, ANY_SUBLEAF)->ecx = 0;
    memcpy(processor.vendor, "AuthenticAMD", sizeof processor.vendor);
    run();
    assert_only_failure(NULL);
    assert_null(named("page fault: execute"));
    assert_null(named("vector registers"));
    assert_int_not_equal(processor_count(ACCESS_RDMSR, 0xC0010117), 0);
}

static void test_page_that_can_be_written(void **state)
{
    (void)state;
    protect(READ_ONLY, PROT_READ | PROT_WRITE);
    run();
    assert_only_failure("page fault: write");
    assert_non_null(strstr(text_of("page fault: write"), "no fault"));
}

static void test_page_that_can_be_executed(void **state)
{
    (void)state;
    memset((void *)(uintptr_t)page(DATA), 0xC3, PAGE_4K); /* ret */
    protect(DATA, PROT_READ | PROT_WRITE | PROT_EXEC);
    run();
    assert_only_failure("page fault: execute");
}

static void test_no_guard_page(void **state)
{
    (void)state;
    test.place.stack_bytes -= PAGE_4K; /* the stack is larger than was promised */
    run();
    assert_only_failure("stack overflow");
    assert_non_null(strstr(text_of("stack overflow"), "not what was provoked"));
}

static void test_register_that_takes_anything(void **state)
{
    (void)state;
    processor_msr(0xC0000080)->reserved = 0;
    run();
    assert_only_failure("refused register"); /* the bare WRMSR is the host's, and faults */
    assert_int_equal(processor_msr(0xC0000080)->value, 0xD00);
}

static void test_vectors_that_are_refused(void **state)
{
    (void)state;
    processor_set_xcr0(3, 1);
    run();
    assert_only_failure("vector registers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all_is_well, set_up),
        cmocka_unit_test_setup(test_what_the_processor_lacks_is_left_out, set_up),
        cmocka_unit_test_setup(test_page_that_can_be_written, set_up),
        cmocka_unit_test_setup(test_page_that_can_be_executed, set_up),
        cmocka_unit_test_setup(test_no_guard_page, set_up),
        cmocka_unit_test_setup(test_register_that_takes_anything, set_up),
        cmocka_unit_test_setup(test_vectors_that_are_refused, set_up),
    };
    return cmocka_run_group_tests(tests, take_memory, NULL);
}
