#include "kernels/chase.h"
#include "kernels/ilp.h"
#include "kernels/kernel.h"
#include "kernels/mlp.h"

#include <string.h>

const struct kernel *const kernel_table[] = {
    &chase_kernel,
    &mlp_kernel,
    &ilp_kernel,
    NULL,
};

const struct kernel *kernel_named(const char *name)
{
    for (const struct kernel *const *kernel = kernel_table; *kernel != NULL; kernel++) {
        if (strcmp((*kernel)->name, name) == 0) {
            return *kernel;
        }
    }
    return NULL;
}

bool measurement_add(struct measurement_list *list, const struct measurement *measurement)
{
    if (list->count == list->room) {
        list->lost++;
        return false;
    }
    list->item[list->count++] = *measurement;
    return true;
}
