#include "tests/fakes/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NS          1e9
#define IDLE_NS     20e6 /* between two bodies */
#define ENTER_NS    2e3
#define FIRST_FRAME (4ull * GIB) /* physical address of the arena */
#define TABLES      (1ull << 44) /* physical address of the last page table */

/* Sets of tags, in each set the one used last in front: a cache's lines or a TLB's pages. */
struct store {
    uint64_t *tag;
    size_t sets, ways;
};

enum strike_kind { STRIKE_SMI, STRIKE_NMI, STRIKE_INTERRUPT, STRIKES };

struct striker {
    struct model_strike how;
    double next_ns;
    unsigned count;
};

struct model {
    struct model_geometry geometry;
    struct bench bench;
    struct store cache[MODEL_LEVELS], tlb[MODEL_TLBS];
    int memory; /* file of all placings, one after the other */
    char *reserved, *base;
    size_t reserved_bytes, view_bytes; /* 0: nothing is mapped */
    struct layout layout;
    double now_ns, body_ns, cycles, longest_ns;
    double event_ns; /* nothing strikes and no noise changes before */
    double noise, noise_until_ns;
    struct striker striker[STRIKES];
    unsigned interrupts_at_entry, bodies;
    uint64_t random;
};

static const uint64_t leaf_bytes[PAGE_SIZES] = { PAGE_4K, PAGE_2M, PAGE_1G };

/* The loops have no argument for it: the machine whose body runs. */
static struct model *inside;

/* --- Sets of tags --- */

static bool store_init(struct store *store, size_t entries, size_t ways)
{
    store->ways = ways != 0 ? ways : entries;
    store->sets = entries / store->ways;
    store->tag = calloc(store->sets * store->ways, sizeof *store->tag);
    return store->tag != NULL;
}

static void store_empty(struct store *store)
{
    memset(store->tag, 0, store->sets * store->ways * sizeof *store->tag);
}

/* True for a hit. Either way the tag is its set's last used afterwards. */
static bool store_use(struct store *store, uint64_t number)
{
    uint64_t *set = store->tag + number % store->sets * store->ways;
    const uint64_t tag = number + 1; /* 0: empty */
    size_t way = 0;
    while (way + 1 < store->ways && set[way] != tag) {
        way++;
    }
    const bool hit = set[way] == tag;
    memmove(set + 1, set, way * sizeof *set);
    set[0] = tag;
    return hit;
}

static void empty_tlbs(struct model *model)
{
    for (unsigned i = 0; i < model->geometry.tlbs; i++) {
        store_empty(&model->tlb[i]);
    }
}

static void empty_caches(struct model *model)
{
    for (unsigned i = 0; i < model->geometry.levels; i++) {
        store_empty(&model->cache[i]);
    }
}

/* --- Time --- */

/* Uniform in [0, 1): xorshift64 (Marsaglia 2003). */
static double random_share(struct model *model)
{
    model->random ^= model->random << 13;
    model->random ^= model->random >> 7;
    model->random ^= model->random << 17;
    return (double)(model->random >> 11) * 0x1p-53;
}

static double core_ghz(const struct model *model)
{
    const struct model_geometry *geometry = &model->geometry;
    double share = 1 + geometry->drift * model->now_ns / NS;
    const double busy = model->now_ns - model->body_ns;
    if (geometry->idle_share != 0 && busy < geometry->ramp_ns) {
        share *= geometry->idle_share + (1 - geometry->idle_share) * busy / geometry->ramp_ns;
    }
    return geometry->core_hz * share / NS;
}

/* Everything that was due strikes; then the next event is found. */
static void strike(struct model *model)
{
    if (model->now_ns >= model->noise_until_ns) {
        model->noise = model->geometry.noise * (2 * random_share(model) - 1);
        model->noise_until_ns = model->now_ns + model->geometry.noise_ns;
    }
    model->event_ns = model->geometry.noise != 0 ? model->noise_until_ns : 1e300;
    for (unsigned i = 0; i < STRIKES; i++) {
        struct striker *striker = &model->striker[i];
        if (striker->how.every_ns == 0) {
            continue;
        }
        while (model->now_ns >= striker->next_ns) {
            striker->count++;
            model->now_ns += striker->how.costs_ns;
            striker->next_ns += striker->how.every_ns * (0.5 + random_share(model));
        }
        if (striker->next_ns < model->event_ns) {
            model->event_ns = striker->next_ns;
        }
    }
}

static void pass(struct model *model, double ns)
{
    model->cycles += ns * core_ghz(model);
    model->now_ns += ns;
    if (model->now_ns >= model->event_ns) {
        strike(model);
    }
}

void model_work(double cycles)
{
    assert(inside != NULL);
    pass(inside, cycles / core_ghz(inside));
}

/* --- Memory --- */

/* A permutation of `count` (a power of two) numbers without visible order. */
static uint64_t shuffled(uint64_t x, uint64_t count)
{
    const uint64_t mask = count - 1;
    unsigned half = 1;
    while (count >> (2 * half) != 0) {
        half++;
    }
    for (unsigned round = 0; round < 4; round++) {
        x = (x * 0x9e3779b97f4a7c15ull + 0x3c6ef372fe94f82bull * round) & mask;
        x ^= x >> half;
    }
    return x;
}

static uint64_t power_of_two(uint64_t least)
{
    uint64_t power = 1;
    while (power < least) {
        power *= 2;
    }
    return power;
}

/* Colours of the second-level cache: ways of placing a page in its sets. */
static uint64_t colours(const struct model_geometry *geometry)
{
    const struct model_level *second = &geometry->level[geometry->levels > 1 ? 1 : 0];
    const uint64_t pages = second->size / second->ways / PAGE_4K;
    return pages != 0 ? pages : 1;
}

/* 4 KiB frame that the placing shows as its number `page`. */
static uint64_t frame_of(const struct model *model, uint64_t page)
{
    const uint64_t pool = power_of_two(4 * model->geometry.memory_bytes / PAGE_4K);
    switch (model->layout.placing) {
    case PLACED_SCATTERED: return shuffled(page, pool);
    case PLACED_BALANCED: {
        const uint64_t n = colours(&model->geometry);
        return shuffled(page / n, pool) * n + page % n;
    }
    default: return page;
    }
}

/* The page of the placing that shows at that byte of the view: not the same where leaves are
 * aliases of a few frames. */
static uint64_t shown_at(const struct model *model, uint64_t offset)
{
    const struct layout *layout = &model->layout;
    if (layout->frames == 0) {
        return offset / PAGE_4K;
    }
    const uint64_t leaf = leaf_bytes[layout->leaf];
    return (offset / leaf % layout->frames * leaf + offset % leaf) / PAGE_4K;
}

static uint64_t physical_address(const struct model *model, const void *at)
{
    const uint64_t offset = (uint64_t)((const char *)at - model->base);
    assert(offset < model->view_bytes);
    return FIRST_FRAME + frame_of(model, shown_at(model, offset)) * PAGE_4K + offset % PAGE_4K;
}

/* Index of the level that has the line; the number of levels for memory. */
static unsigned find_line(struct model *model, uint64_t physical)
{
    unsigned level = 0;
    while (level < model->geometry.levels &&
           !store_use(&model->cache[level], physical / LINE_BYTES)) {
        level++;
    }
    return level;
}

static double line_ns(const struct model *model, unsigned level)
{
    return level < model->geometry.levels ? model->geometry.level[level].cycles / core_ghz(model)
                                          : model->geometry.memory_ns;
}

static double walk_ns(struct model *model, enum page_size leaf, uint64_t page)
{
    double ns = model->geometry.walk_cycles[leaf] / core_ghz(model);
    if (model->geometry.tables_in_caches) {
        ns += line_ns(model, find_line(model, TABLES + page * sizeof(uint64_t)));
    }
    return ns;
}

static double translation_ns(struct model *model, const void *at)
{
    const bool cut = model->geometry.smashed;
    const enum page_size leaf = cut ? SIZE_4K : model->layout.leaf;
    const uint64_t page = (uint64_t)((const char *)at - model->base) / leaf_bytes[leaf];
    for (unsigned i = 0; i < model->geometry.tlbs; i++) {
        const struct model_tlb *tlb = &model->geometry.tlb[i];
        const bool holds = (tlb->page_sizes >> leaf & 1) != 0;
        if (holds && store_use(&model->tlb[i], page)) {
            return tlb->cycles / core_ghz(model);
        }
    }
    return walk_ns(model, leaf, page);
}

static double load_ns(struct model *model, const void *at)
{
    const double translation = translation_ns(model, at);
    const unsigned level = find_line(model, physical_address(model, at));
    return translation + line_ns(model, level);
}

void model_load(const void *at)
{
    struct model *model = inside;
    assert(model != NULL);
    pass(model, load_ns(model, at) * (1 + model->noise));
}

void model_loads(void *const *at, unsigned count)
{
    struct model *model = inside;
    assert(model != NULL);
    const unsigned most = model->geometry.outstanding > 1 ? model->geometry.outstanding : 1;
    double ns = 0;
    for (unsigned i = 0; i < count; i++) {
        ns += load_ns(model, at[i]);
    }
    pass(model, ns / (count < most ? count : most) * (1 + model->noise));
}

void model_stream(const void *at)
{
    struct model *model = inside;
    assert(model != NULL);
    const double translation = translation_ns(model, at);
    const unsigned level = find_line(model, physical_address(model, at));
    const double ns = line_ns(model, level);
    const double stream = model->geometry.stream_ns;
    pass(model, translation + (ns < stream ? ns : stream));
}

void model_flush(void)
{
    assert(inside != NULL);
    empty_caches(inside);
}

/* --- The bench --- */

static const char *cannot_map(const struct model *model, const struct layout *want, uint64_t bytes)
{
    if (!model->geometry.page_available[want->leaf]) {
        return "the model has no pages of this size";
    }
    if (want->placing != PLACED_IN_ORDER && want->leaf != SIZE_4K) {
        return "only 4 KiB pages can be scattered";
    }
    if (want->node != 0) {
        return "the model has one node";
    }
    const uint64_t shown = want->frames != 0 ? want->frames * leaf_bytes[want->leaf] : bytes;
    if (bytes > model->reserved_bytes - PAGE_1G || shown > model->geometry.memory_bytes) {
        return "the model has not so much memory";
    }
    return NULL;
}

/* Shows `bytes` of the file at the address; not even readable until a body runs. */
static void show(struct model *model, char *at, size_t bytes, uint64_t file_offset)
{
    void *shown =
        mmap(at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, model->memory, (off_t)file_offset);
    assert(shown == at);
}

static void hide_view(struct model *model)
{
    void *hidden = mmap(model->base, model->view_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    assert(hidden == model->base);
    model->view_bytes = 0;
}

static enum status map(void *self, const struct layout *want, void **base, const char **reason)
{
    struct model *model = self;
    assert(inside == NULL);
    const uint64_t leaf = leaf_bytes[want->leaf];
    const uint64_t bytes = (want->bytes + leaf - 1) / leaf * leaf;
    *reason = cannot_map(model, want, bytes);
    if (*reason != NULL) {
        return ABSENT;
    }
    if (model->view_bytes != 0) {
        hide_view(model);
    }
    const uint64_t file = want->placing * model->geometry.memory_bytes;
    if (want->frames == 0) {
        show(model, model->base, bytes, file);
    }
    for (uint64_t page = 0; want->frames != 0 && page < bytes / leaf; page++) {
        show(model, model->base + page * leaf, leaf, file + page % want->frames * leaf);
    }
    model->layout = *want;
    model->view_bytes = bytes;
    *base = model->base;
    return OK;
}

static bool physical(void *self, const void *at, uint64_t *address)
{
    const struct model *model = self;
    if (model->geometry.tables_hidden) {
        return false;
    }
    *address = physical_address(model, at);
    return true;
}

static void prove(const struct model *model, struct proof *found)
{
    const struct model_geometry *geometry = &model->geometry;
    const enum page_size leaf = model->layout.leaf;
    found->leaves_known = !geometry->tables_hidden;
    found->leaves[leaf] = model->view_bytes / leaf_bytes[leaf];
    if (geometry->wrong_leaves) {
        found->leaves[leaf]--;
        found->leaves[(leaf + 1) % PAGE_SIZES]++;
    }
    found->memory_type = 6;
    found->smashed = geometry->smashed && leaf != SIZE_4K;
    found->tables = TABLES;
}

static bool wants_too_much(const struct conditions *set, struct proof *found)
{
    found->reason = set->prefetchers_off != 0 ? "the model has no prefetchers"
                    : set->events != 0        ? "the model has no counters"
                                              : NULL;
    return found->reason != NULL;
}

static void run_body(struct model *model, void (*body)(void *), void *arg)
{
    model->now_ns += IDLE_NS + ENTER_NS;
    strike(model);
    model->body_ns = model->now_ns;
    model->interrupts_at_entry = model->striker[STRIKE_INTERRUPT].count;
    empty_tlbs(model);
    empty_caches(model);
    int result = mprotect(model->base, model->view_bytes, PROT_READ | PROT_WRITE);
    assert(result == 0);
    inside = model;
    body(arg);
    inside = NULL;
    result = mprotect(model->base, model->view_bytes, PROT_NONE);
    assert(result == 0);
    const double lasted = model->now_ns - model->body_ns;
    model->longest_ns = lasted > model->longest_ns ? lasted : model->longest_ns;
}

static enum status run_inside(void *self, const struct conditions *set, void (*body)(void *),
                              void *arg, struct proof *found)
{
    struct model *model = self;
    assert(inside == NULL && model->view_bytes != 0);
    *found = (struct proof){ .reason = NULL };
    if (wants_too_much(set, found)) {
        return ABSENT;
    }
    if (model->geometry.fault_after != 0 && model->bodies >= model->geometry.fault_after) {
        found->fault = (struct fault){ .vector = 14, .code = 2, .ip = 0x1234, .address = 0x5678 };
        found->reason = "page fault";
        return FAULTED;
    }
    model->bodies++;
    run_body(model, body, arg);
    prove(model, found);
    return OK;
}

static void read_clock(void *self, struct reading *now)
{
    struct model *model = self;
    const struct model_geometry *geometry = &model->geometry;
    assert(inside == model);
    const double cost = geometry->read_ns + geometry->read_jitter_ns * random_share(model);
    pass(model, cost / 2);
    *now = (struct reading){
        .tsc = (uint64_t)(model->now_ns / NS * geometry->tsc_hz),
        .cycles = geometry->counts_cycles ? (uint64_t)model->cycles : 0,
        .known = (geometry->counts_cycles ? 1u << KNOWN_CYCLES : 0) |
                 (geometry->counts_smis ? 1u << KNOWN_SMIS : 0),
        .smis = geometry->counts_smis ? model->striker[STRIKE_SMI].count : 0,
        .nmis = model->striker[STRIKE_NMI].count,
        .pending = model->striker[STRIKE_INTERRUPT].count - model->interrupts_at_entry,
    };
    pass(model, cost / 2);
}

static enum status forget(void *self, enum forget what)
{
    struct model *model = self;
    assert(inside == model);
    empty_tlbs(model);
    for (unsigned i = 0; what == FORGET_TABLES && i < model->geometry.levels; i++) {
        struct store *cache = &model->cache[i];
        for (size_t at = 0; at < cache->sets * cache->ways; at++) {
            cache->tag[at] = cache->tag[at] > TABLES / LINE_BYTES ? 0 : cache->tag[at];
        }
    }
    return OK;
}

/* --- Its life --- */

static bool make_stores(struct model *model)
{
    const struct model_geometry *geometry = &model->geometry;
    bool made = true;
    for (unsigned i = 0; i < geometry->levels; i++) {
        const struct model_level *level = &geometry->level[i];
        made = made && store_init(&model->cache[i], level->size / LINE_BYTES, level->ways);
    }
    for (unsigned i = 0; i < geometry->tlbs; i++) {
        const struct model_tlb *tlb = &geometry->tlb[i];
        made = made && store_init(&model->tlb[i], tlb->entries, tlb->ways);
    }
    return made;
}

/* The file of all placings, and room for a view on a 1 GiB boundary. Views of aliases are larger
 * than the memory they show. */
static bool make_memory(struct model *model)
{
    const uint64_t bytes = model->geometry.memory_bytes;
    model->memory = memfd_create("model", 0);
    if (model->memory < 0 || ftruncate(model->memory, (off_t)(PLACINGS * bytes)) != 0) {
        return false;
    }
    model->reserved_bytes = (bytes > 4ull * GIB ? bytes : 4ull * GIB) + PAGE_1G;
    void *reserved = mmap(NULL, model->reserved_bytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) {
        return false;
    }
    model->reserved = reserved;
    model->base = model->reserved + (PAGE_1G - (uintptr_t)reserved % PAGE_1G);
    return true;
}

struct model *model_new(const struct model_geometry *geometry)
{
    struct model *model = calloc(1, sizeof *model);
    if (model == NULL) {
        return NULL;
    }
    model->geometry = *geometry;
    model->memory = -1;
    model->random = 0x2545f4914f6cdd1dull;
    model->striker[STRIKE_SMI].how = geometry->smi;
    model->striker[STRIKE_NMI].how = geometry->nmi;
    model->striker[STRIKE_INTERRUPT].how = geometry->interrupt;
    for (unsigned i = 0; i < STRIKES; i++) {
        model->striker[i].next_ns = model->striker[i].how.every_ns * random_share(model);
    }
    model->bench =
        (struct bench){ model, (uint64_t)geometry->tsc_hz, map, physical, run_inside, read_clock,
                        forget };
    if (!make_stores(model) || !make_memory(model)) {
        model_free(model);
        return NULL;
    }
    return model;
}

void model_free(struct model *model)
{
    if (model == NULL) {
        return;
    }
    for (unsigned i = 0; i < MODEL_LEVELS; i++) {
        free(model->cache[i].tag);
    }
    for (unsigned i = 0; i < MODEL_TLBS; i++) {
        free(model->tlb[i].tag);
    }
    if (model->reserved != NULL) {
        (void)munmap(model->reserved, model->reserved_bytes);
    }
    if (model->memory >= 0) {
        (void)close(model->memory);
    }
    free(model);
}

const struct bench *model_bench(struct model *model)
{
    return &model->bench;
}

double model_seconds(const struct model *model)
{
    return model->now_ns / NS;
}

unsigned model_bodies(const struct model *model)
{
    return model->bodies;
}

double model_longest_body(const struct model *model)
{
    return model->longest_ns / NS;
}

unsigned model_smis(const struct model *model)
{
    return model->striker[STRIKE_SMI].count;
}
