/*
 * binding/module.c: the few calls that are made once a message, as Python functions of their own.
 *
 * cffi converts each argument and lets go of the interpreter's lock around each call; for a message
 * of 64 bytes that costs several times what the core does (ADR 12).  These take
 * bytes objects as they are, and let go of the lock only for what may enter the kernel.
 * Not here: asking (binding/ask.c) and answering (binding/reply.c); anything that is not done once
 * a message; other kinds of buffers than bytes.
 * Law: limited API; a function gives the core's code, and raises only for what is no call at all.
 */
#include "binding/binding.h"

static PyMethodDef native_methods[] = {
    { "send", (PyCFunction)(void (*)(void))mmi_py_send, METH_FASTCALL, NULL },
    { "send_method", (PyCFunction)(void (*)(void))mmi_py_send_method, METH_FASTCALL, NULL },
    { "recv_method", mmi_py_recv_method, METH_O, NULL },
    { "append_method", (PyCFunction)(void (*)(void))mmi_py_append_method, METH_FASTCALL, NULL },
    { "async_calls", mmi_py_async_calls, METH_O, NULL },
    { "async_turn", mmi_py_async_turn, METH_NOARGS, NULL },
    { "async_rests", mmi_py_async_rests, METH_O, NULL },
    { "aiter", (PyCFunction)(void (*)(void))mmi_py_aiter, METH_FASTCALL, NULL },
    { "send_confirmed", (PyCFunction)(void (*)(void))mmi_py_send_confirmed, METH_FASTCALL, NULL },
    { "send_frames", (PyCFunction)(void (*)(void))mmi_py_send_frames, METH_FASTCALL, NULL },
    { "send_list", (PyCFunction)(void (*)(void))mmi_py_send_list, METH_FASTCALL, NULL },
    { "gather", (PyCFunction)(void (*)(void))mmi_py_gather, METH_FASTCALL, NULL },
    { "spool_append", (PyCFunction)(void (*)(void))mmi_py_spool_append, METH_FASTCALL, NULL },
    { "spool_put", (PyCFunction)(void (*)(void))mmi_py_spool_put, METH_FASTCALL, NULL },
    { "spool_take", (PyCFunction)(void (*)(void))mmi_py_spool_take, METH_FASTCALL, NULL },
    { "spool_rows", (PyCFunction)(void (*)(void))mmi_py_spool_rows, METH_FASTCALL, NULL },
    { "spool_blocks", (PyCFunction)(void (*)(void))mmi_py_spool_blocks, METH_FASTCALL, NULL },
    { "all_bytes", mmi_py_all_bytes, METH_O, NULL },
    { "parts", mmi_py_parts, METH_O, NULL },
    { "request", (PyCFunction)(void (*)(void))mmi_py_request, METH_FASTCALL, NULL },
    { "await_reply", (PyCFunction)(void (*)(void))mmi_py_await_reply, METH_FASTCALL, NULL },
    { "no_way", mmi_py_no_way, METH_NOARGS, NULL },
    { "waker_take", mmi_py_waker_take, METH_O, NULL },
    { "ask", (PyCFunction)(void (*)(void))mmi_py_ask, METH_FASTCALL, NULL },
    { "replies", mmi_py_replies, METH_O, NULL },
    { "watch", (PyCFunction)(void (*)(void))mmi_py_watch, METH_FASTCALL, NULL },
    { "poll", (PyCFunction)(void (*)(void))mmi_py_poll, METH_FASTCALL, NULL },
    { "reply_now", (PyCFunction)(void (*)(void))mmi_py_reply_now, METH_FASTCALL, NULL },
    { "call", (PyCFunction)(void (*)(void))mmi_py_call, METH_FASTCALL, NULL },
    { "survey", (PyCFunction)(void (*)(void))mmi_py_survey, METH_FASTCALL, NULL },
    { "form", (PyCFunction)(void (*)(void))mmi_py_form, METH_FASTCALL, NULL },
    { "ready", (PyCFunction)(void (*)(void))mmi_py_ready, METH_FASTCALL, NULL },
    { "stream", (PyCFunction)(void (*)(void))mmi_py_stream, METH_FASTCALL, NULL },
    { "answers", (PyCFunction)(void (*)(void))mmi_py_answers, METH_FASTCALL, NULL },
    { "message_class", (PyCFunction)(void (*)(void))mmi_py_class, METH_FASTCALL, NULL },
    { "peers", (PyCFunction)(void (*)(void))mmi_py_peers, METH_FASTCALL, NULL },
    { "check", (PyCFunction)(void (*)(void))mmi_py_check, METH_FASTCALL, NULL },
    { NULL, NULL, 0, NULL },
};

static struct PyModuleDef native_module = {
    PyModuleDef_HEAD_INIT,
    "meshmsg._native",
    "Calls made once a message.",
    -1,
    native_methods,
    NULL,
    NULL,
    NULL,
    NULL,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    bool there = mmi_py_form_init() && mmi_py_ready_init() && mmi_py_hold_init() &&
                 mmi_py_stream_init() && mmi_py_reply_init() && mmi_py_coroutine_init() &&
                 mmi_py_async_init() && mmi_py_spool_init();
    PyObject *module = there ? PyModule_Create(&native_module) : NULL;
    if (module != NULL && (PyModule_AddIntConstant(module, "ASYNC_MAX", MMI_PY_ASYNC_MAX) != 0 ||
                           !mmi_py_socket_init(module) || !mmi_py_append_init(module))) {
        Py_CLEAR(module);
    }
    return module;
}
