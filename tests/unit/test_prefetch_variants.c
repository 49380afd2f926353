/* In which ways a measurement is taken: as the suite wants it or as the settings ask, what a
 * machine does not let us do with its reason, and names that no machine of this kind has. */
#include "kernels/prefetch_variants.h"

#include "boot/plan.h"
#include "boot/plan_prefetchers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct machine machine;
static struct settings settings;
static const struct kernel *const no_kernels[] = { NULL };

/* A Golden Cove whose second switch refuses. */
static int fresh(void **state)
{
    (void)state;
    machine = (struct machine){
        .prefetchers = { .switches = 5,
                         .name = { "l2_stream", "l2_adjacent", "dcu", "dcu_ip", "l2_amp" },
                         .works = 0x1D,
                         .reason = "some refuse" },
    };
    settings_defaults(&settings, no_kernels);
    return 0;
}

static void ask(const char *assignment)
{
    const struct setting_place place = { SOURCE_SMBIOS, "SMBIOS", 0 };
    settings_assign(&settings, &place, assignment);
    assert_true(settings_ok(&settings));
}

enum { ROOM = 8 };
static struct measurement item[ROOM];

/* The ways of a measurement that suits so, as "found off!": what is skipped has a "!". */
static const char *ways(enum prefetching suits)
{
    static char text[256];
    struct scope scope = { .machine = &machine };
    struct measurement_list list = { .item = item, .room = ROOM };
    const struct measurement measurement = { .bytes = 4096, .build_seconds = 2, .data = 3 };
    scope.prefetcher_choices = plan_prefetchers(&settings, &machine, scope.prefetchers);
    assert_true(prefetch_add(&scope, &measurement, suits, &list));
    text[0] = '\0';
    for (size_t i = 0; i < list.count; i++) {
        const size_t length = strlen(text);
        assert_int_equal(item[i].bytes, 4096);
        assert_int_equal(item[i].data, 3);
        (void)snprintf(text + length, sizeof text - length, "%s%s%s", i > 0 ? " " : "",
                       item[i].variant.value[V_PREFETCHERS].text, item[i].skip != NULL ? "!" : "");
    }
    return text;
}

static void test_what_the_suite_wants(void **state)
{
    (void)state;
    assert_string_equal(ways(PREFETCH_FOUND), "found");
    assert_int_equal(item[0].conditions.prefetchers_off, 0);
    assert_string_equal(ways(PREFETCH_BOTH), "found off");
    assert_int_equal(item[1].conditions.prefetchers_off, UINT32_MAX);
    assert_string_equal(ways(PREFETCH_OFF), "off");
    assert_int_equal(item[0].conditions.prefetchers_off, UINT32_MAX);
}

static void test_no_switch(void **state)
{
    (void)state;
    machine.prefetchers = (struct prefetcher_facts){ .reason = "a hypervisor" };
    assert_string_equal(ways(PREFETCH_FOUND), "found");
    assert_string_equal(ways(PREFETCH_BOTH), "found off!");
    assert_string_equal(item[1].skip, "a hypervisor");
    assert_string_equal(ways(PREFETCH_OFF), "found");
    ask("prefetchers=off:dcu+anything,found");
    assert_string_equal(ways(PREFETCH_FOUND), "off:dcu+anything! found");
    assert_string_equal(item[0].skip, "a hypervisor");
    plan_check_prefetchers(&settings, &machine); /* nobody can tell that a name is wrong */
    assert_true(settings_ok(&settings));
    machine.prefetchers.reason = NULL; /* nobody has looked */
    assert_string_equal(ways(PREFETCH_BOTH), "off:dcu+anything! found");
    assert_non_null(item[0].skip);
}

static void test_what_the_settings_ask(void **state)
{
    (void)state;
    ask("prefetchers = off:dcu_ip+L2_stream, off, found");
    for (enum prefetching suits = PREFETCH_FOUND; suits <= PREFETCH_OFF; suits++) {
        assert_string_equal(ways(suits), "off:dcu_ip+l2_stream off found");
        assert_int_equal(item[0].conditions.prefetchers_off, 1u << 3 | 1u);
        assert_int_equal(item[1].conditions.prefetchers_off, UINT32_MAX);
        assert_int_equal(item[2].conditions.prefetchers_off, 0);
    }
    ask("prefetchers=off:dcu,off:dcu+l2_adjacent");
    assert_string_equal(ways(PREFETCH_FOUND), "off:dcu off:dcu+l2_adjacent!");
    assert_string_equal(item[1].skip, "some refuse");
    plan_check_prefetchers(&settings, &machine); /* it is there, and does not work */
    assert_true(settings_ok(&settings));
}

/* The data is built by the first that is measured, and counted once. */
static void test_built_once(void **state)
{
    (void)state;
    (void)ways(PREFETCH_BOTH);
    assert_true(item[0].build_seconds == 2 && item[1].build_seconds == 0);
    ask("prefetchers=off:l2_adjacent,off,found");
    assert_string_equal(ways(PREFETCH_BOTH), "off:l2_adjacent! off found");
    assert_true(item[1].build_seconds == 2 && item[2].build_seconds == 0);
}

static void test_reason_stays_and_room_is_kept(void **state)
{
    (void)state;
    const struct scope scope = { .machine = &machine };
    struct measurement_list list = { .item = item, .room = 1 };
    const struct measurement measurement = { .skip = "no such page" };
    machine.prefetchers.works = 0;
    assert_false(prefetch_add(&scope, &measurement, PREFETCH_BOTH, &list));
    assert_int_equal(list.count, 1);
    assert_int_equal(list.lost, 1);
    assert_string_equal(item[0].skip, "no such page");
}

static void test_unknown_names(void **state)
{
    (void)state;
    ask("prefetchers=off:dcu,off:dcu+l1_region,off:l2_steam,found");
    plan_check_prefetchers(&settings, &machine);
    assert_int_equal(settings.errors, 2);
    assert_string_equal(settings.error[0],
                        "SMBIOS: prefetchers = \"off:dcu+l1_region\": the prefetchers of this "
                        "machine are l2_stream, l2_adjacent, dcu, dcu_ip, l2_amp");
    assert_non_null(strstr(settings.error[1], "\"off:l2_steam\""));
}

/* The plan asks a kernel for these, and leaves out what it lists beside them; what has no
 * prefetchers in it is measured whatever the settings ask for. */
static void list_some(const struct scope *scope, const struct kernel *self,
                      struct measurement_list *out)
{
    struct measurement plain = { .kernel = self, .data = 1 };
    struct measurement own = plain;
    variant_set_text(&own.variant, V_PREFETCHERS, "found");
    (void)measurement_add(out, &plain);
    (void)measurement_add(out, &own);
    (void)prefetch_add(scope, &plain, PREFETCH_FOUND, out);
}

static void test_plan(void **state)
{
    (void)state;
    static const enum variant_key columns[] = { VARIANT_KEYS };
    static const struct kernel some = { .name = "some", .list = list_some, .columns = columns };
    static const struct kernel *const kernels[] = { &some, NULL };
    static struct plan plan;
    settings_defaults(&settings, kernels);
    ask("prefetchers=off:dcu");
    assert_int_equal(plan_count(&settings, &machine), 3);
    plan_make(&plan, &settings, &machine, item, ROOM);
    assert_null(item[0].skip);
    assert_string_equal(item[1].skip, "the settings ask for other prefetchers");
    assert_null(item[2].skip);
    assert_int_equal(item[2].conditions.prefetchers_off, 1u << 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_the_suite_wants, fresh),
        cmocka_unit_test_setup(test_no_switch, fresh),
        cmocka_unit_test_setup(test_what_the_settings_ask, fresh),
        cmocka_unit_test_setup(test_built_once, fresh),
        cmocka_unit_test_setup(test_reason_stays_and_room_is_kept, fresh),
        cmocka_unit_test_setup(test_unknown_names, fresh),
        cmocka_unit_test_setup(test_plan, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
