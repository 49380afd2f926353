/* A QEMU TCG plugin that shows what a measured loop of the shipped image touches.
 *
 * Arguments: symbol=FILE (the loop's machine code, cut from the ELF file: the image is relocated,
 * so the loop is found by its bytes), out=FILE (the records, below), most=N (record the first N
 * accesses of each call of the loop only). The product has no markers: a sample is what lies between two executed RDTSC.
 *
 * Records, 24 bytes each, little endian: kind, then two numbers.
 *   'L'  a load of the loop, 'S' a store: virtual address, physical address
 *   'E'  the loop was entered: its address, 0
 *   'T'  RDTSC: accesses of the loop since the last 'T', all other accesses of the image since then
 *
 * Debian packages no plugin header; these declarations follow QEMU 7.2's documentation
 * (docs/devel/tcg-plugins.rst, API version 1). */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tb;
struct insn;
struct hwaddr;
typedef uint64_t plugin_id;
typedef uint32_t meminfo;
enum { CB_NO_REGS = 0, MEM_RW = 3, INLINE_ADD_U64 = 0 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct tb *));
extern size_t qemu_plugin_tb_n_insns(const struct tb *);
extern struct insn *qemu_plugin_tb_get_insn(const struct tb *, size_t);
extern const void *qemu_plugin_insn_data(const struct insn *);
extern size_t qemu_plugin_insn_size(const struct insn *);
extern uint64_t qemu_plugin_insn_vaddr(const struct insn *);
extern void qemu_plugin_register_vcpu_insn_exec_cb(struct insn *, void (*)(unsigned, void *), int,
                                                   void *);
extern void qemu_plugin_register_vcpu_mem_cb(struct insn *,
                                             void (*)(unsigned, meminfo, uint64_t, void *), int,
                                             int, void *);
extern void qemu_plugin_register_vcpu_mem_inline(struct insn *, int, int, void *, uint64_t);
extern struct hwaddr *qemu_plugin_get_hwaddr(meminfo, uint64_t);
extern bool qemu_plugin_mem_is_store(meminfo);
extern uint64_t qemu_plugin_hwaddr_phys_addr(const struct hwaddr *);
extern void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

static struct {
    uint8_t code[4096];
    size_t size;
    uint64_t at;              /* where the loop was found, 0: not yet */
    uint64_t most, recorded;  /* recorded: since the loop was entered */
    uint64_t in_loop, others; /* accesses since the last RDTSC */
    FILE *out;
} trace;

static void record(uint64_t kind, uint64_t first, uint64_t second)
{
    uint64_t words[3] = { kind, first, second };
    if (fwrite(words, sizeof words, 1, trace.out) != 1) {
        abort();
    }
}

static void on_access(unsigned vcpu, meminfo info, uint64_t address, void *data)
{
    (void)vcpu;
    (void)data;
    trace.in_loop++;
    if (trace.recorded < trace.most) {
        struct hwaddr *physical = qemu_plugin_get_hwaddr(info, address);
        trace.recorded++;
        record(qemu_plugin_mem_is_store(info) ? 'S' : 'L', address,
               physical ? qemu_plugin_hwaddr_phys_addr(physical) : 0);
    }
}

static void on_entry(unsigned vcpu, void *data)
{
    (void)vcpu;
    (void)data;
    trace.recorded = 0;
    record('E', trace.at, 0);
}

static void on_rdtsc(unsigned vcpu, void *data)
{
    (void)vcpu;
    (void)data;
    if (trace.in_loop > 0) {
        record('T', trace.in_loop, trace.others);
    }
    trace.in_loop = 0;
    trace.others = 0;
}

/* Does this block start with the loop's first bytes? A block ends at its first branch. */
static bool starts_loop(const struct tb *tb)
{
    size_t at = 0;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct insn *insn = qemu_plugin_tb_get_insn(tb, i);
        size_t bytes = qemu_plugin_insn_size(insn);
        if (at + bytes > trace.size ||
            memcmp(qemu_plugin_insn_data(insn), trace.code + at, bytes) != 0) {
            return false;
        }
        at += bytes;
    }
    return at >= 8;
}

static bool is_rdtsc(const struct insn *insn)
{
    const uint8_t *bytes = qemu_plugin_insn_data(insn);
    size_t size = qemu_plugin_insn_size(insn);
    return (size == 2 && bytes[0] == 0x0F && bytes[1] == 0x31) ||                   /* RDTSC */
           (size == 3 && bytes[0] == 0x0F && bytes[1] == 0x01 && bytes[2] == 0xF9); /* RDTSCP */
}

static void on_translate(plugin_id id, struct tb *tb)
{
    (void)id;
    if (!trace.at && starts_loop(tb)) {
        trace.at = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
    }
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct insn *insn = qemu_plugin_tb_get_insn(tb, i);
        uint64_t address = qemu_plugin_insn_vaddr(insn);
        bool inside = trace.at && address >= trace.at && address < trace.at + trace.size;
        if (inside) {
            qemu_plugin_register_vcpu_mem_cb(insn, on_access, CB_NO_REGS, MEM_RW, NULL);
        } else {
            qemu_plugin_register_vcpu_mem_inline(insn, MEM_RW, INLINE_ADD_U64, &trace.others, 1);
        }
        if (inside && address == trace.at) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_entry, CB_NO_REGS, NULL);
        }
        if (is_rdtsc(insn)) {
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_rdtsc, CB_NO_REGS, NULL);
        }
    }
}

static void on_exit_close(plugin_id id, void *data)
{
    (void)id;
    (void)data;
    (void)fclose(trace.out);
}

static bool take_argument(const char *argument)
{
    if (strncmp(argument, "symbol=", 7) == 0) {
        FILE *file = fopen(argument + 7, "rb");
        trace.size = file ? fread(trace.code, 1, sizeof trace.code, file) : 0;
        return file && fclose(file) == 0 && trace.size >= 8;
    }
    if (strncmp(argument, "out=", 4) == 0) {
        trace.out = fopen(argument + 4, "wb");
        return trace.out != NULL;
    }
    if (strncmp(argument, "most=", 5) == 0) {
        trace.most = strtoull(argument + 5, NULL, 10);
        return true;
    }
    return false;
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    trace.most = UINT64_MAX;
    for (int i = 0; i < argc; i++) {
        if (!take_argument(argv[i])) {
            (void)fprintf(stderr, "trace: bad argument %s\n", argv[i]);
            return -1;
        }
    }
    if (!trace.out || trace.size == 0) {
        (void)fprintf(stderr, "trace: symbol=FILE and out=FILE are needed\n");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
    qemu_plugin_register_atexit_cb(id, on_exit_close, NULL);
    return 0;
}
