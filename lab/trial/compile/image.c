/*
 * image.c - checks and patches the shared object of a candidate before it is loaded
 *
 * Nothing in it is trusted: every offset is checked before use.
 */
#include "lab/trial/compile/image.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

/* Relocations that set one or two words, without a call; all that compilers need. */
#if defined(__x86_64__)
#define RELATIVE_BY_CALL R_X86_64_IRELATIVE
#define TWO_WORDS R_X86_64_TLSDESC
static const uint32_t plain_types[] = {
    R_X86_64_NONE,     R_X86_64_64,       R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, R_X86_64_RELATIVE,
    R_X86_64_DTPMOD64, R_X86_64_DTPOFF64, R_X86_64_TPOFF64,  R_X86_64_TLSDESC,
};
#elif defined(__aarch64__)
#define RELATIVE_BY_CALL R_AARCH64_IRELATIVE
#define TWO_WORDS R_AARCH64_TLSDESC
static const uint32_t plain_types[] = {
    R_AARCH64_NONE,      R_AARCH64_ABS64,      R_AARCH64_GLOB_DAT,
    R_AARCH64_JUMP_SLOT, R_AARCH64_RELATIVE,   R_AARCH64_TLS_DTPMOD,
    R_AARCH64_TLS_TPREL, R_AARCH64_TLS_DTPREL, R_AARCH64_TLSDESC,
};
#else
#define RELATIVE_BY_CALL UINT32_MAX
#define TWO_WORDS UINT32_MAX
static const uint32_t plain_types[] = { 0 };
#endif

/* A table of packed relative relocations (DT_RELR), which older headers lack. */
#define PACKED_SIZE 35
#define PACKED 36

#define WORD sizeof(uint64_t)

#define NO_OBJECT "its code is not a shared object that can be read"
#define CHOOSES                                                                \
    "has a function that is chosen by another one while it is loaded (ifunc, " \
    "target_clones): nothing of a candidate may run then"
#define FOREIGN "needs a library beside those of C and mathematics"
#define MOVES                                                                    \
    "would have the dynamic linker write elsewhere than to its data, or change " \
    "its own tables while it is loaded"

typedef struct image {
    unsigned char *data;
    size_t size;
    Elf64_Ehdr head;
    Elf64_Dyn *dynamic; /* in data */
    size_t entries;
    uint64_t dynamic_at; /* its address */
} image;

/* True if there are @count items of @each bytes at @offset, aligned for an address. */
static bool is_inside(const image *it, uint64_t offset, uint64_t count, uint64_t each)
{
    uint64_t size;

    return offset % sizeof(void *) == 0 && !__builtin_mul_overflow(count, each, &size) &&
           offset <= it->size && size <= it->size - offset;
}

static const Elf64_Phdr *segments_of(const image *it)
{
    return (const Elf64_Phdr *)(const void *)(it->data + it->head.e_phoff);
}

/* True if the segment, in its first @length bytes, has @size bytes from @address on. */
static bool holds(const Elf64_Phdr *segment, uint64_t length, uint64_t address, uint64_t size)
{
    return segment->p_type == PT_LOAD && address >= segment->p_vaddr && size <= length &&
           address - segment->p_vaddr <= length - size;
}

/* The file offset of @size bytes at @address; UINT64_MAX if one segment does not have them. */
static uint64_t offset_of(const image *it, uint64_t address, uint64_t size)
{
    const Elf64_Phdr *segments = segments_of(it);

    for (int i = 0; i < it->head.e_phnum; i++)
        if (holds(&segments[i], segments[i].p_filesz, address, size))
            return address - segments[i].p_vaddr + segments[i].p_offset;
    return UINT64_MAX;
}

static bool find_dynamic(image *it)
{
    const Elf64_Phdr *segments = segments_of(it);
    uint64_t end = 0;
    int found = 0;

    for (int i = 0; i < it->head.e_phnum; i++) {
        const Elf64_Phdr *one = &segments[i];
        if (one->p_type == PT_LOAD && one->p_vaddr < end)
            return false; /* one could hide another */
        if (one->p_type == PT_LOAD)
            end = one->p_vaddr + one->p_memsz;
        if (one->p_type != PT_DYNAMIC)
            continue;
        it->entries = one->p_filesz / sizeof *it->dynamic;
        if (offset_of(it, one->p_vaddr, one->p_filesz) != one->p_offset ||
            !is_inside(it, one->p_offset, it->entries, sizeof *it->dynamic))
            return false;
        it->dynamic = (Elf64_Dyn *)(void *)(it->data + one->p_offset);
        it->dynamic_at = one->p_vaddr;
        found++;
    }
    return found == 1;
}

static bool open_image(image *it)
{
    static const unsigned char wanted[] = { ELFMAG0, ELFMAG1,    ELFMAG2,
                                            ELFMAG3, ELFCLASS64, ELFDATA2LSB };

    if (it->size < sizeof it->head || memcmp(it->data, wanted, sizeof wanted) != 0)
        return false;
    memcpy(&it->head, it->data, sizeof it->head);
    return it->head.e_type == ET_DYN && it->head.e_phentsize == sizeof(Elf64_Phdr) &&
           is_inside(it, it->head.e_phoff, it->head.e_phnum, sizeof(Elf64_Phdr)) &&
           find_dynamic(it);
}

/* The value of the entry @tag; 0 if none. */
static uint64_t entry(const image *it, Elf64_Sxword tag)
{
    for (size_t i = 0; it->dynamic[i].d_tag != DT_NULL; i++)
        if (it->dynamic[i].d_tag == tag)
            return it->dynamic[i].d_un.d_val;
    return 0;
}

/* A table of @count items of @each bytes at @address; NULL unless one segment has all of it,
 * aligned.
 */
static const void *table_at(const image *it, uint64_t address, uint64_t count, uint64_t each)
{
    uint64_t size;

    if (__builtin_mul_overflow(count, each, &size))
        return NULL;
    uint64_t at = offset_of(it, address, size), unit = each < WORD ? each : WORD;
    return at % unit == 0 && at <= it->size && size <= it->size - at ? it->data + at : NULL;
}

/* ---------------------------------------------------------------------------------------------- */
/* Code that runs during loading                                                                  */
/* ---------------------------------------------------------------------------------------------- */

/* True if the symbol is a function defined here and selected by a resolver call (ifunc). */
static bool is_chosen(const Elf64_Sym *symbol)
{
    return ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC && symbol->st_shndx != SHN_UNDEF;
}

/* @count words of a hash table from word @index on; NULL: not in the file. */
static const uint32_t *words_at(const image *it, uint64_t table, uint64_t index, uint64_t count)
{
    return table_at(it, table + index * sizeof(uint32_t), count, sizeof(uint32_t));
}

/* The number of symbols, by the GNU hash table: symbols are in chains that end with an odd hash. 0:
 * unreadable. */
static uint64_t count_by_chains(const image *it, uint64_t table)
{
    const uint32_t *head = words_at(it, table, 0, 4);
    uint64_t chains = head ? 4 + (uint64_t)head[2] * (sizeof(void *) / 4) + head[0] : 0, last = 0;
    const uint32_t *buckets = head ? words_at(it, table, chains - head[0], head[0]) : NULL, *hash;

    if (!buckets)
        return 0;
    for (uint32_t i = 0; i < head[0]; i++)
        last = buckets[i] > last ? buckets[i] : last;
    if (last < head[1])
        return head[1];
    while ((hash = words_at(it, table, chains + last - head[1], 1)) && !(*hash & 1))
        last++;
    return hash ? last + 1 : 0;
}

static uint64_t count_symbols(const image *it)
{
    const uint32_t *plain = words_at(it, entry(it, DT_HASH), 0, 2);

    if (entry(it, DT_HASH) != 0)
        return plain ? plain[1] : 0;
    return count_by_chains(it, entry(it, DT_GNU_HASH));
}

static const char *look_at_symbols(const image *it)
{
    uint64_t at = entry(it, DT_SYMTAB), count = count_symbols(it);
    const Elf64_Sym *symbols = table_at(it, at, count, sizeof *symbols);

    if (count == 0 || !symbols)
        return NO_OBJECT;
    for (size_t i = 0; i < count; i++)
        if (is_chosen(&symbols[i]))
            return CHOOSES;
    return NULL;
}

static bool is_plain(uint32_t type)
{
    for (size_t i = 0; i < sizeof plain_types / sizeof *plain_types; i++)
        if (type == plain_types[i])
            return true;
    return false;
}

/* True if @words words at @address are data of the object that nothing reads while it is loaded.
 * The dynamic linker would write anywhere, also to libraries, and reads .dynamic again later. */
static bool is_data(const image *it, uint64_t address, uint64_t words)
{
    const Elf64_Phdr *segments = segments_of(it);
    const uint64_t size = words * WORD, length = it->entries * sizeof *it->dynamic;

    if (address + size > it->dynamic_at && address < it->dynamic_at + length)
        return false;
    for (int i = 0; i < it->head.e_phnum; i++)
        if (holds(&segments[i], segments[i].p_memsz, address, size))
            return segments[i].p_flags & PF_W;
    return false;
}

/* No relocation may change the tables. */
static const char *look_at_tables(const image *it)
{
    static const Elf64_Sxword tables[] = { DT_RELA, DT_JMPREL,   PACKED,    DT_SYMTAB,  DT_STRTAB,
                                           DT_HASH, DT_GNU_HASH, DT_VERSYM, DT_VERNEED, DT_VERDEF };

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (entry(it, tables[i]) != 0 && is_data(it, entry(it, tables[i]), 1))
            return MOVES;
    return NULL;
}

static const char *look_at_relocations(const image *it, Elf64_Sxword table, Elf64_Sxword size)
{
    uint64_t symbols = count_symbols(it), at = entry(it, table);
    size_t count = entry(it, size) / sizeof(Elf64_Rela);
    const Elf64_Rela *all = table_at(it, at, count, sizeof *all);

    if (count > 0 && !all)
        return NO_OBJECT;
    for (size_t i = 0; i < count; i++) {
        const uint32_t type = (uint32_t)ELF64_R_TYPE(all[i].r_info);
        if (type == RELATIVE_BY_CALL)
            return CHOOSES;
        if (!is_plain(type) || ELF64_R_SYM(all[i].r_info) >= symbols)
            return NO_OBJECT;
        if (!is_data(it, all[i].r_offset, type == TWO_WORDS ? 2 : 1))
            return MOVES;
    }
    return NULL;
}

/* An even word is the address of one relocation; each bit but the lowest of an odd word stands for
 * one of the next words. */
static const char *look_at_packed(const image *it)
{
    const size_t each = 8 * WORD - 1, count = entry(it, PACKED_SIZE) / WORD;
    const uint64_t at = entry(it, PACKED);
    const uint64_t *all = table_at(it, at, count, WORD);
    uint64_t next = 0;

    if (count > 0 && !all)
        return NO_OBJECT;
    for (size_t i = 0; i < count; i++) {
        for (size_t bit = 0; (all[i] & 1) && bit < each; bit++)
            if ((all[i] >> (bit + 1) & 1) && !is_data(it, next + bit * WORD, 1))
                return MOVES;
        if (!(all[i] & 1) && !is_data(it, all[i], 1))
            return MOVES;
        next = all[i] & 1 ? next + each * WORD : all[i] + WORD;
    }
    return NULL;
}

/* Libraries that the process has already loaded. Others would be loaded when this object's symbols
 * are visible, and their constructors could call functions that it defines. */
static bool is_known(const char *name)
{
    static const char *const known[] = { "libc.so", "libm.so", "libmvec.so", "libgcc_s.so", "ld-" };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(name, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

/* True if the list of entries has an end, and no entry twice: the dynamic linker would read beyond
 * the list, and take the last of two. */
static bool is_list(const image *it)
{
    size_t count = 0;

    while (count < it->entries && it->dynamic[count].d_tag != DT_NULL)
        count++;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i && it->dynamic[i].d_tag != DT_NEEDED; j++)
            if (it->dynamic[i].d_tag == it->dynamic[j].d_tag)
                return false;
    return count < it->entries;
}

static const char *look_at_entries(const image *it)
{
    uint64_t size = entry(it, DT_STRSZ);
    const char *names = table_at(it, entry(it, DT_STRTAB), size, 1);

    if (!names || size == 0 || names[size - 1] != '\0')
        return NO_OBJECT;
    for (size_t i = 0; it->dynamic[i].d_tag != DT_NULL; i++) {
        const Elf64_Dyn *one = &it->dynamic[i];
        if (one->d_tag == DT_NEEDED &&
            (one->d_un.d_val >= size || !is_known(names + one->d_un.d_val)))
            return FOREIGN;
        if (one->d_tag == DT_AUXILIARY || one->d_tag == DT_FILTER || one->d_tag == DT_AUDIT ||
            one->d_tag == DT_DEPAUDIT || one->d_tag == DT_REL)
            return NO_OBJECT;
    }
    return NULL;
}

const char *lab_image_put_off(unsigned char *data, size_t size)
{
    image it = { .data = data, .size = size };

    if (!open_image(&it) || !is_list(&it))
        return NO_OBJECT;
    const char *why = look_at_entries(&it);
    if (!why)
        why = look_at_tables(&it);
    if (!why)
        why = look_at_symbols(&it);
    if (!why)
        why = look_at_relocations(&it, DT_RELA, DT_RELASZ);
    if (!why)
        why = look_at_relocations(&it, DT_JMPREL, DT_PLTRELSZ);
    if (!why)
        why = look_at_packed(&it);
    for (size_t i = 0; !why && it.dynamic[i].d_tag != DT_NULL; i++) {
        Elf64_Sxword tag = it.dynamic[i].d_tag;
        if (tag == DT_INIT || tag == DT_INIT_ARRAY || tag == DT_INIT_ARRAYSZ)
            it.dynamic[i].d_tag = tag + LAB_IMAGE_PUT_OFF;
    }
    return why;
}
