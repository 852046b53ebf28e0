/*
 * cubin.c - reads the resource usage of kernels from a cubin
 *
 * ELF is specified in the System V ABI. NVIDIA does not document the other parts, so
 * tests/lab/inspect/test_cubin.c checks what is used here against the assembler's report, for every
 * architecture.
 */
#include "inspect/cubin.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/control.h"

enum {
    HEADER_SIZE = 64,
    SECTION_SIZE = 64,
    SYMBOL_SIZE = 24,
    MACHINE_CUDA = 190,
    SECTION_SYMBOLS = 2,
    EXECUTABLE = 2,              /* a loadable file; a linkable one has 1 */
    SECTION_EMPTY = 8,           /* has a size, but no data in the file */
    SECTION_SHARED = 0x7000000a, /* the same in a linkable file */
    SYMBOL_FUNCTION = 2,
    SYMBOL_ENTRY = 0x10, /* of st_other: a kernel, not a function that kernels call */
    ABI_SPLIT_FLAGS = 8, /* from this ABI version on the architecture is one byte higher */
    KERNELS_MAX = 4096
};

/* Attributes of .nv.info. The data of those with 8 bytes and of the maximum of threads follow their
 * header. */
enum {
    FORM_BYTE = 2,
    FORM_HALF = 3,
    FORM_DATA = 4,
    ATTRIBUTE_MAX_THREADS = 0x05, /* x, y, z */
    ATTRIBUTE_PARAMETERS = 0x0a,  /* symbol; offset and size, of 16 bits */
    ATTRIBUTE_SHAPE = 0x10,       /* x, y, z */
    ATTRIBUTE_FRAME = 0x11,       /* symbol, bytes */
    ATTRIBUTE_REGISTERS = 0x2f,   /* symbol, count */
    ATTRIBUTE_BARRIERS = 0x4c
};

/* A section with checked bounds: data to data + size is inside the file, or data is NULL. */
typedef struct elf_section {
    const char *name;
    uint32_t type, link, info;
    uint64_t size, flags;
    const unsigned char *data;
} elf_section;

typedef struct cubin_reader {
    const char *file; /* its name, for messages */
    const unsigned char *data;
    size_t size;
    elf_section *sections;
    size_t section_count;
    uint32_t *symbols; /* of each kernel: its symbol ... */
    uint32_t *texts;   /* ... and its section */
    lab_cubin *cubin;
    lab_error *error;
} cubin_reader;

static heed_status corrupt(const cubin_reader *reader, const char *what)
{
    return lab_fail(reader->error, HEED_ERR_CORRUPT, "%s: damaged cubin: %s", reader->file, what);
}

static uint32_t get16(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

static uint32_t get32(const unsigned char *at)
{
    return get16(at) | get16(at + 2) << 16;
}

static uint64_t get64(const unsigned char *at)
{
    return get32(at) | (uint64_t)get32(at + 4) << 32;
}

/* -------------------------------------------------------------------------- */
/* Header and sections                                                        */
/* -------------------------------------------------------------------------- */

/* Rejects other compiler outputs that contain cubins, with advice on extraction. */
static heed_status refuse_container(const cubin_reader *reader)
{
    static const unsigned char fatbin[4] = { 0x50, 0xed, 0x55, 0xba };
    static const char target[] = "\n.target sm_";
    static const char advice[] = "'cuobjdump --extract-elf all FILE' extracts its cubins";
    const unsigned char *head = reader->data;
    if (reader->size >= sizeof fatbin && memcmp(head, fatbin, sizeof fatbin) == 0)
        return lab_fail(reader->error, HEED_ERR_UNSUPPORTED, "%s: a fatbin, not a cubin; %s",
                        reader->file, advice);
    if (reader->size > 0 &&
        memmem(head, reader->size < 4096 ? reader->size : 4096, target, strlen(target)))
        return lab_fail(reader->error, HEED_ERR_UNSUPPORTED,
                        "%s: PTX, not machine code; 'ptxas -arch sm_90 FILE -o FILE.cubin' makes "
                        "a cubin of it",
                        reader->file);
    if (reader->size < HEADER_SIZE || memcmp(head, "\177ELF", 4) != 0)
        return lab_fail(reader->error, HEED_ERR_CORRUPT, "%s: not an ELF file, so no cubin",
                        reader->file);
    if (head[5] == 1 && get16(head + 18) == MACHINE_CUDA)
        return HEED_OK;
    return lab_fail(
        reader->error, HEED_ERR_UNSUPPORTED,
        "%s: an ELF file of machine %u; a cubin is of machine %d. If a program or object "
        "holds kernels, %s",
        reader->file, get16(head + 18), MACHINE_CUDA, advice);
}

static heed_status read_header(cubin_reader *reader)
{
    const unsigned char *head = reader->data;
    heed_status status = refuse_container(reader);
    if (status != HEED_OK)
        return status;
    if (head[4] != 2)
        return corrupt(reader, "it is not 64-bit");
    uint32_t flags = get32(head + 48);
    reader->cubin->arch = (int)((head[8] >= ABI_SPLIT_FLAGS ? flags >> 8 : flags) & 0xff);
    return HEED_OK;
}

/* The string at @offset in the section @names; NULL if it does not end in it. */
static const char *get_text(const elf_section *names, uint64_t offset)
{
    if (!names->data || offset >= names->size)
        return NULL;
    const char *text = (const char *)names->data + offset;
    return memchr(text, '\0', (size_t)(names->size - offset)) ? text : NULL;
}

static heed_status place_section(const cubin_reader *reader, const unsigned char *entry,
                                 elf_section *section)
{
    uint64_t offset = get64(entry + 24);
    section->type = get32(entry + 4);
    section->flags = get64(entry + 8);
    section->size = get64(entry + 32);
    section->link = get32(entry + 40);
    section->info = get32(entry + 44);
    if (section->type == SECTION_EMPTY || section->type == SECTION_SHARED)
        return section->size <= INT32_MAX ? HEED_OK : corrupt(reader, "a section is too large");
    if (offset > reader->size || section->size > reader->size - offset)
        return corrupt(reader, "a section is outside the file");
    section->data = reader->data + offset;
    return HEED_OK;
}

static heed_status read_sections(cubin_reader *reader)
{
    const unsigned char *head = reader->data;
    uint64_t offset = get64(head + 40);
    size_t count = get16(head + 60), names = get16(head + 62);
    if (get16(head + 58) != SECTION_SIZE || count == 0 || names >= count)
        return corrupt(reader, "it has no table of sections");
    if (offset > reader->size || count > (reader->size - offset) / SECTION_SIZE)
        return corrupt(reader, "its table of sections is outside the file");
    reader->sections = calloc(count, sizeof *reader->sections);
    if (!reader->sections)
        return lab_fail(reader->error, HEED_ERR_NO_MEMORY, "%s: no memory for %zu sections",
                        reader->file, count);
    reader->section_count = count;
    for (size_t i = 0; i < count; i++) {
        heed_status status = place_section(reader, head + offset + i * SECTION_SIZE,
                                           &reader->sections[i]);
        if (status != HEED_OK)
            return status;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t name = get32(head + offset + i * SECTION_SIZE);
        reader->sections[i].name = get_text(&reader->sections[names], name);
        if (!reader->sections[i].name)
            return corrupt(reader, "a section's name is outside its table");
    }
    return HEED_OK;
}

/* -------------------------------------------------------------------------- */
/* Symbols: the list of kernels                                               */
/* -------------------------------------------------------------------------- */

static bool is_kernel(const unsigned char *symbol)
{
    return (symbol[4] & 0xf) == SYMBOL_FUNCTION && (symbol[5] & SYMBOL_ENTRY) &&
           get16(symbol + 6) != 0;
}

/* Allocates room for the kernels of the table. */
static heed_status make_room(cubin_reader *reader, const elf_section *table)
{
    size_t count = 0;
    for (uint64_t at = 0; at + SYMBOL_SIZE <= table->size; at += SYMBOL_SIZE)
        count += is_kernel(table->data + at);
    if (count > KERNELS_MAX)
        return lab_fail(reader->error, HEED_ERR_UNSUPPORTED, "%s: %zu kernels; at most %d are read",
                        reader->file, count, KERNELS_MAX);
    reader->cubin->kernels = calloc(count + 1, sizeof *reader->cubin->kernels);
    reader->symbols = calloc(count + 1, sizeof *reader->symbols);
    reader->texts = calloc(count + 1, sizeof *reader->texts);
    if (reader->cubin->kernels && reader->symbols && reader->texts)
        return HEED_OK;
    return lab_fail(reader->error, HEED_ERR_NO_MEMORY, "%s: no memory for %zu kernels",
                    reader->file, count);
}

/* Reads the section of a kernel's code. Newer files also have the number of registers elsewhere. */
static heed_status add_kernel(cubin_reader *reader, const elf_section *names,
                              const unsigned char *symbol, uint32_t index)
{
    const char *name = get_text(names, get32(symbol));
    uint32_t text = get16(symbol + 6);
    if (!name)
        return corrupt(reader, "a kernel's name is outside its table");
    if (text >= reader->section_count)
        return corrupt(reader, "a kernel has no code");
    const elf_section *code = &reader->sections[text];
    lab_cubin_kernel *kernel = &reader->cubin->kernels[reader->cubin->count];
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    lab_control_replace(kernel->name, '?'); /* it is shown on a terminal */
    kernel->registers = (int)(code->info >> 24);
    kernel->barriers = (int)(code->flags >> 20 & 0x7f);
    kernel->code = (int64_t)code->size;
    kernel->spill_stores = kernel->spill_loads = -1;
    reader->symbols[reader->cubin->count] = index;
    reader->texts[reader->cubin->count++] = text;
    return HEED_OK;
}

static heed_status read_symbols(cubin_reader *reader)
{
    size_t at = 0;
    while (at < reader->section_count && reader->sections[at].type != SECTION_SYMBOLS)
        at++;
    if (at == reader->section_count)
        return corrupt(reader, "it has no table of symbols");
    const elf_section table = reader->sections[at];
    if (table.link >= reader->section_count)
        return corrupt(reader, "its symbols have no names");
    const elf_section names = reader->sections[table.link];
    heed_status status = make_room(reader, &table);
    for (uint64_t i = 0; status == HEED_OK && (i + 1) * SYMBOL_SIZE <= table.size; i++) {
        const unsigned char *symbol = table.data + i * SYMBOL_SIZE;
        if (is_kernel(symbol))
            status = add_kernel(reader, &names, symbol, (uint32_t)i);
    }
    return status;
}

static lab_cubin_kernel *kernel_of(const cubin_reader *reader, const uint32_t *numbers,
                                   uint32_t number)
{
    for (size_t i = 0; i < reader->cubin->count; i++)
        if (numbers[i] == number)
            return &reader->cubin->kernels[i];
    return NULL;
}

/* -------------------------------------------------------------------------- */
/* Attributes                                                                 */
/* -------------------------------------------------------------------------- */

/* Reads three numbers and their product; false: not a valid block shape. */
static bool take_shape(const unsigned char *data, uint32_t size, int shape[3], int *threads)
{
    uint64_t product = size >= 12;
    for (int i = 0; i < 3 && size >= 12; i++) {
        shape[i] = get16(data + 4 * i);
        product *= (uint64_t)shape[i];
    }
    if (product == 0 || product > INT32_MAX)
        return false;
    *threads = (int)product;
    return true;
}

/* Reads an attribute with @size bytes at @data. @owner is the kernel of the section, or NULL for
 * the section of the file, where attributes name their kernel's symbol. */
static void take_data(const cubin_reader *reader, lab_cubin_kernel *owner, int attribute,
                      const unsigned char *data, uint32_t size)
{
    lab_cubin_kernel *named = size >= 8 ? kernel_of(reader, reader->symbols, get32(data)) : NULL;
    int shape[3], threads;
    switch (attribute) {
    case ATTRIBUTE_REGISTERS:
        if (named && get32(data + 4) <= 256)
            named->registers = (int)get32(data + 4);
        break;
    case ATTRIBUTE_FRAME:
        if (named)
            named->stack = get32(data + 4);
        break;
    case ATTRIBUTE_PARAMETERS:
        if (owner && size >= 8)
            owner->params = get16(data + 6);
        break;
    case ATTRIBUTE_MAX_THREADS:
        if (owner && take_shape(data, size, shape, &threads))
            owner->max_threads = threads;
        break;
    case ATTRIBUTE_SHAPE:
        if (owner && take_shape(data, size, shape, &threads)) {
            memcpy(owner->shape, shape, sizeof shape);
            owner->max_threads = threads;
        }
        break;
    default:
        break;
    }
}

static heed_status read_attributes(const cubin_reader *reader, const elf_section *section)
{
    lab_cubin_kernel *owner = section->info ? kernel_of(reader, reader->texts, section->info)
                                            : NULL;
    const unsigned char *at = section->data, *end = at + section->size;
    while (end - at >= 4) {
        int form = at[0], attribute = at[1];
        uint32_t value = get16(at + 2);
        at += 4;
        if (form == FORM_DATA) {
            if ((uint64_t)(end - at) < value)
                return corrupt(reader, "an attribute is outside its section");
            take_data(reader, owner, attribute, at, value);
            at += value;
        } else if (owner && attribute == ATTRIBUTE_BARRIERS)
            owner->barriers = (int)(value & 0xff);
    }
    return at == end ? HEED_OK : corrupt(reader, "an attribute is cut off");
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* If the system reserves shared memory, the section sizes include it. Debug code has no section for
 * it, only the symbol. Linkable code has the symbol too, but reserves nothing.
 */
static int64_t reserved_smem(const cubin_reader *reader)
{
    static const char symbol[] = ".nv.reservedSmem.offset0";
    if (get16(reader->data + 16) == EXECUTABLE &&
        memmem(reader->data, reader->size, symbol, strlen(symbol)))
        return 1024;
    for (size_t i = 0; i < reader->section_count; i++)
        if (starts_with(reader->sections[i].name, ".nv.shared.reserved."))
            return 1024;
    return 0;
}

/* The assembler's signature is "Cuda compilation tools, release 13.0, V13.0.88". */
static void read_compiler(const cubin_reader *reader, const elf_section *section)
{
    static const char head[] = "Cuda compilation tools, release ";
    char line[80] = "";
    const unsigned char *at = memmem(section->data, section->size, head, strlen(head));
    if (!at)
        return;
    size_t left = (size_t)(section->data + section->size - at);
    memcpy(line, at, left < sizeof line ? left : sizeof line - 1);
    sscanf(line + strlen(head), "%*[0-9.], %31[V0-9.]", reader->cubin->compiler);
}

static heed_status read_resources(const cubin_reader *reader)
{
    int64_t reserved = reserved_smem(reader);
    heed_status status = HEED_OK;
    for (size_t i = 0; i < reader->section_count && status == HEED_OK; i++) {
        const elf_section *section = &reader->sections[i];
        lab_cubin_kernel *owner = kernel_of(reader, reader->texts, section->info);
        int64_t size = (int64_t)section->size;
        if (starts_with(section->name, ".nv.info") && section->data)
            status = read_attributes(reader, section);
        else if (starts_with(section->name, ".note.nv.") && section->data)
            read_compiler(reader, section);
        else if (owner && starts_with(section->name, ".nv.shared."))
            owner->smem = size > reserved ? size - reserved : 0;
        else if (owner && starts_with(section->name, ".nv.constant0."))
            owner->constant = size;
    }
    return status;
}

/* -------------------------------------------------------------------------- */
/* The whole                                                                  */
/* -------------------------------------------------------------------------- */

heed_status lab_cubin_read(lab_cubin *cubin, const void *data, size_t size, const char *name,
                           lab_error *error)
{
    cubin_reader reader = {
        .file = name, .data = data, .size = size, .cubin = cubin, .error = error
    };
    *cubin = (lab_cubin){ .kernels = NULL };
    heed_status status = read_header(&reader);
    if (status == HEED_OK)
        status = read_sections(&reader);
    if (status == HEED_OK)
        status = read_symbols(&reader);
    if (status == HEED_OK)
        status = read_resources(&reader);
    free(reader.sections);
    free(reader.symbols);
    free(reader.texts);
    if (status != HEED_OK)
        lab_cubin_free(cubin);
    return status;
}

void lab_cubin_free(lab_cubin *cubin)
{
    free(cubin->kernels);
    *cubin = (lab_cubin){ .kernels = NULL };
}

/* -------------------------------------------------------------------------- */
/* Spills, which only the assembler's log has                                 */
/* -------------------------------------------------------------------------- */

/* The line after "Function properties for NAME" reads "... N bytes stack frame, N bytes spill
 * stores, N bytes spill loads". */
void lab_cubin_spills(lab_cubin *cubin, const char *log)
{
    static const char head[] = "Function properties for ";
    for (const char *at = log; (at = strstr(at, head));) {
        const char *name = at + strlen(head);
        size_t length = strcspn(name, "\r\n");
        const char *line = name + length + strspn(name + length, "\r\n");
        const char *frame = strstr(line, " bytes stack frame, ");
        long long stores, loads;
        at = line;
        if (!frame || frame - line > 64 ||
            sscanf(frame, " bytes stack frame, %lld bytes spill stores, %lld bytes spill loads",
                   &stores, &loads) != 2)
            continue;
        for (size_t i = 0; i < cubin->count; i++) {
            lab_cubin_kernel *kernel = &cubin->kernels[i];
            if (strlen(kernel->name) != length || strncmp(kernel->name, name, length) != 0)
                continue;
            kernel->spill_stores = stores;
            kernel->spill_loads = loads;
        }
    }
}
