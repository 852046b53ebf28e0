/*
 * report_page.c - the document: the machine, the tools, the method, the figures and reasons for
 * doubt
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "report/format.h"
#include "report_final.h"

/* ---- Where ---- */

static const char *or_unknown(const char *text)
{
    return text ? text : "unknown";
}

static void print_device(lab_page *page, const report_record *r)
{
    double memory = r->device.memory_bytes, units = r->device.multiprocessors,
           clock = r->device.clock_hz;
    char parts[3][64] = { "", "", "" };
    if (units > 0 && units < 1e6)
        snprintf(parts[0], sizeof parts[0], ", %.0f multiprocessors", units);
    if (clock > 0 && clock < 1e12)
        snprintf(parts[1], sizeof parts[1], ", up to %.0f MHz", clock * 1e-6);
    if (memory > 0 && memory < 1e18)
        snprintf(parts[2], sizeof parts[2], ", %.0f GB of memory", memory * 1e-9);
    lab_page_item(page, "Device: %s (%s)%s%s%s.", r->device.name,
                  r->around.features ? r->around.features : or_unknown(r->cpu_level), parts[0],
                  parts[1], parts[2]);
}

static void print_made(lab_page *page, const report_record *r)
{
    lab_page_item(page, "Host: %s, %s; %lld thread%s of heed's.", or_unknown(r->around.cpu),
                  or_unknown(r->around.system), (long long)r->threads, lab_plural(r->threads));
    lab_page_item(page, "heed %s at commit %s%s; build %s; %s %s.", or_unknown(r->around.heed),
                  or_unknown(r->around.commit), r->dirty ? ", with changes on top of it" : "",
                  or_unknown(r->around.build),
                  r->kernel ? "kernel" : "the planner's choice, effort",
                  r->kernel ? r->kernel : or_unknown(r->effort));
}

static void print_rivals(lab_page *page, const report_record *r)
{
    size_t index;
    json_t *rival;
    json_array_foreach(json_object_get(r->json, "rivals"), index, rival)
    {
        const char *name = json_string_value(json_object_get(rival, "name"));
        const char *version = json_string_value(json_object_get(rival, "version"));
        const char *detail = json_string_value(json_object_get(rival, "detail"));
        const char *reason = json_string_value(json_object_get(rival, "reason"));
        if (name)
            lab_page_item(page, "Rival %s: %s%s%s%s%s.", name, version ? version : "",
                          version && detail ? ", " : "", detail ? detail : "",
                          reason ? (version || detail ? "; " : "") : "", reason ? reason : "");
    }
}

static size_t rows_used(const report_set *set, const report_record *r)
{
    size_t used = 0;
    for (size_t i = 0; i < set->row_count; i++)
        used += set->rows[i]->record == r;
    return used;
}

/* Prints one line for all records whose problems were all measured again later. */
static void print_replaced(lab_page *page, const report_set *set)
{
    char *names = NULL;
    size_t size, count = 0;
    FILE *memory = open_memstream(&names, &size);
    for (size_t i = 0; memory && i < set->record_count; i++) {
        const report_record *r = set->records[i];
        if (r->row_count > 0 && rows_used(set, r) == 0)
            fprintf(memory, "%s%s, of %s", count++ ? "; " : "", r->path, r->time);
    }
    page->failed |= !memory || fclose(memory) != 0;
    if (count > 0 && !page->failed)
        lab_page_item(page, "Record%s %s: all of %s measured again later.", lab_plural(count),
                      names, count == 1 ? "it was" : "them were");
    free(names);
}

static void print_sources(lab_page *page, const report_set *set)
{
    for (size_t i = 0; i < set->record_count; i++) {
        const report_record *r = set->records[i];
        size_t used = rows_used(set, r);
        if (used > 0 || r->row_count == 0)
            lab_page_item(page, "Record %s, of %s: %zu problem%s at commit %s; manifest %.12s.",
                          r->path, r->time, used, lab_plural(used), or_unknown(r->around.commit),
                          r->around.manifest ? r->around.manifest : "unknown");
    }
    print_replaced(page, set);
}

static void print_manifest(lab_page *page, const report_record *r)
{
    const char *name;
    json_t *part;
    lab_listing rows = lab_listing_in(page);
    lab_page_heading(page, 3, "Software");
    lab_page_paragraph(page, "The manifest of %s; 'heed doctor --check' says what differs today.",
                       r->path);
    json_object_foreach(json_object_get(r->manifest, "parts"), name, part)
    {
        const char *version = json_string_value(json_object_get(part, "version"));
        const char *file = json_string_value(json_object_get(part, "file"));
        const char *sha = json_string_value(json_object_get(part, "sha256"));
        lab_cell_text(&rows, NULL, "software", name);
        lab_cell_left(&rows, "version", "%s", version ? version : "");
        lab_cell_left(&rows, "file", "%s", file ? file : "");
        lab_cell_left(&rows, "SHA-256", "%.12s", sha ? sha : "");
        lab_row_end(&rows);
    }
    lab_listing_print(&rows, NULL);
}

/* ---- The state during the measurement ---- */

typedef struct span {
    double least, most;
} span;

static void stretch(span *s, double value)
{
    if (!(value > 0))
        return;
    s->least = s->least > 0 ? fmin(s->least, value) : value;
    s->most = fmax(s->most, value);
}

static void print_state(lab_page *page, const report_set *set)
{
    span clock = { 0 }, power = { 0 }, heat = { 0 };
    for (size_t i = 0; i < set->row_count; i++) {
        stretch(&clock, set->rows[i]->state.clock_hz * 1e-6);
        stretch(&power, set->rows[i]->state.power_w);
        stretch(&heat, set->rows[i]->state.temperature_c);
    }
    if (clock.most > 0)
        lab_page_item(page,
                      "While it was measured: clocks %.0f to %.0f MHz, power %.0f to %.0f W, %.0f "
                      "to %.0f degrees Celsius.",
                      clock.least, clock.most, power.least, power.most, heat.least, heat.most);
}

/* ---- How ---- */

/* Prints the sources of the rows' limits. */
static void print_limits(lab_page *page, const report_set *set)
{
    static const struct {
        const char *from, *says;
    } kinds[] = {
        { "roofline", "by the roofline, the least time that an exact kernel needs, from ceilings "
                      "measured on this device when it was timed, over p50, and the unit that "
                      "binds" },
        { "ceiling", "the rate over that of a loop of nothing but multiply-adds on this device" },
        { "measured",
          "the least time that an exact kernel needs over p50, from ceilings that 'heed "
          "roofline' measured on such a device, not when it was timed, and the unit "
          "that binds" },
        { "data sheet", "the least time that an exact kernel needs over p50 if the device did what "
                        "its data sheet says, without launches and caches, and the unit that "
                        "binds; no ceiling was measured when it was timed" },
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t count = 0;
        for (size_t i = 0; i < set->row_count; i++)
            count += set->rows[i]->share > 0 && strcmp(set->rows[i]->share_of, kinds[k].from) == 0;
        if (count > 0)
            lab_page_item(page, "of limit, in %zu of %zu problem%s: %s.", count, set->row_count,
                          lab_plural(set->row_count), kinds[k].says);
    }
}

/* Prints the number of sides with a figure, and how many of them were compared with a reference. */
static void print_checked(lab_page *page, const report_set *set)
{
    size_t figures = 0, checked = 0;
    for (size_t i = 0; i < set->row_count; i++) {
        const report_row *row = set->rows[i];
        if (!row->ok)
            continue;
        figures++;
        checked += row->error >= 0;
        for (size_t j = 0; j < row->match_count; j++) {
            figures += row->matches[j].ok;
            checked += row->matches[j].ok && row->matches[j].error >= 0;
        }
    }
    if (checked > 0)
        lab_page_item(
            page,
            "Outputs: of %zu that have a figure, heed's and the rivals', %s%zu %s compared "
            "with float64 on sampled rows.",
            figures, checked == figures ? "all " : "", checked, checked == 1 ? "was" : "were");
}

static void print_method(lab_page *page, const report_set *set)
{
    const report_record *r = report_newest(set);
    char text[LAB_FORMAT_SIZE];
    lab_page_heading(page, 3, "How each number was measured");
    lab_page_item(page, "p50, p90: %s",
                  r->replay
                      ? "median and 90th percentile of the device's own time of a call. Calls are "
                        "captured into a graph, which is replayed between two of the device's "
                        "events; nothing of the host's time is in it."
                      : "median and 90th percentile of the time of a call on all threads, by the "
                        "monotonic clock. Calls much shorter than the clock can tell are timed in "
                        "groups. Of rivals, the median over their blocks.");
    lab_page_item(page, "%s",
                  r->cold ? "Cold: calls rotate through copies of the tensors that together "
                            "exceed the last cache, so that none is in it when its turn comes."
                          : "Hot: every call works on the same buffers.");
    if (r->behind)
        lab_page_item(page, "Behind a kernel of another module: one of one element is launched "
                            "before each call of a graph, and is in the figures of all sides.");
    if (r->replay)
        lab_page_item(page, "eager p50, p90: one call on a device that has nothing else to do, by "
                            "the host's clock, from before the call until a wait for the device "
                            "returns. launch: the host's time to start it.");
    lab_page_item(page,
                  "%s: operations by the usual count, a multiply-add as two, the softmax and "
                  "masked pairs as none, over p50.",
                  r->replay ? "TFLOP/s" : "GFLOP/s");
    if (set->rival_count > 0)
        lab_page_item(page, "%s",
                      "rival/heed: heed and the rival took turns in one run on the same values, "
                      "the order of each pair drawn at random; the median of all means of two "
                      "stretches of pairs (Hodges and Lehmann), with a 99 % interval by signed "
                      "ranks. FASTER and SLOWER lie outside of the margin as a whole, EQUIVALENT "
                      "inside of it, AMBIGUOUS across one of its ends.");
    print_limits(page, set);
    print_checked(page, set);
    if (r->seconds > 0)
        lab_page_item(page, "Budget: %s for heed and for each rival, on each problem; seed %lld.",
                      report_time(r->seconds, text), (long long)r->seed);
}

/* ---- A set ---- */

static void print_set(lab_page *page, const report_set *set)
{
    const report_record *r = report_newest(set);
    lab_page_heading(page, 2, "%s, %.10s, %s buffers%s", r->device.name, r->time,
                     r->cold ? "cold" : "hot",
                     r->behind ? ", behind a kernel of another module" : "");
    print_device(page, r);
    print_made(page, r);
    print_rivals(page, r);
    print_sources(page, set);
    print_state(page, set);
    report_doubts(page, set);
    if (set->row_count == 0) {
        lab_page_paragraph(page, "The record has no problem.");
        return;
    }
    lab_page_heading(page, 3, "heed and its rivals");
    report_summary(page, set);
    report_plots(page, set);
    lab_page_heading(page, 3, "Every figure");
    report_details(page, set);
    report_missing(page, set);
    print_method(page, set);
    if (r->manifest)
        print_manifest(page, r);
}

/* -------------------------------------------------------------------------- */
/* The document                                                               */
/* -------------------------------------------------------------------------- */

static void print_origin(lab_page *page, const report_run *run)
{
    size_t count = run->records.count;
    char records[48] = "";
    if (count > 0)
        snprintf(records, sizeof records, "%zu record%s%s", count, lab_plural(count),
                 run->with_board ? " and " : "");
    lab_page_paragraph(
        page,
        "Made by heed %s from %s%s%s. Ratios to a rival are of turns within one run; "
        "figures of different runs are history.",
        heed_version(), records, run->with_board ? "the board " : "",
        run->with_board ? run->board.path : "");
}

bool report_write(const report_run *run, FILE *stream, lab_page_form form)
{
    lab_page page;
    const char *title = cli_args_text(run->args, "title");
    lab_page_begin(&page, stream, form, title);
    print_origin(&page, run);
    if (run->final)
        report_final_page(&page, run->final);
    report_history(&page, &run->records);
    for (size_t i = 0; i < run->records.set_count; i++)
        print_set(&page, &run->records.sets[i]);
    if (run->with_board)
        report_board_page(&page, &run->board);
    return lab_page_end(&page);
}
