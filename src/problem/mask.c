/*
 * mask.c - which keys queries see: causal masks, windows and chunks as one interval per query
 */
#include "../internal.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t clip(int64_t x, int64_t low, int64_t high)
{
    return most(low, least(x, high));
}

/* The first key of the chunk that contains @position, which may be negative. */
static int64_t chunk_begin(int64_t position, int64_t chunk)
{
    int64_t rest = position % chunk;
    return position - (rest < 0 ? rest + chunk : rest);
}

static bool right_aligned(const heed_problem *problem)
{
    return problem->mask == HEED_MASK_NONE ? problem->align == HEED_ALIGN_BOTTOM_RIGHT
                                           : problem->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT;
}

bool heed_problem_varies_q(const heed_problem *problem)
{
    return problem->tokens_q > 0;
}

bool heed_problem_varies_k(const heed_problem *problem)
{
    return problem->tokens_k > 0 || problem->lengths.type != HEED_DATA_NONE;
}

bool heed_problem_follows_lengths(const heed_problem *problem)
{
    return (heed_problem_varies_q(problem) || heed_problem_varies_k(problem)) &&
           right_aligned(problem);
}

heed_lengths heed_problem_lengths(const heed_problem *problem)
{
    return (heed_lengths){ problem->seq_q, problem->seq_k };
}

/* The view of a batch element of these lengths. */
static heed_view view_of(const heed_problem *problem, heed_lengths lengths)
{
    const heed_window *window = &problem->window;
    heed_view view = { .left = HEED_OPEN, .right = HEED_OPEN, .chunk = problem->chunk };
    if (right_aligned(problem))
        view.first = lengths.k - lengths.q;
    if (window->sides & HEED_WINDOW_LEFT)
        view.left = window->left;
    if (window->sides & HEED_WINDOW_RIGHT)
        view.right = window->right;
    if (problem->mask != HEED_MASK_NONE)
        view.right = 0;
    return view;
}

heed_view heed_problem_view(const heed_problem *problem)
{
    heed_lengths lengths = heed_problem_lengths(problem);
    if (heed_problem_follows_lengths(problem)) {
        lengths.q = heed_problem_varies_q(problem) ? 0 : lengths.q;
        lengths.k = heed_problem_varies_k(problem) ? 0 : lengths.k;
    }
    return view_of(problem, lengths);
}

bool heed_problem_aligned(const heed_problem *problem)
{
    return problem->window.sides != 0 || problem->chunk != 0 ||
           problem->slopes.type != HEED_DATA_NONE || problem->score[0] != '\0' ||
           problem->visible[0] != '\0';
}

bool heed_problem_masked(const heed_problem *problem)
{
    return problem->mask != HEED_MASK_NONE || problem->window.sides != 0 || problem->chunk != 0 ||
           heed_problem_varies_k(problem);
}

bool heed_problem_hides_first(const heed_problem *problem)
{
    return problem->window.sides & HEED_WINDOW_LEFT || problem->chunk != 0;
}

heed_interval heed_problem_keys(const heed_problem *problem, heed_lengths lengths, int64_t i)
{
    heed_view view = view_of(problem, lengths);
    int64_t position = i + view.first;
    heed_interval keys = { position - view.left, position + view.right + 1 };
    if (view.chunk) {
        int64_t begin = chunk_begin(position, view.chunk);
        keys.begin = most(keys.begin, begin);
        keys.end = least(keys.end, begin + view.chunk);
    }
    int64_t count = clip(lengths.k, 0, problem->seq_k);
    return (heed_interval){ clip(keys.begin, 0, count), clip(keys.end, 0, count) };
}

int64_t heed_problem_most_keys(const heed_problem *problem)
{
    heed_view view = view_of(problem, heed_problem_lengths(problem));
    int64_t keys = least(problem->seq_k, view.left + view.right + 1);
    return view.chunk ? least(keys, view.chunk) : keys;
}

/* -------------------------------------------------------------------------- */
/* Normal form                                                                */
/* -------------------------------------------------------------------------- */

static void open_side(heed_window *window, unsigned side)
{
    window->sides &= ~side;
    if (side == HEED_WINDOW_LEFT)
        window->left = 0;
    else
        window->right = 0;
}

/* True if chunks hide no key that @view shows without them. */
static bool chunks_hide_nothing(const heed_problem *problem, const heed_view *view)
{
    int64_t last = problem->seq_q - 1 + view->first;
    return last < view->chunk &&
           (view->right == 0 ||
            chunk_begin(view->first, view->chunk) + view->chunk >= problem->seq_k);
}

void heed_mask_normalize(heed_problem *problem)
{
    if (problem->seq_q == problem->seq_k && !heed_problem_varies_q(problem) &&
        !heed_problem_varies_k(problem)) {
        problem->align = HEED_ALIGN_TOP_LEFT;
        if (problem->mask == HEED_MASK_CAUSAL_BOTTOM_RIGHT)
            problem->mask = HEED_MASK_CAUSAL_TOP_LEFT;
    }
    heed_window *window = &problem->window;
    if (problem->mask == HEED_MASK_NONE && window->sides & HEED_WINDOW_RIGHT && window->right == 0)
        problem->mask = problem->align == HEED_ALIGN_BOTTOM_RIGHT ? HEED_MASK_CAUSAL_BOTTOM_RIGHT
                                                                  : HEED_MASK_CAUSAL_TOP_LEFT;
    heed_view view = view_of(problem, heed_problem_lengths(problem));
    if (problem->mask != HEED_MASK_NONE || view.right >= problem->seq_k - 1 - view.first ||
        (view.chunk && view.right >= view.chunk - 1))
        open_side(window, HEED_WINDOW_RIGHT);
    if (view.chunk && view.left >= view.chunk - 1)
        open_side(window, HEED_WINDOW_LEFT);
    if (!heed_problem_follows_lengths(problem)) {
        if (view.left >= problem->seq_q - 1 + view.first)
            open_side(window, HEED_WINDOW_LEFT);
        if (problem->chunk && chunks_hide_nothing(problem, &view))
            problem->chunk = 0;
    }
    if (problem->mask != HEED_MASK_NONE || !heed_problem_aligned(problem))
        problem->align = HEED_ALIGN_TOP_LEFT;
}

/* -------------------------------------------------------------------------- */
/* Pairs                                                                      */
/* -------------------------------------------------------------------------- */

/* The sum of clip(i + @offset, 0, @limit) for i from @begin up to but not including @end. Exact, as
 * it is at most 2^62. */
static int64_t sum_clipped(int64_t begin, int64_t end, int64_t offset, int64_t limit)
{
    int64_t low = clip(-offset, begin, end);         /* terms before it are 0, */
    int64_t high = clip(limit - offset, begin, end); /* terms from it on are the limit */
    int64_t rising = high - low;
    return rising * (low + offset) + rising * (rising - 1) / 2 + (end - high) * limit;
}

/* Counts the pairs of the positions from @begin up to @end with the keys below @keys. */
static int64_t count_pairs(const heed_view *view, int64_t begin, int64_t end, int64_t keys)
{
    return sum_clipped(begin, end, view->right + 1, keys) -
           sum_clipped(begin, end, -view->left, keys);
}

/* The same within chunk number @index, counted from its first key. */
static int64_t chunk_pairs(const heed_view *view, int64_t begin, int64_t end, int64_t keys,
                           int64_t index)
{
    int64_t first = index * view->chunk;
    return count_pairs(view, most(begin - first, 0), least(end - first, view->chunk),
                       least(keys - first, view->chunk));
}

int64_t heed_problem_pairs(const heed_problem *caller)
{
    const heed_problem typical = heed_problem_typical(caller), *problem = &typical;
    heed_view view = view_of(problem, heed_problem_lengths(problem));
    int64_t keys = problem->seq_k, begin = view.first, end = view.first + problem->seq_q;
    if (!view.chunk)
        return count_pairs(&view, begin, end, keys);
    begin = most(begin, 0); /* positions whose chunk has no keys see none */
    end = least(end, heed_div_up(keys, view.chunk) * view.chunk);
    if (begin >= end)
        return 0;
    int64_t index = begin / view.chunk, last = (end - 1) / view.chunk;
    int64_t pairs = chunk_pairs(&view, begin, end, keys, index);
    if (last > index) /* all chunks in between are alike */
        pairs += chunk_pairs(&view, begin, end, keys, last);
    if (last > index + 1)
        pairs += (last - index - 1) * chunk_pairs(&view, begin, end, keys, index + 1);
    return pairs;
}

double heed_problem_share(const heed_problem *problem)
{
    return (double)heed_problem_pairs(problem) / ((double)problem->seq_q * (double)problem->seq_k);
}
