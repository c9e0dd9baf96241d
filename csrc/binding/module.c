/*
 * binding/module.c: the few calls that are made once a message, as Python functions of their own.
 *
 * cffi converts each argument and lets go of the interpreter's lock around each call; for a message
 * of 64 bytes that costs several times what the core does (docs/adr: native calls).  These take
 * bytes objects as they are, and let go of the lock only for what may enter the kernel.
 * Not here: asking (binding/ask.c) and answering (binding/reply.c); anything that is not done once
 * a message; other kinds of buffers than bytes.
 * Law: limited API; a function gives the core's code, and raises only for what is no call at all.
 */
#include "binding/binding.h"

static PyMethodDef fast_methods[] = {
    { "send", (PyCFunction)(void (*)(void))mmi_fast_send, METH_FASTCALL, NULL },
    { "send_method", (PyCFunction)(void (*)(void))mmi_fast_send_method, METH_FASTCALL, NULL },
    { "recv_soon", (PyCFunction)(void (*)(void))mmi_fast_recv_soon, METH_FASTCALL, NULL },
    { "next_soon", (PyCFunction)(void (*)(void))mmi_fast_next_soon, METH_FASTCALL, NULL },
    { "course", (PyCFunction)(void (*)(void))mmi_fast_course, METH_FASTCALL, NULL },
    { "send_list", (PyCFunction)(void (*)(void))mmi_fast_send_list, METH_FASTCALL, NULL },
    { "gather", (PyCFunction)(void (*)(void))mmi_fast_gather, METH_FASTCALL, NULL },
    { "all_bytes", mmi_fast_all_bytes, METH_O, NULL },
    { "parts", mmi_fast_parts, METH_O, NULL },
    { "request", (PyCFunction)(void (*)(void))mmi_fast_request, METH_FASTCALL, NULL },
    { "await_reply", (PyCFunction)(void (*)(void))mmi_fast_await_reply, METH_FASTCALL, NULL },
    { "no_way", mmi_fast_no_way, METH_NOARGS, NULL },
    { "waker_take", mmi_fast_waker_take, METH_O, NULL },
    { "ask", (PyCFunction)(void (*)(void))mmi_fast_ask, METH_FASTCALL, NULL },
    { "replies", mmi_fast_replies, METH_O, NULL },
    { "watch", (PyCFunction)(void (*)(void))mmi_fast_watch, METH_FASTCALL, NULL },
    { "poll", (PyCFunction)(void (*)(void))mmi_fast_poll, METH_FASTCALL, NULL },
    { "reply_now", (PyCFunction)(void (*)(void))mmi_fast_reply_now, METH_FASTCALL, NULL },
    { "call", (PyCFunction)(void (*)(void))mmi_fast_call, METH_FASTCALL, NULL },
    { "survey", (PyCFunction)(void (*)(void))mmi_fast_survey, METH_FASTCALL, NULL },
    { "ready", (PyCFunction)(void (*)(void))mmi_fast_ready, METH_FASTCALL, NULL },
    { "stream", (PyCFunction)(void (*)(void))mmi_fast_stream, METH_FASTCALL, NULL },
    { "answers", (PyCFunction)(void (*)(void))mmi_fast_answers, METH_FASTCALL, NULL },
    { "message_class", (PyCFunction)(void (*)(void))mmi_fast_class, METH_FASTCALL, NULL },
    { "check", (PyCFunction)(void (*)(void))mmi_fast_check, METH_FASTCALL, NULL },
    { NULL, NULL, 0, NULL },
};

static struct PyModuleDef fast_module = {
    PyModuleDef_HEAD_INIT, "meshmsg._fast", "Calls made once a message.", -1, fast_methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__fast(void)
{
    bool there = mmi_fast_ready_init() && mmi_fast_receive_init() && mmi_fast_stream_init() &&
                 mmi_fast_reply_init() && mmi_fast_coroutine_init() && mmi_fast_soon_init();
    PyObject *module = there ? PyModule_Create(&fast_module) : NULL;
    if (module != NULL &&
        (PyModule_AddIntConstant(module, "SOON_MAX", MMI_FAST_SOON_MAX) != 0 ||
         !mmi_fast_socket_init(module))) {
        Py_CLEAR(module);
    }
    return module;
}
