/*
 * crc32c.h: CRC-32C (Castagnoli; RFC 3720, B.4), as the spool protects all that it writes.
 *
 * Law: pure; the instruction of the machine is used where it has one, and gives the same.
 */
#ifndef MMI_CRC32C_H
#define MMI_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Goes on from what came before it; 0: from the beginning. */
uint32_t mmi_crc32c(uint32_t before, const void *data, size_t size);
/* The same without the machine's instruction: for tests, and where there is none. */
uint32_t mmi_crc32c_table(uint32_t before, const void *data, size_t size);

#endif
