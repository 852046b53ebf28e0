/*
 * profile_metrics.c - the metrics to request from ncu, and replacements for those that it rejects
 */
#include <stdio.h>
#include <string.h>

#include "profile.h"

static const lab_metric_row metrics[] = {
#define LAB_METRIC(id, key, title, unit, arch, names) { id, key, title, unit, arch, names },
#include "metrics.def"
#undef LAB_METRIC
};

static const lab_stall_row stalls[] = {
#define LAB_STALL(name, arch, meaning) { name, arch, meaning },
#include "stalls.def"
#undef LAB_STALL
};

_Static_assert(sizeof stalls / sizeof *stalls == LAB_STALLS, "LAB_STALLS rows");

const lab_metric_row *lab_metric_of(lab_metric id)
{
    return &metrics[id];
}

const lab_stall_row *lab_stall_of(size_t index)
{
    return &stalls[index];
}

/* The @index-th name of a row; empty if there are fewer. */
static void name_at(const char *names, int index, char name[LAB_METRIC_NAME_SIZE])
{
    while (names && index-- > 0) {
        names = strchr(names, '|');
        names += names != NULL;
    }
    snprintf(name, LAB_METRIC_NAME_SIZE, "%.*s", names ? (int)strcspn(names, "|") : 0,
             names ? names : "");
}

void lab_stall_metric(size_t index, char name[LAB_METRIC_NAME_SIZE])
{
    snprintf(name, LAB_METRIC_NAME_SIZE,
             "smsp__average_warps_issue_stalled_%s_per_issue_active.ratio", stalls[index].name);
}

lab_profile_wish lab_profile_wish_for(int arch)
{
    lab_profile_wish wish = { .choice = { 0 } };
    for (int i = 0; i < LAB_METRICS; i++)
        if (metrics[i].arch > arch)
            wish.choice[i] = LAB_METRIC_NAMES_MAX;
    for (size_t i = 0; i < LAB_STALLS; i++)
        wish.stalls_refused[i] = stalls[i].arch > arch;
    return wish;
}

lab_profile_wish lab_profile_wish_only(int arch, const lab_metric *wanted, size_t count)
{
    const lab_profile_wish all = lab_profile_wish_for(arch);
    lab_profile_wish wish;
    memset(wish.choice, LAB_METRIC_NAMES_MAX, sizeof wish.choice);
    for (size_t i = 0; i < count; i++)
        wish.choice[wanted[i]] = all.choice[wanted[i]];
    for (size_t i = 0; i < LAB_STALLS; i++)
        wish.stalls_refused[i] = true;
    return wish;
}

/* The requested name; empty: none. */
static void wished(const lab_profile_wish *wish, size_t index, char name[LAB_METRIC_NAME_SIZE])
{
    *name = '\0';
    if (index < LAB_METRICS)
        name_at(metrics[index].names, wish->choice[index], name);
    else if (!wish->stalls_refused[index - LAB_METRICS])
        lab_stall_metric(index - LAB_METRICS, name);
}

const char *lab_profile_wish_text(const lab_profile_wish *wish, char text[LAB_PROFILE_WISH_SIZE])
{
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < LAB_METRICS + LAB_STALLS; i++) {
        char name[LAB_METRIC_NAME_SIZE];
        wished(wish, i, name);
        size_t more = strlen(name);
        if (more == 0 || length + more + 2 > LAB_PROFILE_WISH_SIZE)
            continue;
        if (length > 0)
            text[length++] = ',';
        memcpy(text + length, name, more + 1);
        length += more;
    }
    return text;
}

/* True if @text, which follows "Failed to find metric", stands for @name. It may be the name, or
 * its first part as a regular expression: "regex:^name\.(sum|...)$". */
static bool means(const char *text, const char *name)
{
    size_t whole = strlen(name), first = strcspn(name, ".");
    text += strspn(text, " \"'");
    if (strncmp(text, "regex:", 6) == 0)
        text += 6;
    text += *text == '^';
    if (strncmp(text, name, whole) == 0)
        return strchr(" \"',.\r\n", text[whole]) != NULL; /* including the end of the text */
    return strncmp(text, name, first) == 0 && strchr(" \"',\r\n\\$", text[first]) != NULL;
}

bool lab_profile_wish_drop(lab_profile_wish *wish, const char *text)
{
    static const char phrase[] = "Failed to find metric";
    const lab_profile_wish before = *wish;
    bool dropped = false;
    while ((text = strstr(text, phrase))) {
        text += sizeof phrase - 1;
        for (size_t i = 0; i < LAB_METRICS + LAB_STALLS; i++) {
            char name[LAB_METRIC_NAME_SIZE];
            wished(&before, i, name);
            if (!*name || !means(text, name))
                continue;
            dropped = true;
            if (i >= LAB_METRICS)
                wish->stalls_refused[i - LAB_METRICS] = true;
            else
                wish->choice[i] = (unsigned char)(before.choice[i] + 1);
        }
    }
    return dropped;
}
