/* Names and variants of the results: every name is there, once, and as the files promise. */
#include "kernels/kernel.h"
#include "kernels/result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* As the files' columns are fixed: in this order, and in no other. */
static const char *const promised[VARIANT_KEYS] = {
    "working_set", "page_size",    "order",  "chains", "prefetchers", "placement", "node",
    "operation",   "accumulators", "lines",  "stride", "data",        "branch",    "period",
    "targets",     "depth",        "pages",  "state",  "access",      "layout",    "pad",
    "partitions",  "rows",         "keys",   "skew",   "vector",      "level",     "store_size",
    "load_size",   "registers",    "offset", "pass",
};

static void test_variant_names(void **state)
{
    (void)state;
    for (unsigned key = 0; key < VARIANT_KEYS; key++) {
        assert_string_equal(variant_name[key], promised[key]);
    }
}

static void expect_names(const char *const *name, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_non_null(name[i]);
        assert_true(strlen(name[i]) > 0);
        assert_int_equal(strspn(name[i], "abcdefghijklmnopqrstuvwxyz0123456789_-"),
                         strlen(name[i]));
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(name[i], name[j]);
        }
    }
}

static void test_other_names(void **state)
{
    (void)state;
    expect_names(counter_name, COUNTERS);
    expect_names(flag_name, FLAGS);
    expect_names(placement_name, PLACINGS);
    expect_names(experiment_status_name, EXPERIMENT_FAILED + 1);
    expect_names(run_status_name, RUN_FAILED + 1);
    assert_string_equal(placement_name[PLACED_IN_ORDER], "in-order");
    assert_string_equal(counter_name[C_DRAM_READ], "dram_read");
    assert_string_equal(flag_name[FLAG_SUSPECT], "suspect");
}

static void test_variant_is_set(void **state)
{
    struct variant variant = { .present = 0 };
    (void)state;
    for (unsigned key = 0; key < VARIANT_KEYS; key++) {
        assert_false(variant_has(&variant, key));
        if (variant_is_text(key)) {
            variant_set_text(&variant, key, "text");
            assert_string_equal(variant.value[key].text, "text");
        } else {
            variant_set_number(&variant, key, 1ull << 40);
            assert_int_equal(variant.value[key].number, 1ull << 40);
        }
        assert_true(variant_has(&variant, key));
    }
    assert_int_equal(variant.present, (1ull << VARIANT_KEYS) - 1);
}

static void test_variant_equal(void **state)
{
    char random[] = "random"; /* the same text at another place */
    struct variant a = { .present = 0 }, b = { .present = 0 };
    (void)state;
    assert_true(variant_equal(&a, &b));
    variant_set_number(&a, V_WORKING_SET, 4096);
    assert_false(variant_equal(&a, &b));
    variant_set_number(&b, V_WORKING_SET, 8192);
    assert_false(variant_equal(&a, &b));
    variant_set_number(&b, V_WORKING_SET, 4096);
    variant_set_text(&a, V_ORDER, "random");
    variant_set_text(&b, V_ORDER, random);
    assert_true(variant_equal(&a, &b));
    variant_set_text(&b, V_ORDER, "sequential");
    assert_false(variant_equal(&a, &b));
    b.value[V_ORDER].text = random;
    b.value[V_LINES].number = 5; /* not present: does not count */
    assert_true(variant_equal(&a, &b));
}

static void test_kernels(void **state)
{
    (void)state;
    for (const struct kernel *const *kernel = kernel_table; *kernel != NULL; kernel++) {
        expect_names(&(*kernel)->name, 1);
        assert_ptr_equal(kernel_named((*kernel)->name), *kernel);
        assert_non_null((*kernel)->list);
        assert_non_null((*kernel)->unit);
    }
    assert_non_null(kernel_named("chase"));
    assert_null(kernel_named("chas"));
    assert_null(kernel_named(""));
}

static void test_list_is_never_overrun(void **state)
{
    struct measurement item[3] = { { .bytes = 0 } };
    struct measurement_list list = { item, 0, 2, 0 };
    const struct measurement measurement = { .bytes = 7 };
    (void)state;
    assert_true(measurement_add(&list, &measurement));
    assert_true(measurement_add(&list, &measurement));
    assert_false(measurement_add(&list, &measurement));
    assert_false(measurement_add(&list, &measurement));
    assert_int_equal(list.count, 2);
    assert_int_equal(list.lost, 2);
    assert_int_equal(item[1].bytes, 7);
    assert_int_equal(item[2].bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variant_names),  cmocka_unit_test(test_other_names),
        cmocka_unit_test(test_variant_is_set), cmocka_unit_test(test_variant_equal),
        cmocka_unit_test(test_kernels),        cmocka_unit_test(test_list_is_never_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
