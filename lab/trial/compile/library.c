/*
 * library.c - rebuilds an earlier libheed from its sources, and loads it into this process
 */
#include "lab/trial/compile/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/trial/compile/compile.h"
#include "lab/trial/compile/folder.h"

#define HEADER "heed library 1\n"
#define INTERFACE "interface.c"
#define OBJECT "libheed.so"

#define PATH_SIZE 200
#define FILES_MAX 1000
#define GROUPS_MAX 32
#define WORDS_MAX 200

/* Words of the recipe: null-terminated parts of its copy. */
typedef struct words {
    const char *word[WORDS_MAX];
    size_t count;
} words;

/* Files with the same compiler options: one run of the compiler, one object. */
typedef struct group {
    const char *options; /* as in the recipe */
    words files;
} group;

typedef struct job {
    const lab_library_file *files;
    size_t count;
    lab_limits limits;
    lab_trial_outcome *outcome;
    char folder[LAB_FOLDER_SIZE];
    char compiler[PATH_MAX];
    char *recipe; /* a copy, split into words */
    char log[LAB_LOG_SIZE];
    words flags, link;
    group groups[GROUPS_MAX];
    size_t group_count;
} job;

static bool refuse(const job *it, const char *what, const char *which)
{
    return lab_trial_outcome_set(it->outcome, LAB_TRIAL_REFUSED,
                                 "the sources of heed: %s \"%.80s\"", what, which);
}

/* -------------------------------------------------------------------------- */
/* The recipe                                                                 */
/* -------------------------------------------------------------------------- */

/* Splits @text at spaces; false if there are too many words. */
static bool split(char *text, words *into)
{
    char *rest = text, *word;

    while ((word = strsep(&rest, " "))) {
        if (!*word)
            continue;
        if (into->count == WORDS_MAX)
            return false;
        into->word[into->count++] = word;
    }
    return true;
}

/* The group of files with @options. */
static group *find_group(job *it, const char *options)
{
    for (size_t i = 0; i < it->group_count; i++)
        if (strcmp(it->groups[i].options, options) == 0)
            return &it->groups[i];
    if (it->group_count == GROUPS_MAX)
        return NULL;
    it->groups[it->group_count].options = options;
    return &it->groups[it->group_count++];
}

static bool read_line(job *it, char *line)
{
    char *rest = line, *key = strsep(&rest, " ");

    if (!rest)
        return !*key;
    if (strcmp(key, "flags") == 0)
        return split(rest, &it->flags);
    if (strcmp(key, "link") == 0)
        return split(rest, &it->link);
    if (strcmp(key, "source") != 0)
        return false;
    const char *path = strsep(&rest, " ");
    group *of = find_group(it, rest ? rest : "");
    if (!of || of->files.count == WORDS_MAX)
        return false;
    of->files.word[of->files.count++] = path;
    return true;
}

static bool read_recipe(job *it)
{
    const char *text = NULL;

    for (size_t i = 0; i < it->count; i++)
        if (strcmp(it->files[i].path, LAB_LIBRARY_RECIPE) == 0)
            text = it->files[i].text;
    if (!text || strncmp(text, HEADER, strlen(HEADER)) != 0)
        return refuse(it, "there is no recipe that this heed can read; it begins with",
                      text ? text : "");
    it->recipe = strdup(text + strlen(HEADER));
    char *rest = it->recipe, *line;
    while (rest && (line = strsep(&rest, "\n"))) {
        char copy[PATH_SIZE];
        snprintf(copy, sizeof copy, "%s", line);
        if (!read_line(it, line))
            return refuse(it, "a line of the recipe is not understood:", copy);
    }
    return it->recipe && (it->group_count > 0 || refuse(it, "the recipe names no source", ""));
}

/* -------------------------------------------------------------------------- */
/* The folder                                                                 */
/* -------------------------------------------------------------------------- */

/* True if the path stays within the folder. */
static bool is_inside(const char *path)
{
    return *path && *path != '/' && strlen(path) < PATH_SIZE && !strstr(path, "..");
}

static bool write_text(const job *it, const char *path, const char *text)
{
    char full[sizeof it->folder + PATH_SIZE + 2];

    if (!is_inside(path))
        return refuse(it, "a file cannot be called", path);
    snprintf(full, sizeof full, "%s/%s", it->folder, path);
    for (char *slash = strchr(full + strlen(it->folder) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    return lab_folder_write(it->folder, path, text, strlen(text)) ||
           lab_trial_outcome_set(it->outcome, LAB_TRIAL_SYSTEM, "cannot write %s: %s", path,
                                 strerror(errno));
}

/* Both sides must agree on the layout of the structs that they exchange. The compiler compares
 * field offsets of the old header with today's. */
static bool write_interface(const job *it)
{
/* clang-format off */
#define FIELD(type, name) \
    { #type, #name, offsetof(type, name), sizeof(((type *)0)->name), sizeof(type) }
    static const struct {
        const char *type, *field;
        size_t offset, size, whole;
    } fields[] = {
        FIELD(heed_problem, type),
        FIELD(heed_problem, mask),
        FIELD(heed_problem, batch),
        FIELD(heed_problem, heads_q),
        FIELD(heed_problem, heads_kv),
        FIELD(heed_problem, seq_q),
        FIELD(heed_problem, seq_k),
        FIELD(heed_problem, dim_qk),
        FIELD(heed_problem, dim_v),
        FIELD(heed_problem, scale),
        FIELD(heed_problem, accumulate),
        FIELD(heed_problem, q),
        FIELD(heed_problem, k),
        FIELD(heed_problem, v),
        FIELD(heed_problem, o),
        FIELD(heed_problem, products),
        FIELD(heed_options, device),
        FIELD(heed_options, threads),
        FIELD(heed_options, cpu),
        FIELD(heed_options, parallel),
        FIELD(heed_options, pool),
        FIELD(heed_options, compile),
        FIELD(heed_buffers, q),
        FIELD(heed_buffers, k),
        FIELD(heed_buffers, v),
        FIELD(heed_buffers, o),
        FIELD(heed_buffers, lse),
        FIELD(heed_buffers, workspace),
        FIELD(heed_buffers, workspace_size),
        FIELD(heed_buffers, stream),
    };
#undef FIELD
    /* clang-format on */
    char text[8192];
    size_t length = (size_t)snprintf(text, sizeof text,
                                     "#include <stddef.h>\n#include \"heed.h\"\n");

    for (size_t i = 0; i < sizeof fields / sizeof *fields && length < sizeof text; i++)
        length += (size_t)snprintf(
            text + length, sizeof text - length,
            "_Static_assert(offsetof(%s, %s) == %zu && sizeof(((%s *)0)->%s) == %zu && sizeof(%s) "
            "== %zu, \"%s.%s is not where it was\");\n",
            fields[i].type, fields[i].field, fields[i].offset, fields[i].type, fields[i].field,
            fields[i].size, fields[i].type, fields[i].whole, fields[i].type, fields[i].field);
    return write_text(it, INTERFACE, text);
}

static bool make_folder(job *it)
{
    bool written = true;

    if (!lab_folder_make(it->folder, sizeof it->folder, "library"))
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_SYSTEM,
                                     "cannot write to TMPDIR, or /tmp: %s", strerror(errno));
    for (size_t i = 0; i < it->count && written; i++)
        written = write_text(it, it->files[i].path, it->files[i].text);
    return written && write_interface(it);
}

/* -------------------------------------------------------------------------- */
/* The compiler                                                               */
/* -------------------------------------------------------------------------- */

static void add_words(words *to, const char *const *word, size_t count)
{
    for (size_t i = 0; i < count && to->count < WORDS_MAX; i++)
        to->word[to->count++] = word[i];
}

static bool run(job *it, const words *arguments)
{
    const lab_compiler_task task = { .compiler = it->compiler,
                                     .arguments = arguments->word,
                                     .argument_count = arguments->count,
                                     .folder = it->folder,
                                     .limits = &it->limits,
                                     .log = it->log };

    return arguments->count < WORDS_MAX ? lab_compiler_run(&task, it->outcome)
                                        : refuse(it, "too many words in", "the recipe");
}

/* Makes the object @name of a group. */
static bool compile_group(job *it, const group *of, const char *name)
{
    const char *const first[] = { "-w", "-fPIC", "-r", "-nostdlib", "-o", name };
    char *options = strdup(of->options);
    words own = { .count = 0 }, arguments = { .count = 0 };
    bool done = options && split(options, &own);

    add_words(&arguments, first, sizeof first / sizeof *first);
    add_words(&arguments, it->flags.word, it->flags.count);
    add_words(&arguments, own.word, own.count);
    add_words(&arguments, of->files.word, of->files.count);
    done = done && run(it, &arguments);
    free(options);
    return done;
}

static bool compile_all(job *it)
{
    static const char *const first[] = { "-shared", "-Wl,-Bsymbolic", "-o", OBJECT };
    char names[GROUPS_MAX][16];
    words linked = { .count = 0 };
    const words interface = { .word = { INTERFACE }, .count = 1 };
    const group check = { .options = "", .files = interface };

    if (!compile_group(it, &check, "interface.o"))
        return false;
    add_words(&linked, first, sizeof first / sizeof *first);
    for (size_t i = 0; i < it->group_count; i++) {
        snprintf(names[i], sizeof names[i], "group%zu.o", i);
        const char *name = names[i];
        if (!compile_group(it, &it->groups[i], name))
            return false;
        add_words(&linked, &name, 1);
    }
    add_words(&linked, it->link.word, it->link.count);
    return run(it, &linked);
}

/* -------------------------------------------------------------------------- */
/* The object                                                                 */
/* -------------------------------------------------------------------------- */

static bool load(job *it, lab_library *library)
{
    char path[sizeof it->folder + 16];
    const struct {
        const char *name;
        void *function;
    } functions[] = {
        { "heed_context_create", &library->context_create },
        { "heed_context_destroy", &library->context_destroy },
        { "heed_plan_create_named", &library->plan_create_named },
        { "heed_plan_destroy", &library->plan_destroy },
        { "heed_plan_name", &library->plan_name },
        { "heed_plan_workspace_size", &library->plan_workspace_size },
        { "heed_execute", &library->execute },
        { "heed_message", &library->message },
        { "heed_problem_parse_sized", &library->sized },
    };

    snprintf(path, sizeof path, "%s/%s", it->folder, OBJECT);
    library->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library->object)
        return lab_trial_outcome_set(it->outcome, LAB_TRIAL_SYSTEM, "cannot be loaded: %s",
                                     dlerror());
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        *(void **)functions[i].function = dlsym(library->object, functions[i].name);
        if (!*(void **)functions[i].function)
            return refuse(it, "there is no function", functions[i].name);
    }
    return true;
}

bool lab_library_load(lab_library *library, const lab_library_file *files, size_t count,
                      const lab_limits *limits, lab_trial_outcome *outcome)
{
    job *it = calloc(1, sizeof *it);
    bool done = false;

    *library = (lab_library){ .object = NULL };
    *outcome = (lab_trial_outcome){ .verdict = LAB_TRIAL_OK };
    if (!it)
        return lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM, "no memory for the sources");
    it->files = files;
    it->count = count;
    it->limits = lab_limits_fill(limits);
    it->outcome = outcome;
    if (count > FILES_MAX)
        refuse(it, "more files than a thousand, such as", files[FILES_MAX].path);
    else if (!lab_compiler_find(it->compiler))
        lab_trial_outcome_set(outcome, LAB_TRIAL_SYSTEM,
                              "there is no C compiler: none of cc, gcc, clang is in PATH");
    else
        done = read_recipe(it) && make_folder(it) && compile_all(it) && load(it, library);
    lab_folder_remove(it->folder);
    if (!done)
        lab_library_unload(library);
    free(it->recipe);
    free(it);
    return done;
}

void lab_library_unload(lab_library *library)
{
    if (library->object)
        dlclose(library->object);
    *library = (lab_library){ .object = NULL };
}
