/* The findings' list and their sentences. Pure. Window: no. */
#ifndef KERNELS_INFER_TELL_H
#define KERNELS_INFER_TELL_H

#include "kernels/result.h"

struct finding_list {
    struct finding *out; /* room for `room` */
    size_t room, count;  /* count never passes room: what does not fit is dropped */
};

/* Appends a copy of the finding with its sentence, which is cut where it is too long. */
__attribute__((format(printf, 3, 4))) void
tell(struct finding_list *list, const struct finding *finding, const char *format, ...);

enum { SIZE_TEXT = 24 };

/* "48 KiB", "1.25 MiB", "33.5 MiB": four digits. Returns `text`. */
const char *size_text(uint64_t bytes, char text[SIZE_TEXT]);

#endif
