/*
 * evolution_text.c - an evolution as text, one line for each thing that it remembers
 *
 *     heed-evolution 1
 *     space sweep90
 *     options SEED ISLANDS POPULATION ELITES MIGRATION CROSSOVER IMMIGRANTS
 *     dice SEED THROWN
 *     evaluations N
 *     guide MOVE BETTER NONE FAILED
 *     champion -1 ID PARENT PARENT FINDINGS SCORE POINT TEXTS ; SECONDS
 *     member ISLAND ...                        the same, the best of an island first
 *     waiting POINT TEXTS
 *     tried POINT TEXTS
 *     end
 *
 * A point is its number, TEXTS are the numbers of the texts, one for each region of the source,
 * with commas between them, or a dash. Numbers with a fraction read back to the same bits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/search/evolution.h"

#define MAGIC "heed-evolution 1"
#define LINE_SIZE 4096

/* ---- Writing ---- */

static void write_genome(FILE *out, const lab_evolution *evolution, const lab_genome *genome)
{
    int regions = evolution->source ? evolution->source->count : 0;
    fprintf(out, "%lld ", (long long)lab_space_index(evolution->space, &genome->point));
    for (int i = 0; i < regions; i++)
        fprintf(out, "%s%d", i > 0 ? "," : "", genome->texts[i]);
    fputs(regions > 0 ? "" : "-", out);
}

static void write_individual(FILE *out, const lab_evolution *evolution, const char *word,
                             int island, const lab_individual *one)
{
    int shapes = LAB_SEARCH_SHAPES;
    while (shapes > 0 && one->seconds[shapes - 1] == 0)
        shapes--;
    fprintf(out, "%s %d %lld %lld %lld %u %.17g ", word, island, (long long)one->id,
            (long long)one->parents[0], (long long)one->parents[1], one->findings, one->score);
    write_genome(out, evolution, &one->genome);
    fputs(" ;", out);
    for (int i = 0; i < shapes; i++)
        fprintf(out, " %.17g", one->seconds[i]);
    fputs("\n", out);
}

static void write_genomes(FILE *out, const lab_evolution *evolution, const char *word,
                          const lab_genome *genomes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s ", word);
        write_genome(out, evolution, &genomes[i]);
        fputs("\n", out);
    }
}

static void write_state(FILE *out, const lab_evolution *it)
{
    const lab_evolution_options *o = &it->options;
    fprintf(out, MAGIC "\nspace %s\n", it->space->name);
    fprintf(out, "options %llu %d %d %d %d %.17g %.17g\n", (unsigned long long)o->seed, o->islands,
            o->population, o->elites, o->migration, o->crossover, o->immigrants);
    fprintf(out, "dice %llu %llu\n", (unsigned long long)it->dice.seed,
            (unsigned long long)it->dice.thrown);
    fprintf(out, "evaluations %lld\n", (long long)it->evaluations);
    for (int i = 0; i < LAB_MOVES; i++) {
        const int *seen = it->guide.seen[i];
        if (seen[0] || seen[1] || seen[2])
            fprintf(out, "guide %d %d %d %d\n", i, seen[0], seen[1], seen[2]);
    }
    if (it->champion.id)
        write_individual(out, it, "champion", -1, &it->champion);
    for (int i = 0; i < o->islands; i++)
        for (int j = 0; j < it->islands[i].count; j++)
            write_individual(out, it, "member", i, &it->islands[i].members[j]);
    write_genomes(out, it, "waiting", it->waiting, it->waiting_count);
    write_genomes(out, it, "tried", it->tried, it->tried_count);
    fputs("end\n", out);
}

char *lab_evolution_save(const lab_evolution *evolution)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    write_state(out, evolution);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- Reading ---- */

typedef struct reader {
    lab_evolution *evolution;
    size_t line;
    bool ended;
    lab_error *error;
} reader;

static heed_status fail(const reader *r, const char *what, const char *text)
{
    return lab_fail(r->error, HEED_ERR_CORRUPT, "line %zu of the evolution: %s \"%.80s\"", r->line,
                    what, text);
}

/* Reads "POINT TEXTS"; *@rest is what follows. */
static heed_status read_genome(const reader *r, const char *text, lab_genome *genome,
                               const char **rest)
{
    const lab_source *source = r->evolution->source;
    int regions = source ? source->count : 0, end = 0;
    long long point;
    memset(genome, 0, sizeof *genome);
    if (sscanf(text, "%lld %n", &point, &end) != 1 || end == 0 || point < 0 ||
        point >= lab_space_count(r->evolution->space))
        return fail(r, "no point of the space:", text);
    genome->point = lab_space_at(r->evolution->space, point);
    const char *at = text + end;
    for (int i = 0; i < regions; i++) {
        char *after;
        long value = strtol(at, &after, 10);
        if (after == at || value < 0 || value >= source->regions[i].count ||
            *after != (i + 1 < regions ? ',' : *after))
            return fail(r, "no texts of the source:", text);
        genome->texts[i] = (int)value;
        at = after + (i + 1 < regions);
    }
    if (regions == 0 && *at++ != '-')
        return fail(r, "a dash expected, as the source has no regions:", text);
    *rest = at;
    return HEED_OK;
}

static heed_status read_individual(reader *r, const char *text, bool champion)
{
    lab_evolution *it = r->evolution;
    lab_individual one;
    long long id, parents[2];
    int island, end = 0;
    memset(&one, 0, sizeof one);
    if (sscanf(text, "%d %lld %lld %lld %u %lf %n", &island, &id, &parents[0], &parents[1],
               &one.findings, &one.score, &end) != 6 ||
        end == 0 || !isfinite(one.score) || id < 1)
        return fail(r, "no individual:", text);
    one.id = id;
    one.parents[0] = parents[0];
    one.parents[1] = parents[1];
    heed_status status = read_genome(r, text + end, &one.genome, &text);
    if (status != HEED_OK)
        return status;
    if (strncmp(text, " ;", 2) != 0)
        return fail(r, "seconds expected:", text);
    text += 2;
    for (int i = 0; i < LAB_SEARCH_SHAPES; i++) {
        char *after;
        one.seconds[i] = strtod(text, &after);
        if (after == text)
            break;
        text = after;
    }
    if (champion) {
        it->champion = one;
        return HEED_OK;
    }
    if (island < 0 || island >= it->options.islands ||
        it->islands[island].count == it->options.population)
        return fail(r, "no room on its island:", text);
    it->islands[island].members[it->islands[island].count++] = one;
    return HEED_OK;
}

static heed_status read_champion(reader *r, const char *text)
{
    return read_individual(r, text, true);
}

static heed_status read_member(reader *r, const char *text)
{
    return read_individual(r, text, false);
}

static heed_status read_dice(reader *r, const char *text)
{
    unsigned long long seed, thrown;
    if (sscanf(text, "%llu %llu", &seed, &thrown) != 2)
        return fail(r, "no dice:", text);
    r->evolution->dice = (lab_dice){ seed, thrown };
    return HEED_OK;
}

static heed_status read_evaluations(reader *r, const char *text)
{
    long long count;
    if (sscanf(text, "%lld", &count) != 1 || count < 0)
        return fail(r, "no number:", text);
    r->evolution->evaluations = count;
    return HEED_OK;
}

static heed_status read_guide(reader *r, const char *text)
{
    int move, seen[LAB_GAINS];
    if (sscanf(text, "%d %d %d %d", &move, &seen[0], &seen[1], &seen[2]) != 4 || move < 0 ||
        move >= LAB_MOVES || seen[0] < 0 || seen[1] < 0 || seen[2] < 0)
        return fail(r, "nothing that the guide can have seen:", text);
    memcpy(r->evolution->guide.seen[move], seen, sizeof seen);
    return HEED_OK;
}

static heed_status read_waiting(reader *r, const char *text)
{
    lab_evolution *it = r->evolution;
    if (it->waiting_count == EVOLUTION_WAITING)
        return fail(r, "too many wait:", text);
    return read_genome(r, text, &it->waiting[it->waiting_count++], &text);
}

static heed_status read_tried(reader *r, const char *text)
{
    lab_genome genome;
    heed_status status = read_genome(r, text, &genome, &text);
    if (status == HEED_OK && !lab_evolution_remember(r->evolution, &genome))
        status = lab_fail(r->error, HEED_ERR_NO_MEMORY, "no memory for an evolution");
    return status;
}

static heed_status read_end(reader *r, const char *text)
{
    r->ended = *text == '\0';
    return r->ended ? HEED_OK : fail(r, "nothing may follow:", text);
}

static const struct {
    const char *word;
    heed_status (*read)(reader *r, const char *text);
} lines[] = {
    { "dice ", read_dice },     { "evaluations ", read_evaluations },
    { "guide ", read_guide },   { "champion ", read_champion },
    { "member ", read_member }, { "waiting ", read_waiting },
    { "tried ", read_tried },   { "end", read_end },
};

static heed_status read_line(reader *r, const char *text)
{
    if (r->ended)
        return fail(r, "more after the end:", text);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (strncmp(text, lines[i].word, strlen(lines[i].word)) == 0)
            return lines[i].read(r, text + strlen(lines[i].word));
    return fail(r, "not a line of one:", text);
}

/* Copies the line that *@text begins with, without its end; false at the end of the text. */
static bool next_line(reader *r, const char **text, char line[LINE_SIZE])
{
    size_t length = strcspn(*text, "\n");
    if (**text == '\0' || (*text)[length] == '\0' || length >= LINE_SIZE)
        return false;
    memcpy(line, *text, length);
    line[length] = '\0';
    *text += length + 1;
    r->line++;
    return true;
}

/* The first three lines, and an empty evolution. */
static heed_status read_head(reader *r, const lab_space *space, const lab_source *source,
                             const char **text)
{
    char line[LINE_SIZE];
    unsigned long long seed;
    lab_evolution_options o;
    if (!next_line(r, text, line) || strcmp(line, MAGIC) != 0)
        return lab_fail(r->error, HEED_ERR_CORRUPT, "this is no " MAGIC);
    if (!next_line(r, text, line) || strncmp(line, "space ", 6) != 0 ||
        strcmp(line + 6, space->name) != 0)
        return fail(r, "it is about another space:", line);
    if (!next_line(r, text, line) ||
        sscanf(line, "options %llu %d %d %d %d %lf %lf", &seed, &o.islands, &o.population,
               &o.elites, &o.migration, &o.crossover, &o.immigrants) != 7)
        return fail(r, "no options:", line);
    o.seed = seed;
    heed_status status = lab_evolution_begin(&r->evolution, space, source, &o, r->error);
    return status == HEED_ERR_INVALID ? HEED_ERR_CORRUPT : status;
}

heed_status lab_evolution_load(lab_evolution **evolution, const lab_space *space,
                               const lab_source *source, const char *text, lab_error *error)
{
    reader r = { .error = error };
    char line[LINE_SIZE];
    *evolution = NULL;
    heed_status status = read_head(&r, space, source, &text);
    while (status == HEED_OK && next_line(&r, &text, line))
        status = read_line(&r, line);
    if (status == HEED_OK && !r.ended)
        status = fail(&r, "it ends too early, or within", text);
    if (status != HEED_OK) {
        lab_evolution_destroy(r.evolution);
        return status;
    }
    *evolution = r.evolution;
    return HEED_OK;
}
