/*
 * memo.c - lookup of known calls
 */
#include "memo.h"
#include "objects.h"

#include <string.h>

/* A cached result of lookup(), as a Python key takes a quarter of a microsecond to make. It holds
 * references, so that no other object can get the same addresses. */
typedef struct memo {
    PyObject *calls;
    PyObject *words;
    PyObject *capsule;
    int key_count;
    int64_t key[WORDS];
} memo;

enum {
    MEMOS = 16, /* 4 bits */
    KINDS = 64  /* at most, of words and of elements of words that are tuples */
};

static memo memos[MEMOS];

static memo *memo_of(const PyObject *calls, const reading *from)
{
    uint64_t mix = (uint64_t)(uintptr_t)calls;
    for (int i = 0; i < from->words_count; i++)
        mix = (mix ^ (uint64_t)from->words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return &memos[mix >> 60];
}

/* Returns true if two tuples have the same objects. */
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

/* Adds the types of a tuple's elements and, if @deep, of the elements of tuples among them. Returns
 * 0 with an exception on failure. */
static int add_kinds(PyObject *words, int deep, int64_t *key, int *count)
{
    Py_ssize_t size = PyTuple_Size(words);
    if (size < 0)
        return 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *word = PyTuple_GetItem(words, i);
        if (*count == WORDS + KINDS) {
            refuse("heed: too many words");
            return 0;
        }
        key[(*count)++] = (int64_t)(intptr_t)word->ob_type;
        if (deep && (PyType_GetFlags(word->ob_type) & Py_TPFLAGS_TUPLE_SUBCLASS) &&
            !add_kinds(word, 0, key, count))
            return 0;
    }
    return 1;
}

PyObject *key_of(const reading *from, PyObject *words)
{
    int64_t key[WORDS + KINDS];
    int count = from->words_count;
    memcpy(key, from->words, (size_t)count * sizeof *key);
    if (words != Py_None && !add_kinds(words, 1, key, &count))
        return NULL;
    return PyBytes_FromStringAndSize((const char *)key, count * (Py_ssize_t)sizeof *key);
}

PyObject *lookup(PyObject *calls, PyObject *words, const reading *from)
{
    memo *slot = memo_of(calls, from);
    if (remembers(slot, calls, words, from)) {
        Py_IncRef(slot->capsule);
        return slot->capsule;
    }
    PyObject *bytes = key_of(from, words);
    PyObject *pair = bytes ? PyTuple_Pack(2, bytes, words) : NULL;
    PyObject *capsule = pair ? keep(PyDict_GetItemWithError(calls, pair)) : NULL;
    drop(pair);
    drop(bytes);
    if (capsule)
        remember(slot, calls, words, capsule, from);
    return capsule;
}

PyObject *forget(PyObject *self, PyObject *const *x, Py_ssize_t count)
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
