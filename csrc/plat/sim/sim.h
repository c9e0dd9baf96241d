/*
 * sim.h: a simulated world: virtual clock, in-memory streams, seeded faults, any number of engines.
 *
 * One thread.  Nothing moves unless somebody runs the world.  An engine of the world has no runner:
 * the world calls its step, in an order drawn from the seed.  The engine's poll returns at once
 * with what is ready and notes the deadline it was given; when no engine can move, the clock jumps
 * to the next deadline or delivery. plat->wait runs the world until the notifier rings or the
 * virtual deadline has come, so blocking calls work. Law: the same seed, options and calls give the
 * same trace hash.
 */
#ifndef MMI_SIM_H
#define MMI_SIM_H

#include "plat/plat.h"

typedef struct mmi_sim mmi_sim;

/* Fills *out with a platform whose engine lives in this world; free takes it out of the world
 * again. */
int mmi_sim_plat(mmi_sim *world, mmi_plat *out) MMI_WARN_UNUSED;
/* How the world steps the engine of that platform: mmi_engine_step_now, which does not wait. */
void mmi_sim_attach(const mmi_plat *plat, void (*step)(void *arg), void *arg);
mmi_sim *mmi_sim_find(mm_handle world);   /* NULL: no such world */

#endif
