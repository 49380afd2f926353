/* Settings: every key and value, the three sources and their precedence, and every complaint. */
#include "boot/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct kernel chase = { .name = "chase" };
static const struct kernel mlp = { .name = "mlp" };
static const struct kernel secret = { .name = "secret", .only_by_name = true };
static const struct kernel *const kernels[] = { &chase, &mlp, &secret, NULL };

static struct settings settings;

static int fresh(void **state)
{
    (void)state;
    settings_defaults(&settings, kernels);
    return 0;
}

static void read_file(const char *text)
{
    settings_read_file(&settings, text, strlen(text), "ironchase.cfg");
}

/* Load options as a UEFI shell passes them. */
static void read_options(const char *text)
{
    uint16_t units[SETTINGS_REPEAT_LINE];
    size_t count = 0;
    do {
        units[count] = (uint16_t)(unsigned char)text[count];
    } while (text[count++] != '\0');
    settings_read_options(&settings, units, count);
}

static const char *value_of(enum setting_id id)
{
    return settings.origin[id].value;
}

static void assert_value(enum setting_id id, const char *value, const char *place)
{
    assert_string_equal(value_of(id), value);
    assert_string_equal(settings.origin[id].place, place);
}

/* Exactly this complaint, and no other. */
static void assert_complaint(const char *text)
{
    assert_int_equal(settings.errors, 1);
    assert_string_equal(settings.error[0], text);
    assert_false(settings_ok(&settings));
    settings_defaults(&settings, kernels);
}

static void assert_wrong(const char *line)
{
    read_file(line);
    if (settings.errors != 1) {
        fail_msg("%zu complaints about %s", settings.errors, line);
    }
    settings_defaults(&settings, kernels);
}

/* A valid line; settings hold it until the next one. */
static void take(const char *line)
{
    settings_defaults(&settings, kernels);
    read_file(line);
    if (settings.errors != 0) {
        fail_msg("%s", settings.error[0]);
    }
}

static void test_defaults(void **state)
{
    (void)state;
    assert_true(settings_ok(&settings));
    assert_int_equal(settings.suite, SUITE_QUICK);
    assert_true(settings.all_experiments);
    assert_false(settings.selftest);
    assert_int_equal(settings.experiments, 3);
    assert_int_equal(settings.max_working_set, 0);
    assert_int_equal(settings.page_sizes, 0);
    assert_int_equal(settings.prefetcher_choices, 0);
    assert_int_equal(settings.repetitions, 0);
    assert_int_equal(settings.seed, 1);
    assert_int_equal(settings.numa, NUMA_ALL);
    assert_int_equal(settings.counters, CHOICE_AUTO);
    assert_int_equal(settings.topdown, CHOICE_AUTO);
    assert_int_equal(settings.frequency, FREQUENCY_FOUND);
    assert_int_equal(settings.time_limit, 0);
    assert_int_equal(settings.noise_seconds, 0);
    assert_int_equal(settings.samples, 0);
    assert_int_equal(settings.repeat, 1);
    assert_int_equal(settings.serial.kind, SERIAL_AUTO);
    assert_int_equal(settings.countdown, 5);
    assert_int_equal(settings.save, 1);
    assert_string_equal(settings.name, "");
    assert_int_equal(settings.on_finish, FINISH_MENU);
    assert_int_equal(settings.dry_run, 0);
    for (size_t i = 0; i < SETTINGS; i++) {
        assert_value((enum setting_id)i, setting_table[i].preset, "default");
    }
}

static void test_every_key_of_a_file(void **state)
{
    (void)state;
    take("suite = full\nexperiments = mlp , secret\nmax_working_set = 64M\npage_sizes = 4K, 1G\n"
         "prefetchers = found,off:l2_stream+dcu_ip\nrepetitions = 7\nseed = 0x10\nnuma = local\n"
         "counters = off\ntopdown = off\nfrequency = max\ntime_limit = 60\nnoise_seconds = 2\n"
         "samples = yes\nrepeat = 3\nserial = com2,57600\ncountdown = 0\nsave = no\n"
         "name = Rack 3, slot 7\non_finish = qemu-exit\ndry_run = yes");
    assert_int_equal(settings.suite, SUITE_FULL);
    assert_int_equal(settings.experiments, 6);
    assert_false(settings.all_experiments);
    assert_int_equal(settings.max_working_set, 64 * MIB);
    assert_int_equal(settings.page_sizes, 1u << SIZE_4K | 1u << SIZE_1G);
    assert_int_equal(settings.prefetcher_choices, 2);
    assert_string_equal(settings.prefetchers[0], "found");
    assert_string_equal(settings.prefetchers[1], "off:l2_stream+dcu_ip");
    assert_int_equal(settings.repetitions, 7);
    assert_int_equal(settings.seed, 16);
    assert_int_equal(settings.numa, NUMA_LOCAL);
    assert_int_equal(settings.counters, CHOICE_OFF);
    assert_int_equal(settings.topdown, CHOICE_OFF);
    assert_int_equal(settings.frequency, FREQUENCY_MAX);
    assert_int_equal(settings.time_limit, 60);
    assert_int_equal(settings.noise_seconds, 2);
    assert_int_equal(settings.samples, 1);
    assert_int_equal(settings.repeat, 3);
    assert_int_equal(settings.serial.kind, SERIAL_PORT);
    assert_int_equal(settings.serial.address, 0x2f8);
    assert_int_equal(settings.serial.baud, 57600);
    assert_int_equal(settings.countdown, 0);
    assert_int_equal(settings.save, 0);
    assert_string_equal(settings.name, "Rack 3, slot 7");
    assert_int_equal(settings.on_finish, FINISH_QEMU_EXIT);
    assert_int_equal(settings.dry_run, 1);
    assert_value(SETTING_EXPERIMENTS, "mlp,secret", "ironchase.cfg:2");
    assert_value(SETTING_DRY_RUN, "yes", "ironchase.cfg:21");
}

static void test_words(void **state)
{
    (void)state;
    static const char *const suites[] = { "quick", "full", "smoke" };
    static const char *const finishes[] = { "menu", "exit", "reboot", "shutdown", "qemu-exit" };
    char line[64];
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(line, sizeof line, "suite=%s", suites[i]);
        take(line);
        assert_int_equal(settings.suite, i);
    }
    for (unsigned i = 0; i < 5; i++) {
        (void)snprintf(line, sizeof line, "on_finish=%s", finishes[i]);
        take(line);
        assert_int_equal(settings.on_finish, i);
    }
    take("frequency = base");
    assert_int_equal(settings.frequency, FREQUENCY_BASE);
    take("Suite = SMOKE");
    assert_int_equal(settings.suite, SUITE_SMOKE);
    assert_value(SETTING_SUITE, "smoke", "ironchase.cfg:1");
    fresh(NULL);
    assert_wrong("suite = ");
    assert_wrong("suite = quick full");
    assert_wrong("save = 1");
    assert_wrong("numa = 0");
    assert_wrong("on_finish = halt");
}

static void test_numbers(void **state)
{
    (void)state;
    take("seed = 18446744073709551615");
    assert_true(settings.seed == UINT64_MAX);
    take("seed = 0");
    assert_int_equal(settings.seed, 0);
    take("seed = 0xFFFFFFFFFFFFFFFF");
    assert_true(settings.seed == UINT64_MAX);
    assert_string_equal(value_of(SETTING_SEED), "18446744073709551615");
    take("seed = 2048");
    assert_string_equal(value_of(SETTING_SEED), "2048");
    take("repetitions = Auto");
    assert_int_equal(settings.repetitions, 0);
    assert_string_equal(value_of(SETTING_REPETITIONS), "auto");
    take("repetitions = 1000");
    assert_int_equal(settings.repetitions, 1000);
    take("countdown = 3600");
    assert_int_equal(settings.countdown, 3600);
    fresh(NULL);
    static const char *const wrong[] = {
        "seed = 18446744073709551616",
        "seed = 0x10000000000000000",
        "seed = -1",
        "seed = +1",
        "seed = 1.5",
        "seed = 1 2",
        "seed = 0x",
        "seed = abc",
        "seed = auto",
        "seed =",
        "repetitions = 0",
        "repetitions = 1001",
        "repeat = 0",
        "repeat = auto",
        "noise_seconds = 0",
        "noise_seconds = 3601",
        "countdown = 3601",
        "time_limit = 31536001",
        "time_limit = 10s",
        "seed = 99999999999999999999999999",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_wrong(wrong[i]);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint64_t bytes;
    } right[] = {
        { "max_working_set = 4096", 4096 },
        { "max_working_set = 4K", 4096 },
        { "max_working_set = 64k", 65536 },
        { "max_working_set = 64 KiB", 65536 },
        { "max_working_set = 3MB", UINT64_C(3) * MIB },
        { "max_working_set = 1gib", GIB },
        { "max_working_set = 64T", UINT64_C(1) << 46 },
        { "max_working_set = auto", 0 },
    };
    static const char *const kept[] = { "4K", "4K", "64K", "64K", "3M", "1G", "64T", "auto" };
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        take(right[i].line);
        assert_true(settings.max_working_set == right[i].bytes);
        assert_string_equal(value_of(SETTING_MAX_WORKING_SET), kept[i]);
    }
    fresh(NULL);
    static const char *const wrong[] = {
        "max_working_set = 0",         "max_working_set = 4095",
        "max_working_set = 65T",       "max_working_set = 1.5G",
        "max_working_set = 64 M 1",    "max_working_set = 64Mi",
        "max_working_set = 64MM",      "max_working_set = M",
        "max_working_set = 0x1000",    "max_working_set = 18014398509481984K",
        "max_working_set = 16777217T", "max_working_set = -4K",
        "max_working_set = 64P",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_wrong(wrong[i]);
    }
}

static void test_lists(void **state)
{
    (void)state;
    take("experiments = selftest");
    assert_true(settings.selftest);
    assert_int_equal(settings.experiments, 0);
    take("experiments = all,secret,selftest");
    assert_true(settings.selftest && settings.all_experiments);
    assert_int_equal(settings.experiments, 7);
    take("experiments = CHASE, mlp,chase");
    assert_int_equal(settings.experiments, 3);
    assert_false(settings.all_experiments);
    take("page_sizes = 1g, 4k,2M,4K");
    assert_int_equal(settings.page_sizes, 7);
    assert_string_equal(value_of(SETTING_PAGE_SIZES), "4K,2M,1G");
    take("page_sizes = auto");
    assert_int_equal(settings.page_sizes, 0);
    take("prefetchers = off, Found, off:A_1,found");
    assert_int_equal(settings.prefetcher_choices, 3); /* each once */
    assert_string_equal(settings.prefetchers[0], "off");
    assert_string_equal(settings.prefetchers[1], "found");
    assert_string_equal(settings.prefetchers[2], "off:a_1");
    assert_string_equal(value_of(SETTING_PREFETCHERS), "off,Found,off:A_1,found");
    take("prefetchers = off:a,off:b,off:c,off:d,off:e,off:f,off:g,off:h");
    assert_int_equal(settings.prefetcher_choices, PREFETCHER_CHOICES);
    take("prefetchers = auto");
    assert_int_equal(settings.prefetcher_choices, 0);
    fresh(NULL);
    static const char *const wrong[] = {
        "experiments =",
        "experiments = chase,",
        "experiments = ,chase",
        "experiments = chase mlp",
        "experiments = chase,,mlp",
        "experiments = tlb",
        "page_sizes = 8K",
        "page_sizes = 4K,auto",
        "page_sizes = 4K 2M",
        "page_sizes =",
        "prefetchers = on",
        "prefetchers = off:",
        "prefetchers = off:+a",
        "prefetchers = off:a++b",
        "prefetchers = off:a+",
        "prefetchers = off:a b",
        "prefetchers = found,",
        "prefetchers = auto,off",
        "prefetchers = off:a,off:b,off:c,off:d,off:e,off:f,off:g,off:h,off:i",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_wrong(wrong[i]);
    }
}

static void test_serial(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        struct serial_choice want;
    } right[] = {
        { "serial = auto", { SERIAL_AUTO, 0, 0 } },
        { "serial = auto,9600", { SERIAL_AUTO, 0, 9600 } },
        { "serial = off", { SERIAL_OFF, 0, 0 } },
        { "serial = com1", { SERIAL_PORT, 0x3f8, 0 } },
        { "serial = COM2 , 115200", { SERIAL_PORT, 0x2f8, 115200 } },
        { "serial = com3", { SERIAL_PORT, 0x3e8, 0 } },
        { "serial = com4", { SERIAL_PORT, 0x2e8, 0 } },
        { "serial = io:0x3f8", { SERIAL_PORT, 0x3f8, 0 } },
        { "serial = io:1016,38400", { SERIAL_PORT, 0x3f8, 38400 } },
        { "serial = mmio:0xFE034000", { SERIAL_MEMORY, 0xfe034000, 0 } },
        { "serial = mmio:0x380000000000,1200", { SERIAL_MEMORY, UINT64_C(0x380000000000), 1200 } },
    };
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        take(right[i].line);
        assert_int_equal(settings.serial.kind, right[i].want.kind);
        assert_true(settings.serial.address == right[i].want.address);
        assert_int_equal(settings.serial.baud, right[i].want.baud);
    }
    fresh(NULL);
    static const char *const wrong[] = {
        "serial =",
        "serial = com5",
        "serial = com1,",
        "serial = com1,0",
        "serial = com1,14401",
        "serial = com1,230400",
        "serial = off,9600",
        "serial = com1,9600,8n1",
        "serial = io:",
        "serial = io:0",
        "serial = io:0xfff9",
        "serial = io:0x3f8h",
        "serial = mmio:0",
        "serial = mmio:0x10000000000000",
        "serial = uart:0x3f8",
        "serial = yes",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_wrong(wrong[i]);
    }
}

static void test_name(void **state)
{
    (void)state;
    take("name = \"Rack #5\"   # the one at the window");
    assert_string_equal(settings.name, "Rack #5");
    take("name = Rack#5");
    assert_string_equal(settings.name, "Rack#5");
    take("name = Rack #5");
    assert_string_equal(settings.name, "Rack");
    take("name = B\xc3\xbcro");
    assert_string_equal(settings.name, "B\xc3\xbcro");
    take("name =");
    assert_string_equal(settings.name, "");
    take("name = 012345678901234567890123456789012345678901234567890123456789abc");
    assert_int_equal(strlen(settings.name), 63);
    fresh(NULL);
    assert_wrong("name = 012345678901234567890123456789012345678901234567890123456789abcd");
    assert_wrong("name = 5\" drive");
    assert_wrong("name = \"");
    assert_wrong("name = B\xfcro");
    settings_read_oem_string(&settings, "ironchase:name=B\xfcro");
    assert_int_equal(settings.errors, 1);
}

static void test_forms_of_a_file(void **state)
{
    (void)state;
    static const char *const same[] = {
        "suite=smoke\nseed=7",
        "suite=smoke\nseed=7\n",
        "suite=smoke\r\nseed=7\r\n",
        "suite=smoke\rseed=7\r",
        "\xef\xbb\xbfsuite=smoke\nseed=7\n",
        "  suite\t =  smoke \t\n\tseed=\t7 # seven\n",
        "# suite=full\n\n#\n   # seed = 9\nsuite=smoke#\x01\n seed=7",
    };
    static const bool valid[] = { true, true, true, true, true, true, false };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        fresh(NULL);
        read_file(same[i]);
        assert_int_equal(settings_ok(&settings), valid[i]);
        assert_int_equal(settings.seed, 7);
        assert_int_equal(settings.suite, valid[i] ? SUITE_SMOKE : SUITE_QUICK);
    }
}

/* Lines are counted the same whatever ends them. */
static void test_line_numbers(void **state)
{
    (void)state;
    static const char *const ends[] = { "\n", "\r\n", "\r" };
    for (size_t i = 0; i < 3; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "#%s%sseed=7%s%ssuite=smoke", ends[i], ends[i], ends[i],
                       ends[i]);
        fresh(NULL);
        read_file(text);
        assert_value(SETTING_SEED, "7", "ironchase.cfg:3");
        assert_value(SETTING_SUITE, "smoke", "ironchase.cfg:5");
    }
}

static void test_utf_16(void **state)
{
    (void)state;
    const uint8_t little[] = { 0xff, 0xfe, 'n', 0, 'a',  0,    'm',  0,    'e',  0, '=',  0,
                               0xfc, 0,    'x', 0, 0x3d, 0xd8, 0x00, 0xde, '\r', 0, '\n', 0 };
    settings_read_file(&settings, little, sizeof little, "ironchase.cfg");
    assert_true(settings_ok(&settings));
    assert_string_equal(settings.name, "\xc3\xbcx\xf0\x9f\x98\x80");
    fresh(NULL);
    const uint8_t big[] = { 0xfe, 0xff, 0, 's', 0, 'e', 0, 'e', 0, 'd', 0, '=', 0, '8' };
    settings_read_file(&settings, big, sizeof big, "ironchase.cfg");
    assert_true(settings_ok(&settings));
    assert_int_equal(settings.seed, 8);
    fresh(NULL); /* cut in the middle of a unit */
    settings_read_file(&settings, big, sizeof big - 1, "ironchase.cfg");
    assert_false(settings_ok(&settings));
    fresh(NULL); /* half a pair */
    const uint8_t half[] = {
        0xff, 0xfe, 'n', 0, 'a', 0, 'm', 0, 'e', 0, '=', 0, 0x3d, 0xd8, 'x', 0
    };
    settings_read_file(&settings, half, sizeof half, "ironchase.cfg");
    assert_complaint("ironchase.cfg:1: this line holds characters that are no text");
}

static void test_broken_files(void **state)
{
    (void)state;
    settings_read_file(&settings, "seed=7\nsuite=full\0\n", 19, "ironchase.cfg");
    assert_int_equal(settings.seed, 7);
    assert_complaint("ironchase.cfg:2: this line holds characters that are no text");
    settings_read_file(&settings, "", 0, "ironchase.cfg");
    settings_read_file(&settings, "\n\n", 2, "ironchase.cfg");
    assert_true(settings_ok(&settings));

    static char large[SETTINGS_FILE_MOST + 1];
    memset(large, '\n', sizeof large);
    memcpy(large, "seed=7", 6);
    settings_read_file(&settings, large, SETTINGS_FILE_MOST, "ironchase.cfg");
    assert_true(settings_ok(&settings));
    assert_int_equal(settings.seed, 7);
    fresh(NULL);
    settings_read_file(&settings, large, sizeof large, "ironchase.cfg");
    assert_complaint("ironchase.cfg: is larger than 64 KiB");

    memset(large, 'x', 1000);
    large[1000] = '\0';
    read_file(large);
    assert_complaint("ironchase.cfg:1: this line is too long");
    large[0] = '#'; /* a comment may be as long as it likes */
    read_file(large);
    assert_true(settings_ok(&settings));
    memcpy(large, "seed=", 5);
    large[5 + SETTING_TEXT - 1] = '\0';
    memset(large + 5, '0', SETTING_TEXT - 1);
    large[5 + SETTING_TEXT - 2] = '9';
    read_file(large);
    assert_int_equal(settings.seed, 9);
    fresh(NULL);
    memset(large + 5, '0', SETTING_TEXT);
    large[5 + SETTING_TEXT] = '\0';
    read_file(large);
    assert_int_equal(settings.errors, 1);
}

static void test_complaints(void **state)
{
    (void)state;
    read_file("\nsuite = fast\n");
    assert_complaint("ironchase.cfg:2: suite = \"fast\": expected quick, full or smoke");
    read_file("experiments = chase,chess");
    assert_complaint("ironchase.cfg:1: experiments = \"chase,chess\": expected all, or a list of "
                     "these names between commas: chase, mlp, secret, selftest");
    read_file("siute = full");
    assert_complaint("ironchase.cfg:1: unknown setting \"siute\"; did you mean suite?");
    read_file("page_size = 4K");
    assert_complaint("ironchase.cfg:1: unknown setting \"page_size\"; did you mean page_sizes?");
    read_file("colour = red");
    assert_complaint("ironchase.cfg:1: unknown setting \"colour\"");
    read_file("= red");
    assert_complaint("ironchase.cfg:1: unknown setting \"\"");
    read_file("a_key_that_is_longer_than_any_key_there_is = 1");
    assert_complaint("ironchase.cfg:1: unknown setting with an endless name");
    read_file("smoke");
    assert_complaint("ironchase.cfg:1: \"smoke\": expected key = value");
    read_file("seed=1\n\nseed=1");
    assert_complaint("ironchase.cfg:3: seed stands here a second time; the first is in line 1");
    settings_read_oem_string(&settings, "ironchase:suite=fast");
    assert_complaint("SMBIOS: suite = \"fast\": expected quick, full or smoke");
    settings_read_oem_string(&settings, "ironchase:smoke");
    assert_complaint("SMBIOS: \"smoke\": expected key = value");
    read_options("ironchase.efi suite=fast");
    assert_complaint("load options: suite = \"fast\": expected quick, full or smoke");
    read_file("seed = \xc3\xbc\x7e");
    assert_complaint("ironchase.cfg:1: seed = \"\?\?~\": expected a number of at most 64 bits");
    read_file("seed = 0123456789012345678901234567890123456789012345678901234567890123456789");
    assert_complaint("ironchase.cfg:1: seed = "
                     "\"012345678901234567890123456789012345678901234567890123456789012...\": "
                     "expected a number of at most 64 bits");
}

/* The first of many complaints are kept, the others counted. */
static void test_many_complaints(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SETTING_ERRORS + 5; i++) {
        read_file("nonsense");
    }
    assert_int_equal(settings.errors, SETTING_ERRORS);
    assert_int_equal(settings.errors_lost, 5);
}

/* What is right of a wrong file holds. */
static void test_valid_settings_hold(void **state)
{
    (void)state;
    read_file("on_finish = qemu-exit\nsuite = fast\nserial = com2\nserial = com3\n");
    assert_int_equal(settings.errors, 2);
    assert_int_equal(settings.on_finish, FINISH_QEMU_EXIT);
    assert_int_equal(settings.serial.address, 0x2f8);
    assert_int_equal(settings.suite, SUITE_QUICK);
}

static void test_precedence(void **state)
{
    (void)state;
    read_file("suite=full\nseed=2\nrepeat=2\n");
    settings_read_oem_string(&settings, "ironchase:seed=3");
    settings_read_oem_string(&settings, "someone else:seed=9");
    settings_read_oem_string(&settings, "");
    settings_read_oem_string(&settings, "ironchase:repeat=3");
    settings_read_oem_string(&settings, "ironchase:seed = 4 ");
    read_options("FS0:\\EFI\\BOOT\\BOOTX64.EFI repeat=5 repeat=6");
    assert_true(settings_ok(&settings));
    assert_value(SETTING_SUITE, "full", "ironchase.cfg:1");
    assert_value(SETTING_SEED, "4", "SMBIOS");
    assert_value(SETTING_REPEAT, "6", "load options");
    assert_value(SETTING_SAVE, "yes", "default");
    assert_int_equal(settings.seed, 4);
    assert_int_equal(settings.repeat, 6);
    assert_int_equal(settings.notices, 0);
    struct setting_note note[SETTINGS];
    settings_notes(&settings, note);
    assert_string_equal(note[SETTING_SEED].key, "seed");
    assert_string_equal(note[SETTING_SEED].value, "4");
    assert_string_equal(note[SETTING_SEED].source, "SMBIOS");
}

static void test_load_options(void **state)
{
    (void)state;
    read_options("\"fs1:\\my dir\\iron=chase.efi\" suite=smoke name=\"my server\" seed=3");
    assert_true(settings_ok(&settings));
    assert_int_equal(settings.suite, SUITE_SMOKE);
    assert_string_equal(settings.name, "my server");
    assert_int_equal(settings.seed, 3);
    assert_int_equal(settings.notices, 0);

    fresh(NULL); /* a path that looks like a setting */
    read_options("iron=chase.EFI seed=4");
    assert_true(settings_ok(&settings));
    assert_int_equal(settings.seed, 4);

    fresh(NULL); /* no path, a byte order mark, no NUL at the end */
    const uint16_t marked[] = { 0xfeff, 's', 'e', 'e', 'd', '=', '5' };
    settings_read_options(&settings, marked, 7);
    assert_true(settings_ok(&settings));
    assert_int_equal(settings.seed, 5);

    fresh(NULL); /* bytes instead of units */
    uint16_t bytes[16] = { 0 };
    memcpy(bytes, "x.efi seed=12345", 17);
    settings_read_options(&settings, bytes, 16);
    assert_true(settings_ok(&settings));
    assert_int_equal(settings.seed, 12345);

    fresh(NULL); /* words that are none of ours */
    read_options("BOOTX64 -nomap seed=6 (x=y) >log");
    assert_true(settings_ok(&settings));
    assert_int_equal(settings.seed, 6);
    assert_int_equal(settings.notices, 3);
    assert_string_equal(settings.notice[0],
                        "load options: ignored \"-nomap\", which is no key=value");
}

static void test_blobs_in_load_options(void **state)
{
    (void)state;
    static const uint16_t blobs[][6] = {
        { 0x0001, 's', 'e', 'e', 'd', '=' }, { 's', '=', 0x0002, 'e', 'e', 'd' },
        { 0, 0x1234, 0, 0, 0, 0 },           { 's', '=', 0xd800, 'x', 0, 0 },
        { 'a', '=', 0xffff, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof blobs / sizeof blobs[0]; i++) {
        fresh(NULL);
        settings_read_options(&settings, blobs[i], 6);
        assert_true(settings_ok(&settings));
        assert_int_equal(settings.notices, 1);
        assert_string_equal(settings.notice[0], "load options: ignored 12 bytes that are no text");
    }
    fresh(NULL);
    settings_read_options(&settings, NULL, 0);
    const uint16_t nothing = 0;
    settings_read_options(&settings, &nothing, 1);
    assert_int_equal(settings.notices, 0);

    const size_t endless = (size_t)40 * KIB;
    uint16_t *units = malloc(endless * sizeof *units);
    for (size_t i = 0; i < endless; i++) {
        units[i] = 'a';
    }
    settings_read_options(&settings, units, endless);
    assert_int_equal(settings.notices, 1);
    units[5] = '=';
    settings_read_options(&settings, units, 1000); /* a word that is too long is still wrong */
    assert_int_equal(settings.errors, 1);
    free(units);
}

static void test_what_has_no_effect_is_told(void **state)
{
    (void)state;
    settings_remark_idle(&settings);
    assert_int_equal(settings.notices, 0);
    settings_read_oem_string(&settings, "ironchase:frequency=max");
    settings_read_oem_string(&settings, "ironchase:seed=7");
    settings_remark_idle(&settings);
    assert_int_equal(settings.notices, 1);
    assert_string_equal(settings.notice[0], "SMBIOS: frequency has no effect in this version");
}

static void test_repeat_line(void **state)
{
    (void)state;
    char line[SETTINGS_REPEAT_LINE];
    assert_true(settings_repeat_line(&settings, line, sizeof line));
    assert_string_equal(line, "");
    read_file("suite=smoke\nseed=1\nexperiments = chase, mlp\nname=my server\n");
    assert_true(settings_repeat_line(&settings, line, sizeof line));
    assert_string_equal(line, "suite=smoke experiments=chase,mlp name=\"my server\"");
    fresh(NULL);
    read_options(line); /* and it runs the same again */
    assert_true(settings_ok(&settings));
    assert_string_equal(settings.name, "my server");
    assert_int_equal(settings.suite, SUITE_SMOKE);
    char small[24];
    assert_false(settings_repeat_line(&settings, small, sizeof small));
    assert_string_equal(small, "suite=smoke");
}

/* Each value as long as values can be. */
static void test_longest_repeat_line(void **state)
{
    (void)state;
    static const char *const longest[] = {
        "suite=smoke",
        "max_working_set=70368744177663",
        "page_sizes=4K,2M,1G,4K,2M,1G",
        "repetitions=1000",
        "seed=18446744073709551615",
        "numa=local",
        "counters=off",
        "topdown=off",
        "frequency=base",
        "time_limit=31536000",
        "noise_seconds=3600",
        "samples=yes",
        "repeat=1000",
        "countdown=3600",
        "save=no",
        "name=0123456789 123456789 123456789 123456789 123456789 123456789 12",
        "on_finish=qemu-exit",
        "dry_run=yes",
    };
    for (size_t i = 0; i < sizeof longest / sizeof longest[0]; i++) {
        read_file(longest[i]);
    }
    const struct setting_place place = { SOURCE_OPTIONS, "load options", 0 };
    char list[16 + SETTING_TEXT], line[SETTINGS_REPEAT_LINE];
    const size_t room = SETTING_TEXT - 1;
    (void)snprintf(list, sizeof list, "prefetchers=off:%0*d", (int)room - 4, 0);
    settings_assign(&settings, &place, list);
    (void)snprintf(list, sizeof list, "serial=io:%0*d", (int)room - 3, 1016);
    settings_assign(&settings, &place, list);
    memcpy(list, "experiments=", 12);
    for (size_t i = 12; i < 12 + room; i++) {
        list[i] = "mlp,"[i % 4];
    }
    list[12 + room] = '\0';
    settings_assign(&settings, &place, list);
    assert_true(settings_ok(&settings));
    assert_int_equal(strlen(value_of(SETTING_EXPERIMENTS)), room);
    assert_true(settings_repeat_line(&settings, line, sizeof line));
    read_options(line);
    assert_true(settings_ok(&settings));
}

/* The text of the file that the stick carries. */
static char *stick_file(void)
{
    FILE *file = fopen("boot/ironchase.cfg", "rb");
    assert_non_null(file);
    char *text = calloc(1, SETTINGS_FILE_MOST);
    assert_true(fread(text, 1, SETTINGS_FILE_MOST - 1, file) > 0);
    (void)fclose(file);
    return text;
}

/* A setting as the file shows it. */
static void show(char *text, size_t room, const struct setting *setting)
{
    size_t length = (size_t)snprintf(text, room, "\n\n");
    for (const char *line = setting->help; *line != '\0';) {
        const size_t bytes = strcspn(line, "\n");
        assert_in_range(bytes, 1, 76);
        length += (size_t)snprintf(text + length, room - length, "# %.*s\n", (int)bytes, line);
        line += bytes + 1;
    }
    (void)snprintf(text + length, room - length, "#%s =%s%s\n", setting->name,
                   setting->preset[0] != '\0' ? " " : "", setting->preset);
}

/* ironchase.cfg shows each row of the table, in its order, word for word, and nothing else. */
static void test_stick_file_shows_the_table(void **state)
{
    (void)state;
    char *text = stick_file();
    char row[1024];
    const char *at = strstr(text, "\n\n");
    for (size_t i = 0; i < SETTINGS; i++) {
        assert_non_null(at);
        show(row, sizeof row, &setting_table[i]);
        const size_t length = strlen(row);
        if (strncmp(at, row, length) != 0) {
            fail_msg("boot/ironchase.cfg does not show this:%s", row);
        }
        at += length - 1;
    }
    assert_string_equal(at, "\n");
    free(text);
}

/* As it is it changes nothing; with each setting's "#" taken off, it says the defaults. */
static void test_stick_file_says_the_defaults(void **state)
{
    (void)state;
    char *text = stick_file();
    read_file(text);
    assert_true(settings_ok(&settings));
    for (char *at = text; (at = strstr(at, "\n#")) != NULL; at++) {
        at[1] = at[2] != ' ' && at[2] != '\n' ? ' ' : '#';
    }
    read_file(text);
    for (size_t i = 0; i < settings.errors; i++) {
        print_error("%s\n", settings.error[i]);
    }
    assert_true(settings_ok(&settings));
    for (size_t i = 0; i < SETTINGS; i++) {
        assert_string_equal(settings.origin[i].value, setting_table[i].preset);
        assert_int_equal(settings.origin[i].source, SOURCE_FILE);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_defaults, fresh),
        cmocka_unit_test_setup(test_every_key_of_a_file, fresh),
        cmocka_unit_test_setup(test_words, fresh),
        cmocka_unit_test_setup(test_numbers, fresh),
        cmocka_unit_test_setup(test_sizes, fresh),
        cmocka_unit_test_setup(test_lists, fresh),
        cmocka_unit_test_setup(test_serial, fresh),
        cmocka_unit_test_setup(test_name, fresh),
        cmocka_unit_test_setup(test_forms_of_a_file, fresh),
        cmocka_unit_test_setup(test_line_numbers, fresh),
        cmocka_unit_test_setup(test_utf_16, fresh),
        cmocka_unit_test_setup(test_broken_files, fresh),
        cmocka_unit_test_setup(test_complaints, fresh),
        cmocka_unit_test_setup(test_many_complaints, fresh),
        cmocka_unit_test_setup(test_valid_settings_hold, fresh),
        cmocka_unit_test_setup(test_precedence, fresh),
        cmocka_unit_test_setup(test_load_options, fresh),
        cmocka_unit_test_setup(test_blobs_in_load_options, fresh),
        cmocka_unit_test_setup(test_what_has_no_effect_is_told, fresh),
        cmocka_unit_test_setup(test_repeat_line, fresh),
        cmocka_unit_test_setup(test_longest_repeat_line, fresh),
        cmocka_unit_test_setup(test_stick_file_shows_the_table, fresh),
        cmocka_unit_test_setup(test_stick_file_says_the_defaults, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
