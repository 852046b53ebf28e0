/*
 * test_npy.c - .npy files: those written by NumPy are read, damaged ones are refused with a
 * specific message
 */
#include "run_tests.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/tensor/convert.h"
#include "lab/tensor/npy.h"
#include "scratch.h"

#define DATA(name) HEED_SOURCE_DIR "/tests/data/" name

/* A file of version @major with @dict as its header and @data_size bytes of data that count up from
 * 0. */
static size_t build(unsigned char *file, int major, const char *dict, size_t data_size)
{
    size_t length = strlen(dict), at = 8;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (unsigned char)major;
    file[7] = 0;
    for (int i = 0; i < (major == 1 ? 2 : 4); i++)
        file[at++] = (unsigned char)(length >> (8 * i));
    memcpy(file + at, dict, length);
    at += length;
    for (size_t i = 0; i < data_size; i++)
        file[at++] = (unsigned char)i;
    return at;
}

static heed_status read_bytes(void **state, const void *bytes, size_t size, int bits,
                              lab_tensor *tensor, lab_error *error)
{
    char path[SCRATCH_PATH_SIZE];
    scratch_write(scratch_path(state, "x.npy", path), bytes, size);
    return lab_npy_read(tensor, path, bits, error);
}

/* Arrays written by NumPy: 0, 1, 2, ... */
static void reads_files_of_numpy(void **state)
{
    static const struct {
        const char *path;
        heed_type type;
        int rank;
        int64_t shape[4];
    } files[] = {
        { DATA("f4_v1.npy"), HEED_F32, 4, { 1, 3, 2, 2 } },
        { DATA("f2_v2.npy"), HEED_F16, 2, { 3, 2 } },
        { DATA("f4_v3.npy"), HEED_F32, 1, { 5 } },
        { DATA("f4_scalar.npy"), HEED_F32, 0, { 0 } },
        { DATA("u2.npy"), HEED_BF16, 1, { 4 } },
        { DATA("v2.npy"), HEED_BF16, 1, { 4 } },
        { DATA("f4_empty.npy"), HEED_F32, 2, { 0, 3 } },
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        lab_tensor tensor;
        lab_error error = { "" };
        heed_status status = lab_npy_read(&tensor, files[i].path, HEED_BF16, &error);
        assert_string_equal(error.text, "");
        assert_int_equal(status, HEED_OK);
        assert_int_equal(tensor.type, files[i].type);
        assert_int_equal(tensor.rank, files[i].rank);
        for (int d = 0; d < tensor.rank; d++)
            assert_int_equal(tensor.shape[d], files[i].shape[d]);
        for (int64_t j = 0; j < lab_tensor_elements(&tensor); j++)
            assert_true(lab_element_get(tensor.type, tensor.data, j) == (double)j);
        assert_int_equal((uintptr_t)tensor.data % HEED_ALIGNMENT, 0);
        lab_tensor_free(&tensor);
    }
}

static void reads_headers_in_other_words(void **state)
{
    static const char *const dicts[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
        "{'shape':(2,3),'fortran_order':False,'descr':'<f4'}",
        "  {\"descr\" : \"<f4\" ,\"fortran_order\":False, 'shape': ( 2 , 3 , ) ,}  \n",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (6,)}", /* one dimension has only one
                                                                   * order */
    };
    for (size_t i = 0; i < sizeof dicts / sizeof dicts[0]; i++)
        for (int major = 1; major <= 3; major++) {
            unsigned char file[512];
            lab_tensor tensor;
            lab_error error = { "" };
            size_t size = build(file, major, dicts[i], 24);
            heed_status status = read_bytes(state, file, size, LAB_NPY_REFUSE, &tensor, &error);
            assert_string_equal(error.text, "");
            assert_int_equal(status, HEED_OK);
            assert_int_equal(lab_tensor_elements(&tensor), 6);
            assert_memory_equal(tensor.data, file + size - 24, 24);
            lab_tensor_free(&tensor);
        }
}

/* An invalid header, the status, and a part of the message. */
static const text_code bad_headers[] = {
    { "{'descr': '>f4', 'fortran_order': False, 'shape': (6,)}", HEED_ERR_UNSUPPORTED,
      "big-endian" },
    { "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", HEED_ERR_UNSUPPORTED,
      "Python objects" },
    { "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}", HEED_ERR_UNSUPPORTED, "'<f8'" },
    { "{'descr': '<i4', 'fortran_order': False, 'shape': (6,)}", HEED_ERR_UNSUPPORTED, "'<i4'" },
    { "{'descr': '<u2', 'fortran_order': False, 'shape': (12,)}", HEED_ERR_UNSUPPORTED,
      "type bf16" },
    { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}", HEED_ERR_UNSUPPORTED,
      "record" },
    { "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", HEED_ERR_UNSUPPORTED,
      "fortran_order" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}", HEED_ERR_CORRUPT, "[7]" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (5,)}", HEED_ERR_CORRUPT,
      "20 bytes of data, and 24" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6)}",
      HEED_ERR_UNSUPPORTED, "8 dimensions" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4)}",
      HEED_ERR_CORRUPT, "addressed" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999,)}", HEED_ERR_CORRUPT,
      "digits" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (-6,)}", HEED_ERR_CORRUPT, "dimension" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (6)}", HEED_ERR_CORRUPT, "tuple" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", HEED_ERR_CORRUPT, "','" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': 6}", HEED_ERR_CORRUPT, "parentheses" },
    { "{'descr': '<f4', 'fortran_order': 0, 'shape': (6,)}", HEED_ERR_CORRUPT, "True or False" },
    { "{'descr': <f4, 'fortran_order': False, 'shape': (6,)}", HEED_ERR_CORRUPT, "descr" },
    { "{'descr': '<f4', 'fortran_order': False}", HEED_ERR_CORRUPT, "lacks 'shape'" },
    { "{'fortran_order': False, 'shape': (6,)}", HEED_ERR_CORRUPT, "lacks 'descr'" },
    { "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", HEED_ERR_CORRUPT,
      "twice" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'x': 1}", HEED_ERR_CORRUPT, "'x'" },
    { "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} 1", HEED_ERR_CORRUPT, "the end" },
    { "{'descr' '<f4', 'fortran_order': False, 'shape': (6,)}", HEED_ERR_CORRUPT, "':'" },
    { "{'descr': '<f4' 'fortran_order': False, 'shape': (6,)}", HEED_ERR_CORRUPT, "'}'" },
    { "['descr']", HEED_ERR_CORRUPT, "'{'" },
    { "", HEED_ERR_CORRUPT, "'{'" },
};

static void refuses_bad_headers(void **state)
{
    for (size_t i = 0; i < sizeof bad_headers / sizeof bad_headers[0]; i++) {
        unsigned char file[512];
        lab_tensor tensor;
        lab_error error = { "" };
        size_t size = build(file, 1, bad_headers[i].given, 24);
        heed_status status = read_bytes(state, file, size, LAB_NPY_REFUSE, &tensor, &error);
        if (!strstr(error.text, bad_headers[i].wanted) || !strstr(error.text, "x.npy"))
            fail_msg("%s\n gave: %s", bad_headers[i].given, error.text);
        assert_int_equal(status, bad_headers[i].code);
        assert_null(tensor.data);
    }
}

static void refuses_a_file_cut_at_any_byte(void **state)
{
    unsigned char file[512];
    size_t size = build(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
                        24);
    for (size_t cut = 0; cut < size; cut++) {
        lab_tensor tensor;
        lab_error error = { "" };
        assert_int_equal(read_bytes(state, file, cut, LAB_NPY_REFUSE, &tensor, &error),
                         HEED_ERR_CORRUPT);
        assert_non_null(strstr(error.text, "x.npy"));
        assert_null(tensor.data);
    }
    file[size] = 0;
    lab_tensor tensor;
    assert_int_equal(read_bytes(state, file, size + 1, LAB_NPY_REFUSE, &tensor, NULL),
                     HEED_ERR_CORRUPT);
}

/* With any single bit flipped before the data, the result is an array that fits the size or an
 * error. */
static void survives_any_flipped_bit(void **state)
{
    unsigned char file[512];
    size_t size = build(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
                        24);
    for (size_t bit = 0; bit < 8 * (size - 24); bit++) {
        lab_tensor tensor;
        lab_error error = { "" };
        file[bit / 8] ^= (unsigned char)(1 << bit % 8);
        heed_status status = read_bytes(state, file, size, LAB_NPY_REFUSE, &tensor, &error);
        if (status == HEED_OK)
            assert_int_equal(lab_tensor_bytes(&tensor), 24);
        else
            assert_string_not_equal(error.text, "");
        lab_tensor_free(&tensor);
        file[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static void refuses_other_files(void **state)
{
    lab_tensor tensor;
    lab_error error;
    char path[SCRATCH_PATH_SIZE];
    assert_int_equal(
        lab_npy_read(&tensor, scratch_path(state, "none.npy", path), LAB_NPY_REFUSE, &error),
        HEED_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "none.npy: No such file"));
    assert_int_equal(lab_npy_read(&tensor, *state, LAB_NPY_REFUSE, &error), HEED_ERR_SYSTEM);
    assert_int_equal(read_bytes(state, "PK\3\4 a zip file", 16, LAB_NPY_REFUSE, &tensor, &error),
                     HEED_ERR_CORRUPT);
    assert_non_null(strstr(error.text, "not a .npy file"));
    assert_int_equal(
        read_bytes(state, "\x93NUMPY\4\0\0\0\0\0", 12, LAB_NPY_REFUSE, &tensor, &error),
        HEED_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "version 4.0"));
    assert_int_equal(
        read_bytes(state, "\x93NUMPY\2\0\0\0\1\0", 12, LAB_NPY_REFUSE, &tensor, &error),
        HEED_ERR_CORRUPT);
    assert_non_null(strstr(error.text, "65536 bytes long"));
}

static void writes_what_it_reads(void **state)
{
    static const heed_type types[] = { HEED_F32, HEED_F16, HEED_BF16 };
    static const int64_t shapes[][4] = { { 2, 3, 4, 5 }, { 7, 0, 0, 0 }, { 1, 1, 0, 0 } };
    for (int rank = 0; rank <= 4; rank++)
        for (size_t i = 0; i < 9; i++) {
            lab_tensor tensor, again;
            char path[SCRATCH_PATH_SIZE];
            unsigned char file[4096];
            assert_int_equal(lab_tensor_create(&tensor, types[i % 3], shapes[i / 3], rank, NULL),
                             HEED_OK);
            memset(tensor.data, 0x3c, lab_tensor_bytes(&tensor));
            assert_int_equal(lab_npy_write(&tensor, scratch_path(state, "out.npy", path), NULL),
                             HEED_OK);
            size_t size = scratch_read(path, file, sizeof file);
            assert_int_equal((size - lab_tensor_bytes(&tensor)) % 64, 0);
            assert_int_equal(lab_npy_read(&again, path, HEED_BF16, NULL), HEED_OK);
            assert_int_equal(again.type, tensor.type);
            assert_int_equal(again.rank, rank);
            assert_memory_equal(again.shape, tensor.shape, sizeof tensor.shape);
            assert_memory_equal(again.data, tensor.data, lab_tensor_bytes(&tensor));
            lab_tensor_free(&tensor);
            lab_tensor_free(&again);
        }
}

/* A file is replaced completely or not at all; its permissions are kept, a symlink stays a symlink,
 * a device stays a device. */
static void replaces_files_with_care(void **state)
{
    lab_tensor tensor;
    lab_error error;
    struct stat facts;
    char path[SCRATCH_PATH_SIZE], link_path[SCRATCH_PATH_SIZE];
    const int64_t shape[] = { 3 };

    assert_int_equal(lab_tensor_create(&tensor, HEED_F32, shape, 1, NULL), HEED_OK);
    scratch_write(scratch_path(state, "old.npy", path), "old", 3);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("old.npy", scratch_path(state, "link.npy", link_path)), 0);
    assert_int_equal(lab_npy_write(&tensor, link_path, &error), HEED_OK);
    assert_int_equal(lstat(link_path, &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0640);
    assert_int_equal(facts.st_size, 128 + 12);

    assert_int_equal(lab_npy_write(&tensor, "/dev/null", &error), HEED_OK);
    assert_int_equal(stat("/dev/null", &facts), 0);
    assert_true(S_ISCHR(facts.st_mode));
    if (stat("/dev/full", &facts) == 0) {
        assert_int_equal(lab_npy_write(&tensor, "/dev/full", &error), HEED_ERR_SYSTEM);
        assert_non_null(strstr(error.text, "/dev/full: No space left"));
    }
    assert_int_equal(
        lab_npy_write(&tensor, scratch_path(state, "no/such/folder.npy", path), &error),
        HEED_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "folder.npy: No such file"));
    lab_tensor_free(&tensor);
}

static void tensors_know_their_limits(void **state)
{
    lab_tensor tensor;
    lab_error error;
    const int64_t huge[] = { INT64_MAX, INT64_MAX }, negative[] = { 2, -1 },
                  nothing[] = { INT64_MAX, INT64_MAX, 0 },
                  half[] = { (int64_t)1 << 61 }; /* bytes beyond PTRDIFF_MAX */
    assert_int_equal(lab_tensor_create(&tensor, HEED_F32, huge, 2, &error), HEED_ERR_INVALID);
    assert_non_null(strstr(error.text, "[9223372036854775807, 9223372036854775807]"));
    assert_int_equal(lab_tensor_create(&tensor, HEED_F32, negative, 2, &error), HEED_ERR_INVALID);
    assert_int_equal(lab_tensor_create(&tensor, HEED_F32, half, 1, &error), HEED_ERR_INVALID);
    assert_int_equal(lab_tensor_create(&tensor, HEED_F32, nothing, 9, &error), HEED_ERR_INVALID);
    assert_int_equal(lab_tensor_create(&tensor, HEED_F32, nothing, 3, &error), HEED_OK);
    assert_int_equal(lab_tensor_elements(&tensor), 0);
    lab_tensor_free(&tensor);
}

static void tensors_convert(void **state)
{
    lab_tensor tensor;
    const int64_t shape[] = { 2 };
    assert_int_equal(lab_tensor_create(&tensor, HEED_F32, shape, 1, NULL), HEED_OK);
    lab_element_set(HEED_F32, tensor.data, 0, 1.0 + 1.0 / 512);
    lab_element_set(HEED_F32, tensor.data, 1, -3.0);
    assert_int_equal(lab_tensor_convert(&tensor, HEED_BF16, NULL), HEED_OK);
    assert_int_equal(tensor.type, HEED_BF16);
    assert_true(lab_element_get(HEED_BF16, tensor.data, 0) == 1.0);
    assert_true(lab_element_get(HEED_BF16, tensor.data, 1) == -3.0);
    lab_tensor_free(&tensor);
}

RUN_TESTS_WITHIN(scratch_open, scratch_close, reads_files_of_numpy, reads_headers_in_other_words,
                 refuses_bad_headers, refuses_a_file_cut_at_any_byte, survives_any_flipped_bit,
                 refuses_other_files, writes_what_it_reads, replaces_files_with_care,
                 tensors_know_their_limits, tensors_convert)
