#include "tests/hosted/survey.h"

#include "hw/clock.h"
#include "hw/cpu.h"
#include "hw/cpuid.h"
#include "hw/dimms.h"
#include "hw/survey.h"
#include "tests/hosted/clock_linux.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SMBIOS_ROOM = 1 * MIB };

/* ---- the place -------------------------------------------------------------------------------- */

/* A policy of its own also keeps the kernel from unmapping pages now and then to see who uses them
 * (Linux, numa_balancing). One node has nothing to prefer. */
static void prefer_node(unsigned node)
{
    enum { PREFERRED = 1, BITS = 64 }; /* MPOL_PREFERRED of set_mempolicy(2) */
    const uint64_t nodes = node < BITS ? UINT64_C(1) << node : 0;
    (void)syscall(SYS_set_mempolicy, PREFERRED, &nodes, BITS + 1);
}

int survey_pin(void)
{
    unsigned processor = 0, node = 0;
    cpu_set_t only;
    CPU_ZERO(&only);
    if (syscall(SYS_getcpu, &processor, &node, NULL) != 0) {
        return -1;
    }
    CPU_SET(processor, &only);
    if (sched_setaffinity(0, sizeof only, &only) != 0) {
        return -1;
    }
    prefer_node(node);
    return (int)processor;
}

/* ---- processor, board, firmware --------------------------------------------------------------- */

/* The first line of a file, without its end; "" where there is none. */
static void read_text(const char *path, char *text, size_t room)
{
    FILE *file = fopen(path, "re");
    text[0] = '\0';
    if (file == NULL) {
        return;
    }
    if (fgets(text, (int)room, file) != NULL) {
        text[strcspn(text, "\n")] = '\0';
    }
    (void)fclose(file);
}

static void survey_board(struct board *board)
{
    const struct {
        const char *path;
        char *text;
    } facts[] = {
        { "/sys/class/dmi/id/sys_vendor", board->vendor },
        { "/sys/class/dmi/id/product_name", board->product },
        { "/sys/class/dmi/id/product_serial", board->serial }, /* for root only */
        { "/sys/class/dmi/id/board_vendor", board->board_vendor },
        { "/sys/class/dmi/id/board_name", board->board_product },
        { "/sys/class/dmi/id/bios_vendor", board->bios_vendor },
        { "/sys/class/dmi/id/bios_version", board->bios_version },
        { "/sys/class/dmi/id/bios_date", board->bios_date },
    };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        read_text(facts[i].path, facts[i].text, MACHINE_TEXT);
    }
}

/* The tables as the firmware left them, which Linux shows to root only. */
static void survey_memory(struct machine *machine)
{
    static unsigned char table[SMBIOS_ROOM];
    struct smbios smbios = { { table, 0 } };
    FILE *file = fopen("/sys/firmware/dmi/tables/DMI", "rbe");
    if (file != NULL) {
        smbios.table.size = fread(table, 1, sizeof table, file);
        (void)fclose(file);
    }
    survey_dimms(&smbios, machine->memory_bytes, &machine->memory);
    if (file == NULL) {
        machine->memory.reason = "the system does not show the firmware's SMBIOS tables";
    }
}

/* Four bytes of attributes stand before the value (UEFI 2.10, 3.3; Linux, efivarfs). */
static bool secure_boot(void)
{
    unsigned char bytes[5] = { 0 };
    FILE *file =
        fopen("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", "rbe");
    if (file == NULL) {
        return false;
    }
    const bool read = fread(bytes, 1, sizeof bytes, file) == sizeof bytes;
    (void)fclose(file);
    return read && bytes[4] == 1;
}

/* The first line of that name in a file of "name : value" lines; 0 where there is none. */
static uint64_t read_value(const char *path, const char *name)
{
    char line[256];
    uint64_t value = 0;
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (colon != NULL && strncmp(line, name, strlen(name)) == 0) {
            value = sscanf(colon + 1, "%" SCNi64, (int64_t *)&value) == 1 ? value : 0;
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return value;
}

enum status survey_machine(struct machine *machine)
{
    memset(machine, 0, sizeof *machine);
    survey_processor(&machine->processor);
    if (machine->processor.hypervisor[0] == '\0') {
        machine->processor.microcode = read_value("/proc/cpuinfo", "microcode");
    }
    survey_board(&machine->board);
    machine->firmware.secure_boot = secure_boot();
    machine->memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    survey_memory(machine);
    return clock_linux_find(&machine->clock, &machine->processor);
}

/* ---- memory ----------------------------------------------------------------------------------- */

/* Bytes that a control group leaves, by its two files; UINT64_MAX: no limit. */
static uint64_t left_by_group(const char *limit_path, const char *used_path)
{
    char text[32];
    uint64_t limit = UINT64_MAX, used = 0;
    read_text(limit_path, text, sizeof text);
    if (sscanf(text, "%" SCNu64, &limit) != 1) { /* "max", or no such file */
        return UINT64_MAX;
    }
    read_text(used_path, text, sizeof text);
    used = sscanf(text, "%" SCNu64, &used) == 1 ? used : 0;
    return limit > used ? limit - used : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

size_t survey_view_bytes(void)
{
    enum { STORES = 4 };
    static const char group[] = "/sys/fs/cgroup/";
    const uint64_t unused = read_value("/proc/meminfo", "MemAvailable") * KIB;
    char path[2][64];
    (void)snprintf(path[0], sizeof path[0], "%smemory.max", group);
    (void)snprintf(path[1], sizeof path[1], "%smemory.current", group);
    uint64_t allowed = left_by_group(path[0], path[1]);
    (void)snprintf(path[0], sizeof path[0], "%smemory/memory.limit_in_bytes", group);
    (void)snprintf(path[1], sizeof path[1], "%smemory/memory.usage_in_bytes", group);
    allowed = least(allowed, left_by_group(path[0], path[1]));
    const uint64_t usable = least(unused, allowed);
    return (size_t)((usable - usable / 8) / STORES);
}
