/*
 * binding/spool_blocks.c: batches of a spool in a message, for another process.
 *
 * Not here: who asks for them (_ranges), what stands where (spool/blocks.h).
 * Law: the interpreter's lock is not held while a disk is read or octets are copied; nobody else
 * uses the reader meanwhile.
 */
#include "binding/binding.h"

#include <string.h>

#include "base/octets.h"
#include "meshmsg_spool.h"

typedef struct blocks {
    mm_spool_reader *reader;
    uint64_t last, next, goes_on;
    mm_spool_block block;
    bool ready;                  /* a block was loaded, and is not taken yet */
} blocks;

static const char room_name[] = "meshmsg.room", room_taken[] = "meshmsg.room.taken";

static void
room_drop(PyObject *capsule)
{
    mm_room_free(PyCapsule_GetPointer(capsule, room_name));
}

mm_msg *
mmi_py_room_take(PyObject *capsule)
{
    mm_msg *room = PyCapsule_GetPointer(capsule, room_name);
    bool mine = room != NULL && PyCapsule_SetDestructor(capsule, NULL) == 0 &&
                PyCapsule_SetName(capsule, room_taken) == 0;
    return mine ? room : NULL;
}

/* Has the next block ready, if it has a number up to the last.  1, 0, or a code. */
static int
blocks_load(blocks *b)
{
    int rc = b->next <= b->last ? mm_spool_reader_load(b->reader, 0, 0, &b->goes_on) : 0;
    b->ready = rc == 1;
    if (b->ready) {
        mm_spool_reader_block(b->reader, &b->block);
    }
    return rc;
}

/* Puts what fits, and begins with what is ready.  How many octets. */
static size_t
blocks_fill(blocks *b, uint8_t *to, size_t room)
{
    size_t done = 0;
    while (b->ready && room - done >= sizeof b->block.head &&
           room - done - sizeof b->block.head >= b->block.body_size) {
        memcpy(to + done, b->block.head, sizeof b->block.head);
        done += sizeof b->block.head;
        if (b->block.body_size > 0) {
            memcpy(to + done, b->block.body, (size_t)b->block.body_size);
        }
        done += (size_t)b->block.body_size;
        b->next = b->block.last + 1;
        mm_spool_reader_seek(b->reader, b->next);
        (void)blocks_load(b); /* what is amiss is told by the next call */
    }
    return done;
}

/* spool_blocks(reader's address, its next number, last number, most octets, head, at)
 * -> (code, a room or None, octets in it, next number, goes_on): whole batches with numbers from
 * the next to the last, one at least, behind that head, which has the next number in its 8 octets
 * from `at` on.  A room is a capsule, which reply_room takes.  code is 1, or why there is none */
PyObject *
mmi_py_spool_blocks(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 6) {
        return mmi_py_arguments("(address, next, last, most, head, at)");
    }
    char *head;
    Py_ssize_t front;
    blocks b = { .reader = PyLong_AsVoidPtr(args[0]),
                 .next = PyLong_AsUnsignedLongLong(args[1]),
                 .last = PyLong_AsUnsignedLongLong(args[2]) };
    size_t most = PyLong_AsSize_t(args[3]), at = PyLong_AsSize_t(args[5]), done = 0;
    if (PyErr_Occurred() != NULL || PyBytes_AsStringAndSize(args[4], &head, &front) != 0) {
        return NULL;
    }
    if (at + sizeof b.next > (size_t)front) {
        return mmi_py_arguments("a head with room for a number");
    }
    int rc;
    mm_spool_reader_each(b.reader);
    Py_BEGIN_ALLOW_THREADS rc = blocks_load(&b);
    Py_END_ALLOW_THREADS if (rc != 1)
    {
        return Py_BuildValue("(iOiKK)", rc, Py_None, 0, (unsigned long long)b.next,
                             (unsigned long long)b.goes_on);
    }
    size_t first = sizeof b.block.head + (size_t)b.block.body_size;
    most = most > first ? most : first;
    uint8_t *to = NULL;
    mm_msg *room = mm_room_new((uint64_t)front + most, &to);
    if (room == NULL) {
        return PyErr_NoMemory();
    }
    PyObject *made = PyCapsule_New(room, room_name, room_drop);
    if (made == NULL) {
        mm_room_free(room);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS done = blocks_fill(&b, to + front, most);
    Py_END_ALLOW_THREADS memcpy(to, head, (size_t)front);
    mmi_le64_put(to + at, b.next);
    return Py_BuildValue("(iNnKK)", rc, made, front + (Py_ssize_t)done, (unsigned long long)b.next,
                         (unsigned long long)b.goes_on);
}
