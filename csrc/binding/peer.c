/*
 * binding/peer.c: who sent a message, as an object: made once a peer, by Python, and found again.
 *
 * Not here: what it is (_binding/peer.py), the classes of messages (_binding/message.py).
 * Law: the interpreter's lock is held; asking for one that is not here may run anything.  Ids are
 * unique in the process, but for those of batches that came from another: what nothing protects, as
 * those, is apart from what is known, so that nobody is taken for somebody else.
 */
#include "binding/binding.h"

#include <string.h>

enum { PEER_SLOTS = 256 };   /* objects that are at hand; a power of two */

/* The last that was asked for, of those with this number. */
typedef struct peer_slot {
    uint64_t id;
    bool known;
    PyObject *peer, *name;   /* NULL: not asked for */
} peer_slot;

static peer_slot peer_slots[PEER_SLOTS];
static PyObject *peer_plain, *peer_known; /* dicts: classes of messages by the id of a peer */
static PyObject *peer_class_of, *peer_named; /* functions */
static PyObject *peer_attribute;

/* peers(plain: dict, known: dict, class_of(id, user_id, mechanism, properties, metadata),
 * named(class, name)): class_of puts it into known */
PyObject *
mmi_py_peers(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 4 || !PyDict_Check(args[0]) || !PyDict_Check(args[1])) {
        return mmi_py_arguments("(dict, dict, function, function)");
    }
    PyObject **const given[] = { &peer_plain, &peer_known, &peer_class_of, &peer_named };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        Py_INCREF(args[i]);
        Py_XDECREF(*given[i]);
        *given[i] = args[i];
    }
    if (peer_attribute == NULL && (peer_attribute = PyUnicode_InternFromString("peer")) == NULL) {
        return NULL;
    }
    return mmi_py_none();
}

PyObject *
mmi_py_known_at_hand(uint64_t peer)
{
    PyObject *key = PyLong_FromUnsignedLongLong(peer);
    PyObject *type = key != NULL ? PyDict_GetItemWithError(peer_known, key) : NULL;
    Py_XDECREF(key);
    Py_XINCREF(type);
    return type;
}

PyObject *
mmi_py_known_class(const mm_batch *batch, uint64_t peer)
{
    mm_known known = { .user_id = "",
                       .mechanism = "",
                       .properties = (const uint8_t *)"",
                       .metadata = (const uint8_t *)"" };
    PyObject *type = mmi_py_known_at_hand(peer);
    if (type != NULL || PyErr_Occurred() != NULL) {
        return type;
    }
    (void)mm_batch_known(batch, peer, &known);
    PyObject *user =
        PyUnicode_DecodeUTF8(known.user_id, (Py_ssize_t)strlen(known.user_id), "replace");
    if (user == NULL) {
        return NULL;
    }
    type = PyObject_CallFunction(peer_class_of, "KNsy#y#", (unsigned long long)peer, user,
                                 known.mechanism, (const char *)known.properties,
                                 (Py_ssize_t)known.properties_size, (const char *)known.metadata,
                                 (Py_ssize_t)known.metadata_size);
    if (type != NULL && !PyType_Check(type)) {
        Py_DECREF(type);
        return mmi_py_arguments("a class of bytes");
    }
    return type;
}

static PyObject *
peer_class(const mm_batch *batch, uint64_t peer, bool known)
{
    if (known) {
        return mmi_py_known_class(batch, peer);
    }
    PyObject *key = PyLong_FromUnsignedLongLong(peer);
    PyObject *type = key != NULL ? PyObject_GetItem(peer_plain, key) : NULL;
    Py_XDECREF(key);
    return type;
}

/* Its slot becomes that of this peer; what was there may run anything as it goes. */
static void
peer_put(uint64_t id, bool known, PyObject *peer, PyObject *name)
{
    peer_slot *slot = &peer_slots[id % PEER_SLOTS], before = *slot;
    Py_XINCREF(peer);
    Py_XINCREF(name);
    *slot = (peer_slot){ .id = id, .known = known, .peer = peer, .name = name };
    Py_XDECREF(before.peer);
    Py_XDECREF(before.name);
}

PyObject *
mmi_py_peer_of(const mm_batch *batch, uint64_t peer)
{
    bool known = batch != NULL && batch->known != 0;
    const peer_slot *slot = &peer_slots[peer % PEER_SLOTS];
    if (slot->id == peer && slot->known == known && slot->peer != NULL) {
        Py_INCREF(slot->peer);
        return slot->peer;
    }
    PyObject *type = peer_class(batch, peer, known);
    PyObject *found = type != NULL ? PyObject_GetAttr(type, peer_attribute) : NULL;
    Py_XDECREF(type);
    if (found != NULL) {
        peer_put(peer, known, found, NULL);
    }
    return found;
}

PyObject *
mmi_py_peer_named(const mm_batch *batch, uint64_t peer, const uint8_t *data, Py_ssize_t size)
{
    bool known = batch->known != 0;
    const peer_slot *slot = &peer_slots[peer % PEER_SLOTS];
    if (slot->id == peer && slot->known == known && slot->name != NULL &&
        PyBytes_Size(slot->name) == size &&
        memcmp(PyBytes_AsString(slot->name), data, (size_t)size) == 0) {
        Py_INCREF(slot->name);
        return slot->name;
    }
    PyObject *type = peer_class(batch, peer, known);
    PyObject *found = type != NULL ? PyObject_CallFunction(peer_named, "Oy#", type,
                                                           size > 0 ? (const char *)data : "", size)
                                   : NULL;
    Py_XDECREF(type);
    if (found != NULL && !PyBytes_Check(found)) {
        Py_DECREF(found);
        return mmi_py_arguments("bytes");
    }
    if (found != NULL) {
        peer_put(peer, known, NULL, found);
    }
    return found;
}
