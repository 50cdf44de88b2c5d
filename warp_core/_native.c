/* The W1 and Jensen-Shannon selectors' inner loops, compiled. The pure forms (greedy.py, selectors/w1_exact.py,
 * selectors/jensen_shannon.py) say what is computed and why; this file does the same steps in the same order, and the tests hold one against the other.
 *
 * Transport costs are whole numbers below 2^53 (native.py sees to it), so doubles hold and compare them exactly.
 */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    const double *relevance; /* n candidates; ties go to the higher, then to the lower position */
    const double *blended;   /* n; normalised relevance */
    const int64_t *order;    /* positions by bin, inside a bin most relevant first, equals in input order */
    const int64_t *ends;     /* n_bins + 1; bin b is order[ends[b]] .. order[ends[b + 1] - 1] */
    const double *aims;      /* n_bins; cumulative weights of the target */
    const double *gaps;      /* n_bins - 1 */
    int64_t n_bins, k;
} Problem;

/* Whether candidate p goes before q when all else is equal. */
static int before(const Problem *on, int64_t p, int64_t q) {
    return on->relevance[p] != on->relevance[q] ? on->relevance[p] > on->relevance[q] : p < q;
}

/* The transport cost of adding a document of each bin, relative to the lowest bin (TransportCost.of_one_more). */
static void relative_costs(const Problem *on, double *balance, double *costs) {
    double total = on->aims[on->n_bins - 1];
    costs[0] = 0;
    for (int64_t i = 0; i + 1 < on->n_bins; i++) {
        double v = balance[i] -= 2 * on->aims[i];
        costs[i + 1] = costs[i] - on->gaps[i] * (v > total ? total : v < -total ? -total : v);
    }
}

/* The transport cost of the list itself: sum_i gap_i |C_i D - T_i n|. */
static double current_cost(const Problem *on, const int64_t *counts, int64_t n) {
    double total = on->aims[on->n_bins - 1], cost = 0;
    int64_t filled = 0;
    for (int64_t i = 0; i + 1 < on->n_bins; i++) {
        filled += counts[i];
        double off = (double)filled * total - on->aims[i] * (double)n;
        cost += on->gaps[i] * (off < 0 ? -off : off);
    }
    return cost;
}

/* Jensen-Shannon divergence with one document more in each bin (jensen_shannon.DivergenceCost.of_one_more). */
static void divergences(const Problem *on, double constant, const int64_t *counts, int64_t n, double *costs) {
    double total = on->aims[on->n_bins - 1], own = 0, mixed = 0;
    for (int64_t i = 0; i < on->n_bins; i++) {
        double share = (on->aims[i] - (i ? on->aims[i - 1] : 0)) / total, c = (double)counts[i];
        double x = c + (double)n * share;
        double term = x > 0 ? x * log2(x) : 0, held = c > 0 ? c * log2(c) : 0;
        own += held;
        mixed += term;
        costs[i] = ((c + 1) * log2(c + 1) - held - ((x + 1) * log2(x + 1) - term)) / (2 * (double)n);
    }
    double before = constant + log2((double)n) / 2 + (own - mixed) / (2 * (double)n);
    for (int64_t i = 0; i < on->n_bins; i++) costs[i] += before;
}

enum { W1_MINIMIZER, W1_MMR, W1_EXACT, JS_MINIMIZER, JS_MMR };

/* greedy.take_best. `furthest` is the measure of an empty list; `unit` scales a transport cost to W1, and is the
 * constant of the divergence. The MMR forms scale a step's costs by the current one, less weight * blended. Ties lie
 * within `tie`, for whole-number costs within floor(tie * length). `work` has room for 3 * n_bins; `skip` (or NULL)
 * marks candidates that are not to be taken. */
static int64_t take_best(const Problem *on, int mode, const char *skip, double weight, double unit, double furthest,
                         double tie, double *work, int64_t *next, int64_t *counts, int64_t *picked) {
    double *balance = work, *costs = work + on->n_bins, *raw = costs + on->n_bins;
    double total = on->aims[on->n_bins - 1], current = furthest;
    int divergence = mode == JS_MINIMIZER || mode == JS_MMR, gain = mode == W1_MMR || mode == JS_MMR;
    int64_t taken = 0;
    for (int64_t b = 0; b < on->n_bins; b++) {
        balance[b] = total;
        next[b] = on->ends[b];
        counts[b] = 0;
    }
    for (; taken < on->k; taken++) {
        double length = (double)(taken + 1), scale = 1, lowest = DBL_MAX;
        double within = gain || divergence ? tie : (double)(int64_t)(tie * length);
        if (divergence) divergences(on, unit, counts, taken + 1, raw);
        else relative_costs(on, balance, raw);
        if (gain) {
            if (!divergence && taken) current = current_cost(on, counts, taken) / ((double)taken * total) * unit;
            scale = (1 - weight) / (current < tie ? tie : current);
            if (!divergence) scale *= unit / (length * total);
        }
        for (int64_t b = 0; b < on->n_bins; b++) {
            while (skip && next[b] < on->ends[b + 1] && skip[on->order[next[b]]]) next[b]++;
            if (next[b] == on->ends[b + 1]) continue;
            costs[b] = gain ? raw[b] * scale - weight * on->blended[on->order[next[b]]] : raw[b];
            if (costs[b] < lowest) lowest = costs[b];
        }
        int64_t best = -1, bin = -1;
        for (int64_t b = 0; b < on->n_bins; b++) {
            if (next[b] == on->ends[b + 1] || costs[b] > lowest + within) continue;
            int64_t front = on->order[next[b]];
            if (best < 0 || before(on, front, best)) best = front, bin = b;
        }
        if (best < 0) break;
        picked[taken] = best;
        if (divergence) current = raw[bin];
        counts[bin]++;
        next[bin]++;
        for (int64_t i = bin; i + 1 < on->n_bins; i++) balance[i] += 2 * total;
    }
    return taken;
}

#define GRID 1099511627776.0 /* greedy.GRID */

typedef struct {
    double cost;
    int64_t position;
} Increment;

static int smaller(const Problem *on, const Increment *a, const Increment *b) {
    return a->cost != b->cost ? a->cost < b->cost : before(on, a->position, b->position);
}

/* w1_exact.best_set: marks with 0 in `skip` the k candidates that minimise transport * W1 - reward * relevance. */
static void best_set(const Problem *on, double transport, double reward, char *skip, Increment *best, Increment *merged) {
    double total = on->aims[on->n_bins - 1];
    int64_t size = 0;
    for (int64_t b = 0; b < on->n_bins; b++) {
        int64_t i = 0, j = on->ends[b], count = 0, end = on->ends[b + 1];
        while (count < on->k && (i < size || j < end)) {
            Increment own;
            if (j < end) {
                own.position = on->order[j];
                own.cost = reward != 0 ? -rint(reward * on->blended[own.position] * GRID) : 0;
            }
            if (j == end || (i < size && smaller(on, &best[i], &own))) merged[count++] = best[i++];
            else merged[count++] = own, j++;
        }
        Increment *swap = best;
        best = merged, merged = swap;
        size = count;
        if (b + 1 == on->n_bins) break;
        double aim = on->aims[b] * (double)on->k;
        for (int64_t c = 0; c < size; c++) {
            double now = (double)c * total - aim, then = now + total;
            double step = on->gaps[b] * ((then < 0 ? -then : then) - (now < 0 ? -now : now));
            best[c].cost += reward != 0 ? rint(transport * step * GRID) : step;
        }
    }
    for (int64_t i = 0; i < size; i++) skip[best[i].position] = 0;
}

/* Reading the arguments */

static int doubles(PyObject *source, Py_buffer *view, Py_ssize_t length) {
    if (PyObject_GetBuffer(source, view, PyBUF_SIMPLE) < 0) return -1;
    if (view->len == length * (Py_ssize_t)sizeof(double)) return 0;
    PyBuffer_Release(view);
    PyErr_SetString(PyExc_ValueError, "a column has the wrong length");
    return -1;
}

/* choose(mode, relevance, blended, order, ends, aims, gaps, k, weight, unit, furthest, tie, transport, reward) -> list
 * All columns are contiguous, 8 bytes an entry. */
static PyObject *choose(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *sources[6], *result = NULL;
    Py_buffer views[6];
    int mode, held = 0;
    long long k;
    double weight, unit, furthest, tie, transport, reward;
    if (!PyArg_ParseTuple(args, "iOOOOOOLdddddd", &mode, &sources[0], &sources[1], &sources[2], &sources[3], &sources[4],
                          &sources[5], &k, &weight, &unit, &furthest, &tie, &transport, &reward))
        return NULL;
    Py_ssize_t n = PyObject_Size(sources[0]), n_bins = PyObject_Size(sources[4]), m = PyObject_Size(sources[2]);
    Py_ssize_t lengths[6] = {n, n, m, n_bins + 1, n_bins, n_bins - 1};
    for (; held < 6; held++)
        if (doubles(sources[held], &views[held], lengths[held]) < 0) goto done;
    Problem on = {views[0].buf, views[1].buf, views[2].buf, views[3].buf, views[4].buf, views[5].buf, n_bins, k};
    double *work = malloc(3 * n_bins * sizeof *work);
    int64_t *next = malloc((2 * n_bins + k) * sizeof *next);
    Increment *increments = mode == W1_EXACT ? malloc((2 * k + 1) * sizeof *increments) : NULL;
    char *skip = mode == W1_EXACT ? malloc(n + 1) : NULL;
    if (!work || !next || (mode == W1_EXACT && (!increments || !skip))) {
        PyErr_NoMemory();
    } else {
        int64_t *picked = next + 2 * n_bins;
        if (mode == W1_EXACT) {
            for (Py_ssize_t i = 0; i < n; i++) skip[i] = 1;
            best_set(&on, transport, reward, skip, increments, increments + k);
        }
        int64_t taken = take_best(&on, mode, skip, weight, unit, furthest, tie, work, next, next + n_bins, picked);
        result = PyList_New(taken);
        for (int64_t i = 0; result && i < taken; i++) PyList_SetItem(result, i, PyLong_FromLongLong(picked[i]));
    }
    free(work);
    free(next);
    free(increments);
    free(skip);
done:
    while (held > 0) PyBuffer_Release(&views[--held]);
    return result;
}

/* prefixes(bins, aims, gaps, unit) -> list: transport.w1_of_prefixes; the arguments are a list and two tuples. */
static PyObject *prefixes(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *bins, *aims, *gaps, *result = NULL;
    double unit, w1 = Py_NAN;
    if (!PyArg_ParseTuple(args, "O!O!O!d", &PyList_Type, &bins, &PyTuple_Type, &aims, &PyTuple_Type, &gaps, &unit))
        return NULL;
    Py_ssize_t size = PyList_Size(bins), n_bins = PyTuple_Size(aims);
    if (PyTuple_Size(gaps) + 1 != n_bins) return PyErr_Format(PyExc_ValueError, "a gap is needed between two bins");
    double *columns = malloc(2 * n_bins * sizeof *columns);
    int64_t *counts = calloc(n_bins + 1, sizeof *counts), n = 0;
    if (!columns || !counts) {
        PyErr_NoMemory();
        goto done;
    }
    Problem on = {.aims = columns, .gaps = columns + n_bins, .n_bins = n_bins};
    for (Py_ssize_t i = 0; i < n_bins; i++) columns[i] = PyFloat_AsDouble(PyTuple_GetItem(aims, i));
    for (Py_ssize_t i = 0; i + 1 < n_bins; i++) columns[n_bins + i] = PyFloat_AsDouble(PyTuple_GetItem(gaps, i));
    if (PyErr_Occurred() || !(result = PyList_New(size))) goto done;
    for (Py_ssize_t i = 0; i < size; i++) {
        long long b = PyLong_AsLongLong(PyList_GetItem(bins, i));
        if (b >= n_bins || PyErr_Occurred()) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_IndexError, "no such bin");
            Py_CLEAR(result);
            break;
        }
        if (b >= 0) {
            counts[b]++;
            n++;
            w1 = current_cost(&on, counts, n) / ((double)n * columns[n_bins - 1]) * unit;
        }
        PyList_SetItem(result, i, PyFloat_FromDouble(w1));
    }
done:
    free(columns);
    free(counts);
    return result;
}

static PyMethodDef methods[] = {
    {"choose", choose, METH_VARARGS, NULL}, {"prefixes", prefixes, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&module); }
