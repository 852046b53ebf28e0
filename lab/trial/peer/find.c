/*
 * find.c - searches the peers folders
 */
#include "peer.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab/base/array.h"
#include "lab/base/path.h"

/* Folders of peers relative to the running program's: in a build tree, and in an installation. */
static const char *const places[] = { "peers", "../peers", "../libexec/heed/peers" };

static const char program_end[] = "_peer";
static const char script_end[] = "_peer.py";

static bool is_script(const char *file)
{
    size_t length = strlen(file);

    return length >= 3 && strcmp(file + length - 3, ".py") == 0;
}

bool lab_peer_name_of(const char *file, char name[LAB_PEER_NAME_SIZE])
{
    const char *end = is_script(file) ? script_end : program_end;
    size_t length = strspn(file, "abcdefghijklmnopqrstuvwxyz0123456789_");
    size_t end_length = strlen(end);
    size_t whole = strlen(file);

    /* Everything except ".py" must be characters of a name. */
    if (length != whole - (is_script(file) ? 3 : 0) || whole <= end_length ||
        whole - end_length >= LAB_PEER_NAME_SIZE || strcmp(file + whole - end_length, end) != 0)
        return false;
    memcpy(name, file, whole - end_length);
    name[whole - end_length] = '\0';
    return true;
}

/* The rivals found so far. */
typedef struct found_list {
    lab_found *items;
    size_t count;
    bool no_memory;
} found_list;

static bool has(const found_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return true;
    return false;
}

/* Adds the file @file of @folder if it is an executable peer with a new name. */
static void consider(found_list *list, const char *folder, const char *file)
{
    lab_found peer = { .name = "" };
    struct stat status;
    const char *python = getenv("HEED_PYTHON");
    int length = snprintf(peer.path, sizeof peer.path, "%s/%s", folder, file);

    if (!lab_peer_name_of(file, peer.name) || has(list, peer.name) || length < 0 ||
        (size_t)length >= sizeof peer.path || stat(peer.path, &status) != 0 ||
        !S_ISREG(status.st_mode))
        return;
    if (is_script(file))
        snprintf(peer.interpreter, sizeof peer.interpreter, "%s",
                 python && python[0] ? python : "python3");
    else if (access(peer.path, X_OK) != 0)
        return;
    if (lab_grow(&list->items, list->count, sizeof *list->items))
        list->items[list->count++] = peer;
    else
        list->no_memory = true;
}

static void search(found_list *list, const char *folder)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;

    if (!directory)
        return;
    while ((entry = readdir(directory)))
        consider(list, folder, entry->d_name);
    closedir(directory);
}

/* Searches each folder of the colon-separated @folders. */
static void search_all(found_list *list, const char *folders)
{
    char folder[LAB_PEER_PATH_SIZE];

    while (*folders) {
        size_t length = strcspn(folders, ":");
        if (length > 0 && length < sizeof folder) {
            memcpy(folder, folders, length);
            folder[length] = '\0';
            search(list, folder);
        }
        folders += length + (folders[length] == ':');
    }
}

/* Searches the folders around the running program. */
static void search_around(found_list *list)
{
    char folder[LAB_PEER_PATH_SIZE];

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (lab_beside(places[i], folder, sizeof folder))
            search(list, folder);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const lab_found *)a)->name, ((const lab_found *)b)->name);
}

heed_status lab_peers_find(lab_found **found, size_t *count)
{
    found_list list = { .items = NULL };
    const char *folders = getenv("HEED_PEERS");

    *found = NULL;
    *count = 0;
    if (folders)
        search_all(&list, folders);
    search_around(&list);
    if (list.no_memory) {
        free(list.items);
        return HEED_ERR_NO_MEMORY;
    }
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, by_name);
    *found = list.items;
    *count = list.count;
    return HEED_OK;
}
