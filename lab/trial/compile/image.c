/*
 * image.c - checks and patches the shared object of a candidate before it is loaded
 *
 * Nothing in it is trusted: every offset is checked before use.
 */
#include "lab/trial/compile/image.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#define RELATIVE_BY_CALL R_X86_64_IRELATIVE
#elif defined(__aarch64__)
#define RELATIVE_BY_CALL R_AARCH64_IRELATIVE
#else
#define RELATIVE_BY_CALL UINT32_MAX
#endif

#define NO_OBJECT "its code is not a shared object that can be read"
#define CHOOSES                                                                \
    "has a function that is chosen by another one while it is loaded (ifunc, " \
    "target_clones): nothing of a candidate may run then"
#define FOREIGN "needs a library beside those of C and mathematics"

typedef struct image {
    unsigned char *data;
    size_t size;
    Elf64_Ehdr head;
    Elf64_Dyn *dynamic; /* in data */
    size_t entries;
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

/* The file offset of @address; UINT64_MAX if it is not in the file. */
static uint64_t offset_of(const image *it, uint64_t address)
{
    const Elf64_Phdr *segments = segments_of(it);

    for (int i = 0; i < it->head.e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr &&
            address - segments[i].p_vaddr < segments[i].p_filesz)
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
        if (offset_of(it, one->p_vaddr) != one->p_offset ||
            !is_inside(it, one->p_offset, it->entries, sizeof *it->dynamic))
            return false;
        it->dynamic = (Elf64_Dyn *)(void *)(it->data + one->p_offset);
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

/* The value of the first entry @tag; 0 if none. */
static uint64_t entry(const image *it, Elf64_Sxword tag)
{
    for (size_t i = 0; i < it->entries && it->dynamic[i].d_tag != DT_NULL; i++)
        if (it->dynamic[i].d_tag == tag)
            return it->dynamic[i].d_un.d_val;
    return 0;
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
    uint64_t end;

    if (table % sizeof(uint32_t) != 0 || __builtin_add_overflow(index, count, &end) ||
        table > it->size || end > (it->size - table) / sizeof(uint32_t))
        return NULL;
    return (const uint32_t *)(const void *)(it->data + table) + index;
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
    const uint32_t *plain = words_at(it, offset_of(it, entry(it, DT_HASH)), 0, 2);

    if (entry(it, DT_HASH) != 0)
        return plain ? plain[1] : 0;
    return count_by_chains(it, offset_of(it, entry(it, DT_GNU_HASH)));
}

static const char *look_at_symbols(const image *it)
{
    uint64_t at = offset_of(it, entry(it, DT_SYMTAB)), count = count_symbols(it);

    if (count == 0 || !is_inside(it, at, count, sizeof(Elf64_Sym)))
        return NO_OBJECT;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(const void *)(it->data + at);
    for (size_t i = 0; i < count; i++)
        if (is_chosen(&symbols[i]))
            return CHOOSES;
    return NULL;
}

static const char *look_at_relocations(const image *it, Elf64_Sxword table, Elf64_Sxword size)
{
    uint64_t bytes = entry(it, size), at = offset_of(it, entry(it, table));
    uint64_t symbols = count_symbols(it);
    size_t count = bytes / sizeof(Elf64_Rela);

    if (bytes == 0)
        return NULL;
    if (at == UINT64_MAX || !is_inside(it, at, count, sizeof(Elf64_Rela)))
        return NO_OBJECT;
    const Elf64_Rela *all = (const Elf64_Rela *)(const void *)(it->data + at);
    for (size_t i = 0; i < count; i++)
        if (ELF64_R_TYPE(all[i].r_info) == RELATIVE_BY_CALL)
            return CHOOSES;
        else if (ELF64_R_SYM(all[i].r_info) >= symbols)
            return NO_OBJECT;
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

static const char *look_at_entries(const image *it)
{
    uint64_t names = offset_of(it, entry(it, DT_STRTAB)), size = entry(it, DT_STRSZ);

    if (names >= it->size || size == 0 || size > it->size - names ||
        it->data[names + size - 1] != '\0')
        return NO_OBJECT;
    for (size_t i = 0; i < it->entries && it->dynamic[i].d_tag != DT_NULL; i++) {
        const Elf64_Dyn *one = &it->dynamic[i];
        if (one->d_tag == DT_NEEDED &&
            (one->d_un.d_val >= size || !is_known((char *)it->data + names + one->d_un.d_val)))
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

    if (!open_image(&it))
        return NO_OBJECT;
    const char *why = look_at_entries(&it);
    if (!why)
        why = look_at_symbols(&it);
    if (!why)
        why = look_at_relocations(&it, DT_RELA, DT_RELASZ);
    if (!why)
        why = look_at_relocations(&it, DT_JMPREL, DT_PLTRELSZ);
    for (size_t i = 0; !why && i < it.entries && it.dynamic[i].d_tag != DT_NULL; i++) {
        Elf64_Sxword tag = it.dynamic[i].d_tag;
        if (tag == DT_INIT || tag == DT_INIT_ARRAY || tag == DT_INIT_ARRAYSZ)
            it.dynamic[i].d_tag = tag + LAB_IMAGE_PUT_OFF;
    }
    return why;
}
