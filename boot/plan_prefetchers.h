/* What the setting `prefetchers` means on the machine at hand: its names are known only when the
 * machine has been surveyed. Window: no. */
#ifndef BOOT_PLAN_PREFETCHERS_H
#define BOOT_PLAN_PREFETCHERS_H

#include "boot/settings.h"

/* The ways that the settings name, with what they switch; returns how many, 0: the suite's own.
 * One that cannot be had here has its reason. The settings must outlive the results. Pure. */
unsigned plan_prefetchers(const struct settings *settings, const struct machine *machine,
                          struct prefetcher_choice choice[PREFETCHER_CHOICES]);

/* Complains of each name that no switch of this machine has, with those that there are. Where there
 * are no switches at all, whatever the reason, no name is wrong. */
void plan_check_prefetchers(struct settings *settings, const struct machine *machine);

#endif
