/*
 * call.c - a call that is known, from Python's objects to heed_execute()
 *
 * The Python package checks a call the first time, and leaves with this module what it found: a
 * plan, and how the result is made. again() then takes a call of the same kind from its arrays to
 * the kernel: it makes a key of types, devices, shapes and strides, looks the key up in a dict,
 * reads the pointers and executes. A call that it cannot take for sure is answered with None, and
 * goes the long way in Python, which has the messages.
 *
 * Arrays of NumPy are read where their C API has them (PyArrayObject_fields, the same since NumPy
 * 1.0; Python compares one with its attributes before this is used), tensors of PyTorch by the
 * table of functions that DLPack 1.3 describes (DLPackExchangeAPI).
 */
#include "python.h"

#include <heed.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIXED = 4,    /* q, k, v, out */
    OPERANDS = 6, /* at most, after them */
    RANK = 8,     /* an array of more dimensions goes the long way */
    CHECKS = 8,   /* of torch's state */
    WORDS = (FIXED + OPERANDS) * (3 + 2 * RANK)
};

/* ---- Told by Python, once ------------------------------------------------------------------ */

/* NumPy's PyArrayObject_fields. */
typedef struct numpy_array {
    PyObject head;
    char *data;
    int rank;
    intptr_t *shape;
    intptr_t *strides;
    PyObject *base;
    PyObject *dtype;
    int flags;
} numpy_array;

enum {
    NUMPY_WRITEABLE = 0x400
};

/* DLPack's DLTensor and DLPackExchangeAPI. */
typedef struct dl_tensor {
    char *data;
    int32_t device_type;
    int32_t device_id;
    int32_t rank;
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides;
    uint64_t offset;
} dl_tensor;

typedef struct dl_exchange {
    uint32_t major;
    uint32_t minor;
    void *previous;
    void *allocate;
    void *from_object;
    void *to_object;
    int (*tensor_of)(void *object, dl_tensor *tensor);
    int (*stream_of)(int device_type, int32_t device_id, void **stream);
} dl_exchange;

typedef heed_status execute_function(const heed_plan *plan, const heed_buffers *buffers);

static struct {
    execute_function *execute;
    PyObject *check;     /* check(status) raises the exception of a status */
    PyObject *workspace; /* workspace(q, size, stream) makes a tensor of so many bytes */
    PyTypeObject *numpy;
    PyTypeObject *torch;
    const dl_exchange *exchange;
    PyObject *is_neg;
    PyObject *grad_enabled;
    PyObject *forward_ad;     /* the names of torch.autograd.forward_ad */
    PyObject *checks[CHECKS]; /* functions whose answer is false in torch's plain state */
    int checks_count;
    PyObject *requires_grad; /* names of attributes */
    PyObject *current_level;
} known;

static PyObject *none(void)
{
    Py_IncRef(Py_None);
    return Py_None;
}

/* Since Python 3.11 a function; NULL before. */
#pragma weak PyObject_Vectorcall

/* function(*arguments), with 3 of them at most. */
static PyObject *call_with(PyObject *function, PyObject *const *arguments, size_t count)
{
    if (PyObject_Vectorcall)
        return PyObject_Vectorcall(function, arguments, count, NULL);
    PyObject *x[3] = { NULL, NULL, NULL };
    for (size_t i = 0; i < count; i++)
        x[i] = arguments[i];
    return PyObject_CallFunctionObjArgs(function, x[0], x[1], x[2], NULL);
}

static PyObject *refuse(const char *text)
{
    PyErr_SetString(PyExc_TypeError, text);
    return NULL;
}

/* ---- Reading arrays -------------------------------------------------------------------------- */

/* Some arrays of one call. */
typedef struct reading {
    char *data[FIXED + OPERANDS];
    int count;
    int device_type; /* of the last one; DLPack's numbers */
    int32_t device_id;
    int words_count;
    int64_t words[WORDS]; /* the key */
} reading;

static void add_word(reading *to, int64_t word)
{
    to->words[to->words_count++] = word;
}

static int read_numpy(PyObject *x, int written, reading *to)
{
    const numpy_array *array = (const numpy_array *)(const void *)x;
    if (array->rank < 0 || array->rank > RANK || (written && !(array->flags & NUMPY_WRITEABLE)))
        return 0;
    add_word(to, 1 | (int64_t)array->rank << 8);
    add_word(to, (int64_t)(intptr_t)array->dtype);
    for (int i = 0; i < array->rank; i++) {
        add_word(to, array->shape[i]);
        add_word(to, array->strides[i]);
    }
    to->data[to->count] = array->data;
    to->device_type = 1;
    to->device_id = 0;
    return 1;
}

/* Whether a function, or a method of @x, answers true; also where it fails. */
static int answers(PyObject *function, PyObject *x)
{
    PyObject *answer = call_with(function, &x, x ? 1 : 0);
    int yes = answer ? PyObject_IsTrue(answer) : 1;
    if (answer)
        Py_DecRef(answer);
    if (!answer || yes < 0)
        PyErr_Clear();
    return yes != 0;
}

static int needs_gradient(PyObject *x)
{
    PyObject *wanted = PyObject_GetAttr(x, known.requires_grad);
    int yes = wanted ? PyObject_IsTrue(wanted) : 1;
    if (wanted)
        Py_DecRef(wanted);
    else
        PyErr_Clear();
    return yes;
}

static int tensor_of(PyObject *x, dl_tensor *tensor)
{
    if (known.exchange->tensor_of(x, tensor) == 0)
        return 1;
    PyErr_Clear();
    return 0;
}

static int read_torch(PyObject *x, int gradients, reading *to)
{
    dl_tensor tensor;
    if ((gradients && needs_gradient(x)) || answers(known.is_neg, x) || !tensor_of(x, &tensor))
        return 0;
    if (tensor.rank < 0 || tensor.rank > RANK || (tensor.rank && !tensor.strides))
        return 0;
    add_word(to, 2 | (int64_t)tensor.rank << 8 | (int64_t)tensor.code << 16 |
                     (int64_t)tensor.bits << 24 | (int64_t)tensor.lanes << 32);
    add_word(to, tensor.device_type | (int64_t)tensor.device_id << 32);
    for (int i = 0; i < tensor.rank; i++) {
        add_word(to, tensor.shape[i]);
        add_word(to, tensor.strides[i]);
    }
    to->data[to->count] = tensor.data + tensor.offset;
    to->device_type = tensor.device_type;
    to->device_id = tensor.device_id;
    return 1;
}

/* Reads arrays of one library; None stands for one that is not there. Returns 0 where the call
 * must go the long way. */
static int read_arrays(PyObject *const *arrays, int count, reading *to)
{
    PyTypeObject *type = arrays[0]->ob_type;
    if (!type || (type != known.numpy && type != known.torch))
        return 0;
    int gradients = type == known.torch && answers(known.grad_enabled, NULL);
    to->words_count = 0;
    for (to->count = 0; to->count < count; to->count++) {
        PyObject *x = arrays[to->count];
        if (x == Py_None) {
            to->data[to->count] = NULL;
            add_word(to, 0);
            continue;
        }
        int written = to->count == FIXED - 1;
        if (x->ob_type != type ||
            !(type == known.numpy ? read_numpy(x, written, to) : read_torch(x, gradients, to)))
            return 0;
    }
    return 1;
}

static PyObject *key_of(const reading *from)
{
    return PyBytes_FromStringAndSize((const char *)from->words,
                                     from->words_count * (Py_ssize_t)sizeof *from->words);
}

static char *data_of(PyObject *x)
{
    dl_tensor tensor;
    if (x->ob_type == known.numpy)
        return ((const numpy_array *)(const void *)x)->data;
    if (x->ob_type != known.torch)
        return NULL;
    return tensor_of(x, &tensor) ? tensor.data + tensor.offset : NULL;
}

/* ---- Plans and calls ------------------------------------------------------------------------- */

static const char plan_name[] = "heed.plan", call_name[] = "heed.call";

typedef struct plan_state {
    const heed_plan *plan; /* NULL: it is closed */
    size_t workspace_size;
    int cuda;
} plan_state;

/* How a result is made: function(*arguments, **words), or function(q) without arguments. */
typedef struct maker {
    PyObject *function; /* NULL: it is not made */
    PyObject *arguments;
    PyObject *words;
} maker;

typedef struct call_state {
    PyObject *plan; /* a capsule */
    PyObject *keep; /* what must live as long */
    maker o;
    maker lse;
    size_t offset[OPERANDS]; /* in heed_buffers */
    int operands;
    long long count; /* of calls */
} call_state;

static void drop(PyObject *x)
{
    if (x)
        Py_DecRef(x);
}

static PyObject *keep(PyObject *x)
{
    if (!x || x == Py_None)
        return NULL;
    Py_IncRef(x);
    return x;
}

static void free_plan(PyObject *capsule)
{
    free(PyCapsule_GetPointer(capsule, plan_name));
}

static void free_call(PyObject *capsule)
{
    call_state *call = PyCapsule_GetPointer(capsule, call_name);
    PyObject *owned[] = { call->plan,      call->keep,         call->o.function,
                          call->o.words,   call->o.arguments,  call->lse.function,
                          call->lse.words, call->lse.arguments };
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
    *plan = (plan_state){ PyLong_AsVoidPtr(x[0]), PyLong_AsSize_t(x[1]), PyObject_IsTrue(x[2]) };
    PyObject *capsule = PyErr_Occurred() ? NULL : PyCapsule_New(plan, plan_name, free_plan);
    if (!capsule)
        free(plan);
    return capsule;
}

static PyObject *close_plan(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    plan_state *plan = count == 1 ? PyCapsule_GetPointer(x[0], plan_name) : NULL;
    if (!plan)
        return PyErr_Occurred() ? NULL : refuse("close(plan)");
    plan->plan = NULL;
    return none();
}

/* A maker of a tuple (function, arguments, words), or of None. */
static maker maker_of(PyObject *tuple)
{
    maker made = { NULL, NULL, NULL };
    if (tuple != Py_None && PyTuple_Size(tuple) == 3) {
        made.function = keep(PyTuple_GetItem(tuple, 0));
        made.arguments = keep(PyTuple_GetItem(tuple, 1));
        made.words = keep(PyTuple_GetItem(tuple, 2));
    }
    return made;
}

/* call(plan, offsets, o, lse, keep): what again() needs. @offsets are those of the operands in
 * heed_buffers. */
static PyObject *make_call(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    if (count != 5 || !PyCapsule_GetPointer(x[0], plan_name))
        return PyErr_Occurred() ? NULL : refuse("call(plan, offsets, o, lse, keep)");
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

/* ---- Workspace of a CPU ---------------------------------------------------------------------- */

/* Each thread has one, as large as any plan of it needed. */
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

static PyObject *make(const maker *how, PyObject *q)
{
    if (how->arguments)
        return PyObject_Call(how->function, how->arguments, how->words);
    return call_with(how->function, &q, 1);
}

/* Sets the stream of a CUDA device and the workspace. *@workspace is a tensor to be kept until the
 * work has begun, or NULL. Returns 0 with an exception. */
static int place(const plan_state *plan, const reading *from, PyObject *q, heed_buffers *buffers,
                 PyObject **workspace)
{
    if (plan->cuda &&
        known.exchange->stream_of(from->device_type, from->device_id, &buffers->stream) != 0)
        return 0;
    if (plan->workspace_size == 0)
        return 1;
    buffers->workspace_size = plan->workspace_size;
    if (!plan->cuda) {
        buffers->workspace = arena_of(plan->workspace_size);
        if (!buffers->workspace)
            PyErr_NoMemory();
        return buffers->workspace != NULL;
    }
    PyObject *size = PyLong_FromLongLong((long long)plan->workspace_size);
    PyObject *stream = PyLong_FromVoidPtr(buffers->stream);
    PyObject *arguments[] = { q, size, stream };
    *workspace = size && stream ? call_with(known.workspace, arguments, 3) : NULL;
    drop(size);
    drop(stream);
    buffers->workspace = *workspace ? data_of(*workspace) : NULL;
    if (*workspace && !buffers->workspace)
        refuse("heed: the workspace is no tensor");
    if (buffers->workspace)
        buffers->workspace = (void *)(((uintptr_t)buffers->workspace + HEED_ALIGNMENT - 1) &
                                      ~(uintptr_t)(HEED_ALIGNMENT - 1));
    return buffers->workspace != NULL;
}

/* Executes with the results' memory known. Returns 0 with an exception. */
static int execute(const plan_state *plan, heed_buffers *buffers)
{
    PyThreadState *state = PyEval_SaveThread();
    heed_status status = known.execute(plan->plan, buffers);
    PyEval_RestoreThread(state);
    if (status == HEED_OK)
        return 1;
    PyObject *answer = PyObject_CallFunction(known.check, "i", (int)status);
    drop(answer);
    if (answer)
        refuse("heed: check() has not raised");
    return 0;
}

/* Makes @how's array unless @given; *@data becomes its memory. */
static PyObject *result_of(const maker *how, PyObject *q, PyObject *given, void *data)
{
    PyObject *made = given;
    if (given)
        Py_IncRef(given);
    else
        made = make(how, q);
    char *at = made ? data_of(made) : NULL;
    if (made && !at) {
        Py_DecRef(made);
        return PyErr_Occurred() ? NULL : refuse("heed: the result has no memory");
    }
    memcpy(data, &at, sizeof at);
    return made;
}

static PyObject *run(call_state *call, const plan_state *plan, PyObject *const *arrays,
                     const reading *from)
{
    heed_buffers buffers = {
        .size = sizeof buffers, .q = from->data[0], .k = from->data[1], .v = from->data[2]
    };
    for (int i = 0; i < call->operands && FIXED + i < from->count; i++)
        if (from->data[FIXED + i])
            memcpy((char *)&buffers + call->offset[i], &from->data[FIXED + i],
                   sizeof from->data[FIXED + i]);
    PyObject *q = arrays[0], *out = arrays[3] == Py_None ? NULL : arrays[3];
    if (!out && !call->o.function)
        return none();
    PyObject *lse = NULL, *workspace = NULL, *answer = NULL;
    PyObject *o = result_of(&call->o, q, out, &buffers.o);
    if (o && call->lse.function)
        lse = result_of(&call->lse, q, NULL, &buffers.lse);
    if (o && (lse || !call->lse.function) && place(plan, from, q, &buffers, &workspace) &&
        execute(plan, &buffers)) {
        call->count++;
        answer = lse ? PyTuple_Pack(2, o, lse) : keep(o);
    }
    drop(workspace);
    drop(lse);
    drop(o);
    return answer;
}

/* ---- Finding a call -------------------------------------------------------------------------- */

/* Answers of lookup(), since a key of Python's takes a quarter of a microsecond to make. Objects
 * are held, so that their addresses mean them alone. */
typedef struct memo {
    PyObject *calls;
    PyObject *words;
    PyObject *capsule;
    int key_count;
    int64_t key[WORDS];
} memo;

enum {
    MEMOS = 16 /* as many as 4 bits count */
};

static memo memos[MEMOS];

static memo *memo_of(const PyObject *calls, const reading *from)
{
    uint64_t mix = (uint64_t)(uintptr_t)calls;
    for (int i = 0; i < from->words_count; i++)
        mix = (mix ^ (uint64_t)from->words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &memos[mix >> 60];
}

/* Whether two tuples have the same objects. */
static int same_objects(PyObject *x, PyObject *y)
{
    if (x == y)
        return 1;
    if (x == Py_None || y == Py_None)
        return 0;
    Py_ssize_t size = PyTuple_Size(x);
    if (size < 0 || size != PyTuple_Size(y))
        return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        if (PyTuple_GetItem(x, i) != PyTuple_GetItem(y, i))
            return 0;
    return 1;
}

static int remembers(const memo *kept, const PyObject *calls, PyObject *words, const reading *from)
{
    return kept->calls == calls && kept->key_count == from->words_count &&
           memcmp(kept->key, from->words, (size_t)from->words_count * sizeof *kept->key) == 0 &&
           same_objects(kept->words, words);
}

static void remember(memo *slot, PyObject *calls, PyObject *words, PyObject *capsule,
                     const reading *from)
{
    PyObject *old[] = { slot->calls, slot->words, slot->capsule };
    slot->calls = calls;
    slot->words = words;
    slot->capsule = capsule;
    slot->key_count = from->words_count;
    memcpy(slot->key, from->words, (size_t)from->words_count * sizeof *slot->key);
    Py_IncRef(calls);
    Py_IncRef(words);
    Py_IncRef(capsule);
    for (int i = 0; i < 3; i++) /* last: it may run Python */
        drop(old[i]);
}

/* calls[key, words], a new reference, or NULL. */
static PyObject *lookup(PyObject *calls, PyObject *words, const reading *from)
{
    memo *slot = memo_of(calls, from);
    if (remembers(slot, calls, words, from)) {
        Py_IncRef(slot->capsule);
        return slot->capsule;
    }
    PyObject *bytes = key_of(from);
    PyObject *pair = bytes ? PyTuple_Pack(2, bytes, words) : NULL;
    PyObject *capsule = pair ? keep(PyDict_GetItemWithError(calls, pair)) : NULL;
    drop(pair);
    drop(bytes);
    if (capsule)
        remember(slot, calls, words, capsule, from);
    return capsule;
}

/* Forgets what lookup() has found in @calls. */
static PyObject *forget(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    if (count != 1)
        return refuse("forget(calls)");
    for (int i = 0; i < MEMOS; i++) {
        memo old = memos[i];
        if (old.calls != x[0])
            continue;
        memset(&memos[i], 0, sizeof memos[i]);
        drop(old.calls);
        drop(old.words);
        drop(old.capsule);
    }
    return none();
}

/* again(calls, words, q, k, v, out, *operands): the result of calls[key, words], or None. */
static PyObject *again(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    reading from;
    int arrays = (int)count - 2;
    if (arrays < FIXED || arrays > FIXED + OPERANDS)
        return refuse("again(calls, words, q, k, v, out, *operands)");
    if (!read_arrays(x + 2, arrays, &from))
        return none();
    PyObject *capsule = lookup(x[0], x[1], &from);
    if (!capsule) {
        PyErr_Clear(); /* such as of words that have no hash */
        return none();
    }
    call_state *call = PyCapsule_GetPointer(capsule, call_name);
    plan_state *plan = call ? PyCapsule_GetPointer(call->plan, plan_name) : NULL;
    PyObject *answer = NULL;
    if (plan)
        answer = plan->plan ? run(call, plan, x + 2, &from) : none();
    Py_DecRef(capsule);
    return answer;
}

/* Whether torch is in its plain state: no trace, transform, mode, autocast or tangent. */
static int is_plain(void)
{
    for (int i = 0; i < known.checks_count; i++)
        if (answers(known.checks[i], NULL))
            return 0;
    PyObject *level = PyDict_GetItemWithError(known.forward_ad, known.current_level);
    long number = level ? PyLong_AsLong(level) : 0;
    if (PyErr_Occurred())
        PyErr_Clear();
    return number < 0;
}

/* The same where torch is in its plain state, else None. */
static PyObject *again_plain(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    if (count > 2 && x[2]->ob_type == known.torch && known.torch && is_plain())
        return again(self, x, count);
    return none();
}

/* key(q, k, v, out, *operands): that of again(), or None. */
static PyObject *key(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    reading from;
    if (count < 1 || count > FIXED + OPERANDS)
        return refuse("key(q, k, v, out, *operands)");
    return read_arrays(x, (int)count, &from) ? key_of(&from) : none();
}

/* ---- Setting up ------------------------------------------------------------------------------ */

static PyObject *set_library(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    if (count != 3)
        return refuse("set_library(execute, check, workspace)");
    void *address = PyLong_AsVoidPtr(x[0]);
    if (PyErr_Occurred())
        return NULL;
    memcpy(&known.execute, &address, sizeof address);
    known.check = keep(x[1]);
    known.workspace = keep(x[2]);
    return none();
}

/* numpy(array): (address, shape, strides, dtype, writeable) as they are read here. Its type, if
 * use is true, is that of arrays from now on. */
static PyObject *set_numpy(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    if (count != 2)
        return refuse("set_numpy(array, use)");
    if (PyObject_IsTrue(x[1]) == 1) {
        known.numpy = x[0]->ob_type;
        Py_IncRef((PyObject *)(void *)known.numpy);
        return none();
    }
    const numpy_array *array = (const numpy_array *)(const void *)x[0];
    if (array->rank != 2)
        return refuse("set_numpy: two dimensions are expected");
    return Py_BuildValue("N(nn)(nn)Oi", PyLong_FromVoidPtr(array->data), array->shape[0],
                         array->shape[1], array->strides[0], array->strides[1], array->dtype,
                         (array->flags & NUMPY_WRITEABLE) != 0);
}

/* set_torch(type, exchange, is_neg, grad_enabled, forward_ad, *checks) */
static PyObject *set_torch(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    if (count < 5 || count > 5 + CHECKS)
        return refuse("set_torch(type, exchange, is_neg, grad_enabled, forward_ad, *checks)");
    const dl_exchange *exchange = PyCapsule_GetPointer(x[1], "dlpack_exchange_api");
    if (!exchange)
        return NULL;
    if (exchange->major != 1 || !exchange->tensor_of || !exchange->stream_of)
        return refuse("set_torch: another DLPackExchangeAPI");
    known.exchange = exchange;
    known.is_neg = keep(x[2]);
    known.grad_enabled = keep(x[3]);
    known.forward_ad = keep(x[4]);
    for (Py_ssize_t i = 5; i < count; i++)
        known.checks[known.checks_count++] = keep(x[i]);
    known.torch = (PyTypeObject *)(void *)keep(x[0]);
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
    static PyMethodDef methods[12];
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
        { "again", again },         { "again_plain", again_plain }, { "call", make_call },
        { "close", close_plan },    { "count", count_calls },       { "key", key },
        { "forget", forget },       { "plan", make_plan },          { "set_library", set_library },
        { "set_numpy", set_numpy }, { "set_torch", set_torch },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        methods[i] = (PyMethodDef){ rows[i].name, method(rows[i].function), METH_FASTCALL, NULL };
    known.requires_grad = PyUnicode_InternFromString("requires_grad");
    known.current_level = PyUnicode_InternFromString("_current_level");
    if (!known.requires_grad || !known.current_level || pthread_key_create(&arena_key, free) != 0)
        return NULL;
    return PyModule_Create(&module);
}
