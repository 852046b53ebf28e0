/*
 * arrays.c - the addresses of arrays' elements, and a key of their types and shapes
 */
#include "arrays.h"
#include "objects.h"

enum {
    FIRST_CHECK = 8, /* of set_torch()'s arguments */
    CHECKS = 8,      /* of torch's state, at most */
    DL_CUDA = 2,     /* DLPack's numbers */
    DL_FLOAT32 = 2 | 32 << 8
};

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

/* Offsets into a storage, in bytes, are below this; most addresses of memory are not. */
static const uint64_t offsets_end = UINT64_C(1) << 40;

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

/* Set by Python, once. */
static struct {
    PyTypeObject *numpy;
    PyTypeObject *torch;
    const dl_exchange *exchange;
    PyObject *is_neg;
    PyObject *grad_enabled;
    PyObject *forward_ad;
    PyObject *written;   /* written(x) tells autograd that a tensor was written */
    PyObject *offset_of; /* offset_of(x) returns a tensor's first element in its storage */
    PyObject *modes;     /* modes() returns how many modes of torch's dispatcher are active */
    PyObject *checks[CHECKS];
    int checks_count;
    PyObject *setting;     /* setting(backend, operation) returns torch's precision of products */
    PyObject *backends[2]; /* its first argument for a CPU and for CUDA */
    PyObject *operation;
    PyObject *products;      /* a dict from its results to @products of heed.attention() */
    PyObject *full;          /* @products for other results, and for other types than float32 */
    PyObject *requires_grad; /* names of attributes */
    PyObject *current_level;
} known;

int arrays_init(void)
{
    known.requires_grad = PyUnicode_InternFromString("requires_grad");
    known.current_level = PyUnicode_InternFromString("_current_level");
    return known.requires_grad && known.current_level;
}

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

/* Returns true if the storage of @x was freed, as by resize_(0): the address is then only the
 * offset into it, and no storage begins at address 0. */
static int is_freed(PyObject *x, const dl_tensor *tensor)
{
    uint64_t address = (uint64_t)(uintptr_t)tensor->data + tensor->offset;
    if (address >= offsets_end)
        return 0;
    PyObject *offset = call_with(known.offset_of, &x, 1);
    long first = offset ? PyLong_AsLong(offset) : -1;
    drop(offset);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 1;
    }
    return address == (uint64_t)first * (tensor->bits / 8);
}

static int read_torch(PyObject *x, reading *to)
{
    dl_tensor tensor;
    if (!tensor_of(x, &tensor))
        return 0;
    if (tensor.rank < 0 || tensor.rank > RANK || (tensor.rank && !tensor.strides) || !tensor.data)
        return 0;
    if (is_freed(x, &tensor))
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

/* Returns true if tensors may have tangents, which only Python can read. */
static int has_dual_level(void)
{
    PyObject *level = PyDict_GetItemWithError(known.forward_ad, known.current_level);
    long number = level ? PyLong_AsLong(level) : 0;
    if (PyErr_Occurred())
        PyErr_Clear();
    return number >= 0;
}

int read_arrays(PyObject *const *arrays, int count, reading *to)
{
    PyTypeObject *type = arrays[0]->ob_type;
    if (!type || (type != known.numpy && type != known.torch))
        return 0;
    if (type == known.torch && has_dual_level())
        return 0;
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
            !(type == known.numpy ? read_numpy(x, written, to) : read_torch(x, to)))
            return 0;
    }
    return 1;
}

/* Returns true unless torch transforms or traces calls. */
static int is_plain(void)
{
    for (int i = 0; i < known.checks_count; i++)
        if (answers(known.checks[i], NULL))
            return 0;
    return 1;
}

int are_values(PyObject *const *arrays, int count)
{
    if (arrays[0]->ob_type != known.torch)
        return 1;
    if (!is_plain())
        return 0;
    int gradients = answers(known.grad_enabled, NULL);
    for (int i = 0; i < count; i++)
        if (arrays[i] != Py_None &&
            ((gradients && needs_gradient(arrays[i])) || answers(known.is_neg, arrays[i])))
            return 0;
    return 1;
}

int guard_holds(PyObject *guard, PyObject *const *arrays, int count)
{
    PyObject *given[FIXED + OPERANDS];
    size_t tensors = 0;
    for (int i = 0; i < count; i++)
        if (arrays[i] != Py_None)
            given[tensors++] = arrays[i];
    PyObject *answer = call_with(guard, given, tensors);
    int holds = answer ? PyObject_IsTrue(answer) : 0;
    drop(answer);
    if (!answer || holds < 0)
        PyErr_Clear();
    return holds > 0;
}

char *data_of(PyObject *x)
{
    dl_tensor tensor;
    if (x->ob_type == known.numpy)
        return ((const numpy_array *)(const void *)x)->data;
    if (x->ob_type != known.torch)
        return NULL;
    return tensor_of(x, &tensor) ? tensor.data + tensor.offset : NULL;
}

void note_written(PyObject *x)
{
    if (x->ob_type != known.torch)
        return;
    PyObject *answer = call_with(known.written, &x, 1);
    if (!answer)
        PyErr_Clear();
    drop(answer);
}

int stream_of(const reading *from, void **stream)
{
    return known.exchange->stream_of(from->device_type, from->device_id, stream) == 0;
}

int is_without_modes(const PyObject *q)
{
    return known.torch && known.setting && q->ob_type == known.torch && !answers(known.modes, NULL);
}

void add_products(PyObject *products, reading *to)
{
    add_word(to, (int64_t)(intptr_t)products);
}

PyObject *products_of(const reading *from)
{
    if ((from->words[0] >> 16 & 0xffff) != DL_FLOAT32)
        return known.full;
    int cuda = (int32_t)from->words[1] == DL_CUDA;
    PyObject *arguments[] = { known.backends[cuda], known.operation };
    PyObject *setting = call_with(known.setting, arguments, 2);
    PyObject *products = setting ? PyDict_GetItemWithError(known.products, setting) : NULL;
    drop(setting);
    return products || PyErr_Occurred() ? products : known.full;
}

PyObject *set_numpy(PyObject *self, PyObject *const *x, Py_ssize_t count)
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

PyObject *set_torch(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    if (count < FIRST_CHECK || count > FIRST_CHECK + CHECKS)
        return refuse("set_torch(type, exchange, is_neg, grad_enabled, forward_ad, written, "
                      "offset_of, modes, *checks)");
    const dl_exchange *exchange = PyCapsule_GetPointer(x[1], "dlpack_exchange_api");
    if (!exchange)
        return NULL;
    if (exchange->major != 1 || !exchange->tensor_of || !exchange->stream_of)
        return refuse("set_torch: another DLPackExchangeAPI");
    known.exchange = exchange;
    known.is_neg = keep(x[2]);
    known.grad_enabled = keep(x[3]);
    known.forward_ad = keep(x[4]);
    known.written = keep(x[5]);
    known.offset_of = keep(x[6]);
    known.modes = keep(x[7]);
    known.checks_count = 0;
    for (Py_ssize_t i = FIRST_CHECK; i < count; i++)
        known.checks[known.checks_count++] = keep(x[i]);
    known.torch = (PyTypeObject *)(void *)keep(x[0]);
    return none();
}

PyObject *set_products(PyObject *self, PyObject *const *x, Py_ssize_t count)
{
    (void)self;
    if (count != 6)
        return refuse("set_products(setting, cpu, cuda, operation, products, full)");
    known.backends[0] = keep(x[1]);
    known.backends[1] = keep(x[2]);
    known.operation = keep(x[3]);
    known.products = keep(x[4]);
    known.full = keep(x[5]);
    known.setting = keep(x[0]);
    return none();
}
