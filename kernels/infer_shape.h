/* How often a chase in random order misses a cache, over the size of its set.
 *
 * What a cache does once the set no longer fits depends on how it replaces lines and on where the
 * pages of the set lie. Under true LRU every load of a cyclic order misses at once; under random
 * replacement the cache goes on answering as large a share of the loads as it holds of the set; real
 * ones lie between. Where pages are placed at random, some sets of the cache overflow while others
 * have room, so the misses begin early and the step is smeared (as it is in a cache hashed over slices
 * or shared with others). Pure. Window: yes. */
#ifndef KERNELS_INFER_SHAPE_H
#define KERNELS_INFER_SHAPE_H

enum miss_shape {
    MISS_CLIFF,         /* all at once: LRU, pages in order */
    MISS_SHARE,         /* 1 - size / set: random replacement; page translations in a TLB too */
    MISS_SHARE_SMEARED, /* the same over a cache whose size is known to some 30 % only */
    MISS_STEEP,         /* 1 - (size / set)^1.5, as smeared */
    MISS_STEEPER,       /* 1 - (size / set)^2, as smeared */
    MISS_WIDE,          /* 1 - (size / set)^1.5, smeared twice as far */
    MISS_PAGES_8,       /* LRU, 8 ways, pages placed at random */
    MISS_PAGES_16,      /* LRU, 16 ways, pages placed at random */
    MISS_SHAPES
};

/* Share of the loads, 0 to 1, that a cache of that shape misses when the set is `ratio` (0 or more)
 * times its size. The size of a smeared shape is the one that processors claim whose curves look
 * like it: there, 15 to 30 % of the loads miss already. */
double miss_share(enum miss_shape shape, double ratio);

#endif
