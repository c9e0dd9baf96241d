/*
 * allowed.h: the list of a socket: public keys of those who may come in, and what each is known by.
 *
 * Not here: who is asked where there is no list (link/ask.h), files (src/meshmsg/_security).
 * Law: it is swapped whole, so who looks finds the list of before or the one of after.  It is looked at
 * without the engine's lock, and has one of its own; it is freed with its socket, after all its links.
 */
#ifndef MMI_ALLOWED_H
#define MMI_ALLOWED_H

#include "wire/applicant.h"

enum { MMI_ALLOWED_KEY_SIZE = 32 };      /* octets of a key */

typedef struct mmi_allowed mmi_allowed;
typedef struct mmi_allowed_table mmi_allowed_table;

/* count keys, end to end, and as many user ids, each with a 0 behind it, in size octets.  MM_ENOMEM; MM_EINVAL: a key
 * twice, a user id over MM_USER_ID_MAX, or too few. */
int mmi_allowed_table_new(const uint8_t *keys, const char *user_ids, size_t size, uint32_t count,
                          mmi_allowed_table **out) MMI_WARN_UNUSED;
void mmi_allowed_table_free(mmi_allowed_table *table);         /* takes NULL */
mmi_allowed *mmi_allowed_new(void) MMI_WARN_UNUSED;          /* of nobody; NULL: no memory */
void mmi_allowed_free(mmi_allowed *list);                    /* takes NULL */
void mmi_allowed_swap(mmi_allowed *list, mmi_allowed_table *table);   /* which is its own then */
/* As mmi_allow, of a mmi_allowed: it always has an answer. */
bool mmi_allowed_ask(const void *list, const mmi_applicant *who, mmi_answer *out);

#endif
