/*
 * manifest_take.c - finds the tools, libraries and drivers of this machine
 */
#include <fcntl.h>
#include <glob.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "inspect/disassembler.h"
#include "manifest.h"
#include "measure/environment.h"
#include "src/survey.h"
#include "wisdom_line.h"

#define VERSION_SIZE 160

/* Cached hashes of files: a run-time compiler has a hundred megabytes. A file counts as unchanged
 * if its path, size, inode number and times are. The hashes are in the cache folder, below "files",
 * under the hash of these facts, and may be deleted at any time. */
#define KEPT_FROM ((int64_t)1 << 20) /* bytes; smaller files are hashed as quickly */

/* The path of the cached hash of a file; false if there is no cache folder. */
static bool place_of(const char *path, const struct stat *about, char place[PATH_MAX])
{
    char text[PATH_MAX + 160], hash[LAB_RECORD_HASH_SIZE], name[LAB_RECORD_HASH_SIZE + 8];
    lab_error error;
    snprintf(text, sizeof text, "%s %ju %ju %jd %jd.%09ld %jd.%09ld", path,
             (uintmax_t)about->st_dev, (uintmax_t)about->st_ino, (intmax_t)about->st_size,
             (intmax_t)about->st_mtim.tv_sec, about->st_mtim.tv_nsec,
             (intmax_t)about->st_ctim.tv_sec, about->st_ctim.tv_nsec);
    lab_record_hash(text, strlen(text), hash);
    snprintf(name, sizeof name, "files/%s", hash);
    return lab_file_cache(place, PATH_MAX, name, &error) == HEED_OK;
}

static bool read_kept(const char *place, char hash[LAB_RECORD_HASH_SIZE])
{
    FILE *file = fopen(place, "re");
    bool good = file && fread(hash, 1, LAB_RECORD_HASH_SIZE - 1, file) == LAB_RECORD_HASH_SIZE - 1;
    hash[good ? LAB_RECORD_HASH_SIZE - 1 : 0] = '\0';
    if (file)
        fclose(file);
    return good && strspn(hash, "0123456789abcdef") == LAB_RECORD_HASH_SIZE - 1;
}

/* Caches a hash. Errors are ignored. */
static void keep(const char *place, const char *hash)
{
    lab_output output;
    lab_error error;
    if (lab_file_folders(place, 0700, &error) != HEED_OK ||
        lab_output_begin(&output, place, &error) != HEED_OK)
        return;
    lab_output_write(&output, hash, strlen(hash));
    lab_output_commit(&output, &error);
}

static bool hash_now(int file, size_t size, char hash[LAB_RECORD_HASH_SIZE])
{
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
        return false;
    lab_record_hash(data, size, hash);
    munmap(data, size);
    return true;
}

/* Writes the SHA-256 of the file @path; false if it cannot be read. */
static bool hash_file(const char *path, char hash[LAB_RECORD_HASH_SIZE])
{
    struct stat about;
    char place[PATH_MAX] = "";
    bool hashed = false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
        bool kept = about.st_size >= KEPT_FROM && place_of(path, &about, place);
        hashed = kept && read_kept(place, hash);
        if (!hashed && hash_now(file, (size_t)about.st_size, hash)) {
            hashed = true;
            if (kept)
                keep(place, hash);
        }
    }
    if (file >= 0)
        close(file);
    return hashed;
}

/* Adds a part. Folders are left out: manifests are published with records, and folders are private.
 * @path may be NULL, and is only hashed if @loaded. */
static void add(json_t *parts, const char *name, const char *version, const char *path, bool loaded)
{
    char hash[LAB_RECORD_HASH_SIZE];
    json_t *part = json_pack("{s:o}", "version", lab_json_text(version));
    if (path)
        json_object_set_new(part, "file", lab_json_text(basename(path)));
    if (path && loaded && hash_file(path, hash))
        json_object_set_new(part, "sha256", json_string(hash));
    json_object_set_new(parts, name, part);
}

/* ---- Parts of the process and the system ---- */

static void add_own(json_t *parts)
{
    lab_environment around;
    struct utsname system;
    lab_environment_read(&around);
    char heed[VERSION_SIZE];
    snprintf(heed, sizeof heed, "%s, commit %s", around.heed, around.commit);
    add(parts, "heed", heed, NULL, false);
    add(parts, "heed-kernels", heed_wisdom_build(), NULL, false);
    add(parts, "compiler", around.compiler, NULL, false);
    add(parts, "cpu", around.cpu, NULL, false);
    add(parts, "libc", gnu_get_libc_version(), NULL, false);
    add(parts, "sqlite", lab_record_software(), NULL, false);
    add(parts, "jansson", jansson_version_str(), NULL, false);
    if (uname(&system) == 0)
        add(parts, "kernel", system.release, NULL, false);
}

/* ---- CUDA ---- */

/* Resolves the first absolute path in @text; "" if there is none. */
static void path_in(const char *text, char *path, size_t size)
{
    const char *start = strchr(text, '/');
    snprintf(path, size, "%.*s", start ? (int)strcspn(start, " ,)") : 0, start ? start : "");
}

static void add_part(json_t *parts, const char *name, const heed_survey_part *part)
{
    char path[512], version[VERSION_SIZE];
    if (!part->found)
        return;
    path_in(part->text, path, sizeof path);
    if (part->version)
        snprintf(version, sizeof version, "%d.%d", part->version / 1000, part->version % 1000 / 10);
    else
        snprintf(version, sizeof version, "%s", part->text);
    add(parts, name, version, *path ? path : NULL, true);
}

static void add_cuda(json_t *parts)
{
    heed_survey survey;
    heed_survey_take(&survey);
    add_part(parts, "cuda-driver", &survey.driver);
    add_part(parts, "nvrtc", &survey.nvrtc);
    add_part(parts, "nvml", &survey.nvml);
    for (int i = 0; i < survey.gpu_count; i++)
        add(parts, survey.gpus[i].device, survey.gpus[i].name, NULL, false);
}

/* ---- Programs, run for their versions ---- */

/* The last output line of @command that has a digit in it, or the first one if @first. */
static bool ask(const char *command, bool first, char *line, size_t size)
{
    char text[512];
    bool found = false;
    FILE *answer = popen(command, "re"); /* NOLINT(cert-env33-c) */
    if (!answer)
        return false;
    while (fgets(text, sizeof text, answer)) {
        text[strcspn(text, "\n")] = '\0';
        if ((first && found) || !strpbrk(text, "0123456789"))
            continue;
        snprintf(line, size, "%s", text);
        found = true;
    }
    return pclose(answer) == 0 && found;
}

static void add_program(json_t *parts, const char *name, const char *path, bool first)
{
    char *command = NULL, version[VERSION_SIZE];
    size_t size;
    FILE *memory = open_memstream(&command, &size);
    if (!memory)
        return;
    cli_shell_word(memory, path);
    fputs(" --version 2>/dev/null </dev/null", memory);
    if (fclose(memory) == 0 && ask(command, first, version, sizeof version))
        add(parts, name, version, path, false);
    free(command);
}

static void add_programs(json_t *parts)
{
    static const char *const tools[] = { "ncu", "nvdisasm", "cuobjdump", "compute-sanitizer" };
    char path[300];
    const char *cc = getenv("HEED_CC");
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (lab_tool_find(tools[i], path, sizeof path))
            add_program(parts, tools[i], path, false);
    add_program(parts, "candidate-compiler", cc && *cc ? cc : "cc", true);
}

/* Finds Python packages by their metadata: loading them takes seconds. */
static void add_python(json_t *parts)
{
    static const char script[] = "import sys, importlib.metadata as m\n"
                                 "print(\"python\", sys.version.split()[0])\n"
                                 "for d in m.distributions():\n"
                                 "    n = (d.metadata[\"Name\"] or \"\").lower()\n"
                                 "    if n in (\"torch\", \"triton\", \"numpy\", \"onnxruntime\") "
                                 "or n.startswith(\"nvidia-c\"):\n"
                                 "        print(n, d.version)\n";
    char command[1200], line[256], name[100], version[100];
    snprintf(command, sizeof command, "\"${HEED_PYTHON:-python3}\" -c '%s' 2>/dev/null </dev/null",
             script);
    FILE *answer = popen(command, "re"); /* NOLINT(cert-env33-c) */
    while (answer && fgets(line, sizeof line, answer))
        if (sscanf(line, "%99s %99s", name, version) == 2)
            add(parts, name, version, NULL, false);
    if (answer)
        pclose(answer);
}

/* Finds OpenBLAS, which a rival loads, by the target of its symlink: "libopenblasp-r0.3.21.so".
 * Loading it here would start its threads. */
static void add_openblas(json_t *parts)
{
    char real[PATH_MAX];
    glob_t found;
    if (glob("/usr/lib/*/libopenblas.so.0", 0, NULL, &found) != 0)
        return;
    if (realpath(found.gl_pathv[0], real))
        add(parts, "openblas", strrchr(real, '/') + 1, real, true);
    globfree(&found);
}

json_t *cli_manifest_take(void)
{
    static void (*const takers[])(json_t * parts) = { add_own, add_cuda, add_programs, add_python,
                                                      add_openblas };
    json_t *parts = json_object();
    for (size_t i = 0; parts && i < sizeof takers / sizeof *takers; i++)
        takers[i](parts);
    return cli_manifest_of(parts);
}
