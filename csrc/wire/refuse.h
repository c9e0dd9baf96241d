/*
 * wire/refuse.h: a peer, or its octets, are refused: the reason and the words are kept where they are
 * asked for.
 *
 * Not here: what is refused and why; refusals of roles (role/refusal.h).
 * Law: whatever can refuse has the two members reason and detail.
 */
#ifndef MMI_REFUSE_H
#define MMI_REFUSE_H

#include "base/base.h"

/* MM_ENOMEM of MM_REASON_MEMORY, else MM_EPROTO. */
#define mmi_refuse(self, ...) mmi_refuse_into(&(self)->reason, (self)->detail, __VA_ARGS__)
int mmi_refuse_into(int *reason, char detail[MM_DETAIL_MAX + 1], int why, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
