/*
 * call.c - known calls, from Python objects to heed_execute()
 *
 * The Python package checks the first call of a kind, and passes its plan and how to make its
 * result to this module. again() then handles calls of the same kind: it makes a key of types,
 * devices, shapes and strides, looks it up in a dict, reads the pointers and executes. If it cannot
 * handle a call, it returns None; Python then makes all checks, and has the error messages.
 */
#include "arrays.h"
#include "memo.h"
#include "objects.h"

#include <heed.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- Set by Python, once --------------------------------------------------------------------- */

typedef heed_status execute_function(const heed_plan *plan, const heed_buffers *buffers);

static struct {
    execute_function *execute;
    PyObject *check; /* check(status) raises the exception of a status */
    PyObject *take;  /* take(device, size, stream) allocates @size bytes on a GPU */
    PyObject *give;  /* give(address) frees them */
} known;

/* ---- Plans and calls ------------------------------------------------------------------------- */

static const char plan_name[] = "heed.plan", call_name[] = "heed.call";

typedef struct plan_state {
    const heed_plan *plan; /* NULL: closed */
    size_t workspace_size;
    int cuda;
    int running; /* executions in other threads, without the interpreter's lock */
} plan_state;

/* How to make a result: function(*arguments, **words). */
typedef struct maker {
    PyObject *function; /* NULL: not made */
    PyObject *arguments;
    PyObject *words;
} maker;

typedef struct call_state {
    PyObject *plan;  /* a capsule */
    PyObject *keep;  /* objects that must live as long */
    PyObject *guard; /* see guard_holds(); NULL: none */
    maker o;
    maker lse;
    size_t offset[OPERANDS]; /* in heed_buffers */
    int operands;
    long long count; /* of calls */
} call_state;

static void free_plan(PyObject *capsule)
{
    free(PyCapsule_GetPointer(capsule, plan_name));
}

static void free_call(PyObject *capsule)
{
    call_state *call = PyCapsule_GetPointer(capsule, call_name);
    PyObject *owned[] = { call->plan,      call->keep,          call->guard,
                          call->o.words,   call->o.arguments,   call->o.function,
                          call->lse.words, call->lse.arguments, call->lse.function };
    free(call);
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        drop(owned[i]);
}

static PyObject *make_plan(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    if (count != 3)
        return refuse("plan(address, workspace_size, cuda)");
    plan_state *plan = malloc(sizeof *plan);
    if (!plan)
        return PyErr_NoMemory();
    *plan = (plan_state){ PyLong_AsVoidPtr(x[0]), PyLong_AsSize_t(x[1]), PyObject_IsTrue(x[2]), 0 };
    PyObject *capsule = PyErr_Occurred() ? NULL : PyCapsule_New(plan, plan_name, free_plan);
    if (!capsule)
        free(plan);
    return capsule;
}

/* close(plan): refuses further executions, and returns the number of those that are running. */
static PyObject *close_plan(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    plan_state *plan = count == 1 ? PyCapsule_GetPointer(x[0], plan_name) : NULL;
    if (!plan)
        return PyErr_Occurred() ? NULL : refuse("close(plan)");
    plan->plan = NULL;
    return PyLong_FromLongLong(plan->running);
}

/* The maker for a tuple (function, arguments, words), or for None. */
static maker maker_of(PyObject *tuple)
{
    maker made = { NULL, NULL, NULL };
    if (tuple != Py_None && PyTuple_Size(tuple) == 3 &&
        PyTuple_Size(PyTuple_GetItem(tuple, 1)) >= 0) {
        made.function = keep(PyTuple_GetItem(tuple, 0));
        made.arguments = keep(PyTuple_GetItem(tuple, 1));
        made.words = keep(PyTuple_GetItem(tuple, 2));
    }
    return made;
}

/* call(plan, offsets, o, lse, keep, guard): the state that again() needs. @offsets are the
 * operands' offsets in heed_buffers. */
static PyObject *make_call(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    if (count != 6 || !PyCapsule_GetPointer(x[0], plan_name))
        return PyErr_Occurred() ? NULL : refuse("call(plan, offsets, o, lse, keep, guard)");
    Py_ssize_t operands = PyTuple_Size(x[1]);
    if (operands < 0 || operands > OPERANDS)
        return PyErr_Occurred() ? NULL : refuse("call: too many operands");
    call_state *call = calloc(1, sizeof *call);
    if (!call)
        return PyErr_NoMemory();
    call->operands = (int)operands;
    for (int i = 0; i < call->operands; i++) {
        call->offset[i] = PyLong_AsSize_t(PyTuple_GetItem(x[1], i));
        if (call->offset[i] > sizeof(heed_buffers) - sizeof(void *)) {
            free(call);
            return PyErr_Occurred() ? NULL : refuse("call: an offset beyond heed_buffers");
        }
    }
    call->plan = keep(x[0]);
    call->o = maker_of(x[2]);
    call->lse = maker_of(x[3]);
    call->keep = keep(x[4]);
    call->guard = keep(x[5]);
    PyObject *capsule = PyErr_Occurred() ? NULL : PyCapsule_New(call, call_name, free_call);
    if (!capsule) {
        PyObject *shell = PyCapsule_New(call, call_name, free_call);
        drop(shell);
    }
    return capsule;
}

static PyObject *count_calls(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    call_state *call = count == 1 ? PyCapsule_GetPointer(x[0], call_name) : NULL;
    if (!call)
        return PyErr_Occurred() ? NULL : refuse("count(call)");
    return PyLong_FromLongLong(call->count);
}

/* ---- CPU workspace --------------------------------------------------------------------------- */

/* Each thread has one, as large as its largest plan needed. */
static _Thread_local struct {
    void *address;
    size_t size;
} arena;
static pthread_key_t arena_key;

static void *arena_of(size_t size)
{
    if (size <= arena.size)
        return arena.address;
    size_t whole = (size + HEED_ALIGNMENT - 1) / HEED_ALIGNMENT * HEED_ALIGNMENT;
    void *larger = aligned_alloc(HEED_ALIGNMENT, whole);
    if (!larger)
        return NULL;
    free(arena.address);
    arena.address = larger;
    arena.size = whole;
    pthread_setspecific(arena_key, larger); /* freed when the thread ends */
    return larger;
}

/* ---- Executing ------------------------------------------------------------------------------- */

/* Allocates a workspace on a GPU; *@taken must be freed. Returns NULL with an exception on
 * failure. */
static void *take_workspace(size_t bytes, const reading *from, void *on, PyObject **taken)
{
    PyObject *device = PyLong_FromLongLong(from->device_id);
    PyObject *size = PyLong_FromLongLong((long long)bytes + HEED_ALIGNMENT);
    PyObject *stream = PyLong_FromVoidPtr(on);
    PyObject *arguments[] = { device, size, stream };
    *taken = device && size && stream ? call_with(known.take, arguments, 3) : NULL;
    drop(device);
    drop(size);
    drop(stream);
    char *address = *taken ? PyLong_AsVoidPtr(*taken) : NULL;
    if (!address && !PyErr_Occurred())
        refuse("heed: the workspace has no address");
    return address ? address + (-(uintptr_t)address & (HEED_ALIGNMENT - 1)) : NULL;
}

/* Sets the stream of a CUDA device and the workspace; *@taken, if not NULL, must be freed. Tensors
 * know the device of their memory, which the key has. Returns 0 with an exception on failure. */
static int place(const plan_state *plan, const reading *from, heed_buffers *buffers,
                 PyObject **taken)
{
    if (plan->cuda && !stream_of(from, &buffers->stream))
        return 0;
    buffers->trusted = plan->cuda;
    if (plan->workspace_size == 0)
        return 1;
    buffers->workspace_size = plan->workspace_size;
    if (plan->cuda) {
        buffers->workspace = take_workspace(plan->workspace_size, from, buffers->stream, taken);
    } else {
        buffers->workspace = arena_of(plan->workspace_size);
        if (!buffers->workspace)
            PyErr_NoMemory();
    }
    return buffers->workspace != NULL;
}

/* Executes and frees the workspace, which torch may reuse for later work on the stream. Returns 0
 * with an exception on failure. */
static int execute(plan_state *plan, heed_buffers *buffers, PyObject *taken)
{
    const heed_plan *open = plan->plan; /* NULL if it was closed meanwhile, which heed refuses */
    plan->running++;
    PyThreadState *state = PyEval_SaveThread();
    heed_status status = known.execute(open, buffers);
    PyEval_RestoreThread(state);
    plan->running--;
    PyObject *given = taken ? call_with(known.give, &taken, 1) : none();
    drop(given);
    if (status == HEED_OK || !given)
        return given != NULL;
    PyObject *answer = PyObject_CallFunction(known.check, "i", (int)status);
    drop(answer);
    if (answer)
        refuse("heed: check() has not raised");
    return 0;
}

/* Makes an array unless @given is one, and sets *@data to its memory. Returns NULL without an
 * exception if it has none, as under a transform of torch. */
static PyObject *result_of(const maker *how, PyObject *given, void *data)
{
    PyObject *made = given ? keep(given) : PyObject_Call(how->function, how->arguments, how->words);
    char *at = made ? data_of(made) : NULL;
    if (made && !at) {
        Py_DecRef(made);
        return NULL;
    }
    memcpy(data, &at, sizeof at);
    return made;
}

static PyObject *run(call_state *call, plan_state *plan, PyObject *const *arrays,
                     const reading *from)
{
    heed_buffers buffers = {
        .size = sizeof buffers, .q = from->data[0], .k = from->data[1], .v = from->data[2]
    };
    for (int i = 0; i < call->operands && FIXED + i < from->count; i++)
        if (from->data[FIXED + i])
            memcpy((char *)&buffers + call->offset[i], &from->data[FIXED + i],
                   sizeof from->data[FIXED + i]);
    PyObject *out = arrays[3] == Py_None ? NULL : arrays[3];
    if (!out && !call->o.function)
        return none();
    PyObject *lse = NULL, *taken = NULL, *answer = NULL;
    PyObject *o = result_of(&call->o, out, &buffers.o);
    if (o && call->lse.function)
        lse = result_of(&call->lse, NULL, &buffers.lse);
    if (o && (lse || !call->lse.function) && place(plan, from, &buffers, &taken) &&
        execute(plan, &buffers, taken)) {
        call->count++;
        if (out)
            note_written(out);
        answer = lse ? PyTuple_Pack(2, o, lse) : keep(o);
    }
    drop(taken);
    drop(lse);
    drop(o);
    return answer || PyErr_Occurred() ? answer : none();
}

/* Returns true if C may compute with the arrays of a known call, and in the state of torch. */
static int is_allowed(const call_state *call, PyObject *const *arrays, int count, int plain)
{
    if (plain && call->guard && guard_holds(call->guard, arrays, count))
        return 1;
    return are_values(arrays, count);
}

/* The result of calls[key, words], or None; the arguments are those of again() or, if @plain, of
 * again_plain(). */
static PyObject *repeat(PyObject *const *x, const reading *from, int plain)
{
    PyObject *capsule = lookup(x[0], x[1], from);
    if (!capsule) {
        PyErr_Clear(); /* a word may have no hash */
        return none();
    }
    call_state *call = PyCapsule_GetPointer(capsule, call_name);
    plan_state *plan = call ? PyCapsule_GetPointer(call->plan, plan_name) : NULL;
    PyObject *answer = NULL;
    if (plan && plan->plan && is_allowed(call, x + 2, from->count, plain))
        answer = run(call, plan, x + 2, from);
    else if (plan)
        answer = none();
    Py_DecRef(capsule);
    return answer;
}

/* Reads the arrays of again(). Returns 0 on failure, possibly with an exception. */
static int read_call(PyObject *const *x, Py_ssize_t count, reading *from)
{
    int arrays = (int)count - 2;
    if (arrays >= FIXED && arrays <= FIXED + OPERANDS)
        return read_arrays(x + 2, arrays, from);
    refuse("again(calls, words, q, k, v, out, *operands)");
    return 0;
}

/* again(calls, words, q, k, v, out, *operands): the result of calls[key, words], or None. */
static PyObject *again(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    reading from;
    if (!read_call(x, count, &from))
        return PyErr_Occurred() ? NULL : none();
    return repeat(x, &from, 0);
}

/* again_plain(): again() if torch is in its plain state, else None. Its key is that of
 * key_plain(). */
static PyObject *again_plain(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    reading from;
    if (count < 3 || !is_without_modes(x[2]) || !read_call(x, count, &from))
        return PyErr_Occurred() ? NULL : none();
    PyObject *products = products_of(&from);
    if (!products)
        return NULL;
    add_products(products, &from);
    return repeat(x, &from, 1);
}

/* Reads the arrays of a call that succeeded. Returns 0 if it cannot be repeated. */
static int read_good(PyObject *const *arrays, Py_ssize_t count, reading *from)
{
    return read_arrays(arrays, (int)count, from) && are_values(arrays, (int)count);
}

/* key(words, q, k, v, out, *operands): the key for again(), or None. */
static PyObject *key(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    reading from;
    if (count < 2 || count > 1 + FIXED + OPERANDS)
        return refuse("key(words, q, k, v, out, *operands)");
    return read_good(x + 1, count - 1, &from) ? key_of(&from, x[0]) : none();
}

/* key_plain(products, words, q, k, v, out, *operands): the key for again_plain(), or None. */
static PyObject *key_plain(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    reading from;
    if (count < 3 || count > 2 + FIXED + OPERANDS)
        return refuse("key_plain(products, words, q, k, v, out, *operands)");
    if (!read_good(x + 2, count - 2, &from))
        return none();
    add_products(x[0], &from);
    return key_of(&from, x[1]);
}

/* ---- Setting up ------------------------------------------------------------------------------ */

static PyObject *set_library(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    if (count != 4)
        return refuse("set_library(execute, check, take, give)");
    void *address = PyLong_AsVoidPtr(x[0]);
    if (PyErr_Occurred())
        return NULL;
    memcpy(&known.execute, &address, sizeof address);
    known.check = keep(x[1]);
    known.take = keep(x[2]);
    known.give = keep(x[3]);
    return none();
}

typedef PyObject *fast_function(PyObject *self, PyObject *const *x, Py_ssize_t count);

static PyCFunction method(fast_function *function)
{
    PyCFunction same;
    memcpy(&same, &function, sizeof same);
    return same;
}

PyMODINIT_FUNC PyInit__call(void);

PyMODINIT_FUNC PyInit__call(void)
{
    static PyMethodDef methods[14];
    static PyModuleDef module = { PyModuleDef_HEAD_INIT,
                                  "_call",
                                  "Known calls of heed; see python/call/call.c.",
                                  -1,
                                  methods,
                                  NULL,
                                  NULL,
                                  NULL,
                                  NULL };
    const struct {
        const char *name;
        fast_function *function;
    } rows[] = {
        { "again", again },         { "again_plain", again_plain },
        { "call", make_call },      { "close", close_plan },
        { "count", count_calls },   { "key", key },
        { "forget", forget },       { "key_plain", key_plain },
        { "plan", make_plan },      { "set_library", set_library },
        { "set_numpy", set_numpy }, { "set_products", set_products },
        { "set_torch", set_torch },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        methods[i] = (PyMethodDef){ rows[i].name, method(rows[i].function), METH_FASTCALL, NULL };
    if (!arrays_init() || pthread_key_create(&arena_key, free) != 0)
        return NULL;
    return PyModule_Create(&module);
}
