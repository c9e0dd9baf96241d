/*
 * czmq_peer.c: a peer program, one socket of libczmq that does what its input asks.
 * Not here: what the requests are (tests/support/peerproc.py), and anything of meshmsg.
 * Law: each request gets one answer, whatever comes of it; the end of the input is a good end.
 */
#include <czmq.h>

enum { LINE_BYTES = 1024, NAME_BYTES = 256, RECONNECT_MS = 20 };

/* Do a request; what stands after its verb is args. False: errno says why, and nothing was said. */
typedef bool (*peer_verb_fn)(zsock_t **sock, char *args);

static zactor_t *peer_auth; /* that reads passwords; NULL: nobody does */

static bool
peer_ok(void)
{
    return printf("ok\n") > 0;
}

static bool
peer_close(zsock_t **sock, char *args)
{
    (void)args;
    zsock_destroy(sock);
    zactor_destroy(&peer_auth);
    return peer_ok();
}

static bool
peer_open(zsock_t **sock, char *args)
{
    int kind, wait_ms;
    char name[NAME_BYTES];
    errno = EINVAL;
    if (sscanf(args, "%d %255s %d", &kind, name, &wait_ms) != 3) {
        return false;
    }
    zsock_destroy(sock);
    *sock = zsock_new(kind);
    if (*sock == NULL) {
        return false;
    }
    zsock_set_linger(*sock, 0);
    zsock_set_reconnect_ivl(*sock, RECONNECT_MS);
    zsock_set_rcvtimeo(*sock, wait_ms);
    zsock_set_sndtimeo(*sock, wait_ms);
    if (kind == ZMQ_ROUTER) {
        zsock_set_router_handover(*sock, 1);
    }
    if (kind == ZMQ_ROUTER || kind == ZMQ_DEALER || kind == ZMQ_REQ) {
        zsock_set_identity(*sock, name);
    }
    return peer_ok();
}

static bool
peer_secure(zsock_t **sock, char *args)
{
    char how[NAME_BYTES], one[NAME_BYTES], two[NAME_BYTES], server[NAME_BYTES];
    int words = sscanf(args, "%255s %255s %255s %255s", how, one, two, server);
    errno = EINVAL;
    if (words == 2 && strcmp(how, "plain-server") == 0) {
        zactor_destroy(&peer_auth);
        peer_auth = zactor_new(zauth, NULL);
        zstr_sendx(peer_auth, "PLAIN", one, NULL);
        (void)zsock_wait(peer_auth);
        zsock_set_plain_server(*sock, 1);
        return peer_ok();
    }
    if (words < 3) {
        return false;
    }
    if (strcmp(how, "plain-client") == 0) {
        zsock_set_plain_username(*sock, one);
        zsock_set_plain_password(*sock, two);
        return peer_ok();
    }
    zsock_set_curve_publickey(*sock, one);
    zsock_set_curve_secretkey(*sock, two);
    if (strcmp(how, "curve-server") == 0) {
        zsock_set_curve_server(*sock, 1);
    } else if (words == 4) {
        zsock_set_curve_serverkey(*sock, server);
    } else {
        return false;
    }
    return peer_ok();
}

static bool
peer_bind(zsock_t **sock, char *args)
{
    return zsock_bind(*sock, "%s", args) >= 0 && printf("ok %s\n", zsock_endpoint(*sock)) > 0;
}

static bool
peer_connect(zsock_t **sock, char *args)
{
    return zsock_connect(*sock, "%s", args) == 0 && peer_ok();
}

/* Read that many octets of the input, and a zero after them. NULL: the input ended. */
static char *
peer_octets(size_t size)
{
    char *octets = malloc(size + 1);
    if (octets == NULL || fread(octets, 1, size, stdin) != size) {
        free(octets);
        return NULL;
    }
    octets[size] = '\0';
    return octets;
}

/* libczmq takes topics as strings. */
static bool
peer_topic(zsock_t *sock, const char *args, void (*set)(void *, const char *))
{
    char *topic = peer_octets(strtoul(args, NULL, 10));
    if (topic == NULL) {
        return false;
    }
    set(sock, topic);
    free(topic);
    return peer_ok();
}

static bool
peer_subscribe(zsock_t **sock, char *args)
{
    return peer_topic(*sock, args, zsock_set_subscribe);
}

static bool
peer_unsubscribe(zsock_t **sock, char *args)
{
    return peer_topic(*sock, args, zsock_set_unsubscribe);
}

static bool
peer_send(zsock_t **sock, char *args)
{
    zmsg_t *msg = zmsg_new();
    for (char *word = strtok(args, " "); word != NULL; word = strtok(NULL, " ")) {
        size_t size = strtoul(word, NULL, 10);
        char *octets = peer_octets(size);
        if (octets == NULL) {
            zmsg_destroy(&msg);
            return false;
        }
        zmsg_addmem(msg, octets, size);
        free(octets);
    }
    if (zmsg_send(&msg, *sock) != 0) {
        zmsg_destroy(&msg);
        return false;
    }
    return peer_ok();
}

static bool
peer_recv(zsock_t **sock, char *args)
{
    (void)args;
    zmsg_t *msg = zmsg_recv(*sock);
    if (msg == NULL) {
        return false;
    }
    printf("frames");
    for (zframe_t *frame = zmsg_first(msg); frame != NULL; frame = zmsg_next(msg)) {
        printf(" %zu", zframe_size(frame));
    }
    printf("\n");
    for (zframe_t *frame = zmsg_first(msg); frame != NULL; frame = zmsg_next(msg)) {
        fwrite(zframe_data(frame), 1, zframe_size(frame), stdout);
    }
    zmsg_destroy(&msg);
    return true;
}

static bool
peer_poll(zsock_t **sock, char *args)
{
    zpoller_t *poller = zpoller_new(*sock, NULL);
    void *which = zpoller_wait(poller, atoi(args));
    zpoller_destroy(&poller);
    return printf("ok %d\n", which != NULL) > 0;
}

static bool
peer_events(zsock_t **sock, char *args)
{
    (void)args;
    return printf("ok %d\n", zsock_events(*sock)) > 0;
}

static const struct {
    const char *word;
    peer_verb_fn run;
    bool needs_socket;
} peer_verbs[] = {
    { "open", peer_open, false },
    { "close", peer_close, false },
    { "secure", peer_secure, true },
    { "bind", peer_bind, true },
    { "connect", peer_connect, true },
    { "subscribe", peer_subscribe, true },
    { "unsubscribe", peer_unsubscribe, true },
    { "send", peer_send, true },
    { "recv", peer_recv, true },
    { "poll", peer_poll, true },
    { "events", peer_events, true },
};

static void
peer_answer(zsock_t **sock, char *line)
{
    char *args = line + strcspn(line, " ");
    if (*args != '\0') {
        *args++ = '\0';
    }
    for (size_t i = 0; i < sizeof peer_verbs / sizeof peer_verbs[0]; i++) {
        if (strcmp(peer_verbs[i].word, line) != 0) {
            continue;
        }
        if (peer_verbs[i].needs_socket && *sock == NULL) {
            printf("error no socket is open\n");
        } else if (!peer_verbs[i].run(sock, args)) {
            printf("error %s\n", zmq_strerror(errno));
        }
        return;
    }
    printf("error what is %s?\n", line);
}

int
main(void)
{
    int major, minor, patch;
    char line[LINE_BYTES];
    zsock_t *sock = NULL;
    zsys_version(&major, &minor, &patch);
    printf("ready %d.%d.%d\n", major, minor, patch);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        peer_answer(&sock, line);
        fflush(stdout);
    }
    zsock_destroy(&sock);
    zactor_destroy(&peer_auth);
    return 0;
}
