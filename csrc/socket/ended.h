/*
 * socket/ended.h: what sockets dropped after they were closed, for who tells of it.
 *
 * A closed socket has no handle and no reader, so its drops are kept by its engine: one entry a
 * socket and cause, MMI_ENDED_MAX of them; of more, only the messages are counted.
 * Not here: the linger itself (ends/socket.c), drops of open sockets (socket/events.c).
 * All calls with the engine lock held.  Law: each message that a closed socket had accepted and did
 * not write is in engine->abandoned_messages until it was taken from here; it comes here as soon as
 * the socket has no peer any more, not when its links are gone.
 */
#ifndef MMI_ENDED_H
#define MMI_ENDED_H

#include "meshmsg_binding.h"
#include "socket/socket.h"

/* It is being closed.  endpoint: its first, or NULL. */
void mmi_ended_begin(mmi_socket *s, const char *endpoint);
/* So much is not written, for the cause that s->end.why says. */
void mmi_ended_note(mmi_socket *s, uint64_t messages, uint64_t bytes);
/* It has no peer any more: what its role still has is dropped, too, and all of it is to be told.
 * Once; later calls do nothing. */
void mmi_ended_tell(mmi_socket *s);
uint32_t mmi_ended_take(mmi_engine *e, mm_ended *out, uint32_t cap);   /* the oldest first; count */
uint64_t mmi_ended_take_unlisted(mmi_engine *e);
/* Closed sockets that may still drop something, and drops that were not taken.  Who asks and gets
 * more than 0 is rung when it is 0. */
uint32_t mmi_ended_pending(mmi_engine *e);
void mmi_ended_fini(mmi_engine *e);                /* forgets what nobody took */

#endif
