/*
 * link/command.c: commands on their way out: those that wait, and those that are being written.
 *
 * Not here: what they say (link/ping.c, link/stop.c), when they go (link/write.c), which of them
 * need not be said any more (link/fold.c).
 * Law: what is being written is not changed by who queues more; whole frames only.
 */
#include <string.h>

#include "link/inside.h"

int
mmi_link_control(mmi_link *link, const uint8_t *frame, size_t size)
{
    if (link->command_size + size > link->command_cap) {
        size_t cap = (link->command_size + size) * 2;
        uint8_t *grown = mmi_realloc(link->commands, cap);
        if (grown == NULL) {
            return MM_ENOMEM;
        }
        link->commands = grown;
        link->command_cap = cap;
    }
    memcpy(link->commands + link->command_size, frame, size);
    link->command_size += size;
    mmi_link_dirty(link);
    return MM_OK;
}

void
mmi_link_commands_begin(mmi_link *link)
{
    link->command_out = link->commands;
    link->command_out_size = link->command_size;
    link->command_sent = 0;
    link->commands = NULL;
    link->command_size = link->command_cap = link->folded_size = 0;
    link->cancels_wait = false;
}

void
mmi_link_commands_end(mmi_link *link)
{
    mmi_free(link->command_out);
    if (link->asked > 0 && !link->wire->beats && link->command_size == 0) {
        mmi_socket_note(link->socket, MM_PEERS);   /* all that can be known of them: written */
    }
    link->command_out = NULL;
    link->command_out_size = link->command_sent = 0;
}
