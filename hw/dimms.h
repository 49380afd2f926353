/* The memory modules as SMBIOS lists them. Firmware's word, checked for sense, never measured. */
#ifndef HW_DIMMS_H
#define HW_DIMMS_H

#include "hw/machine.h"
#include "hw/smbios.h"

/* Lists the sockets of system memory and what is in them. `memory_bytes` is the RAM that there is,
 * to hold the list against; 0: not known. Without a list, or with one that cannot be right, the
 * facts' reason says so. Window: no.
 *
 * Channels are told by the sockets' names alone ("P0 CHANNEL A", "ChannelA-DIMM0", "CPU1_DIMM_A1"):
 * SMBIOS has no number for them that firmware fills in. Where one socket's name does not tell its
 * channel, none is counted.
 * Source: DMTF DSP0134 (SMBIOS) 3.7, 7.17 (type 16) and 7.18 (type 17). */
void survey_dimms(const struct smbios *smbios, uint64_t memory_bytes, struct memory_facts *memory);

#endif
