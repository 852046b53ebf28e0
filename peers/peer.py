"""The line protocol of lab/trial/peer/protocol.md, for peers written in Python.

A peer defines a class with these members and ends with serve(Rival):

    name                    what the table calls it
    setup(threads)          imports the library and sets its threads; returns the members version,
                            types, detail and the like of the reply to hello; raises Unsupported
    prepare(problem, data)  returns a Prepared; problem has the members of the request, data has the
                            bytes of "q", "k" and, unless it is a part of K, "v"; raises Unsupported

and, if it supports more than the CPU, a set kinds of devices, such as {"cpu", "cuda"}. Before setup() the member device
is set to the device to use, such as "cuda:0". With a member repeats = True it gets data as short as in the file, which
repeated() extends to their length. A method words(problem) returns the words of the spec that it supports in addition
to WORDS, such as {"window"}; a problem with any other word is refused before prepare().

This file imports only the standard library, so that a peer can always report missing packages.
"""

import itertools
import json
import math
import os
import pathlib
import re
import statistics
import sys
import time
import types

PROTOCOL = "heed.trial/1"
TYPE_SIZES = {"f32": 4, "f16": 2, "bf16": 2}
REASON_BYTES = 200

# Words of a spec that other members of the request repeat, or that a peer may ignore.
WORDS = {"causal", "scale", "acc", "products", "layout", "q", "k", "v", "o"}

# prepare() may try several ways to compute the problem, each for about this long.
TRIAL_SECONDS = 0.1


class Unsupported(Exception):
    """The peer does not support a request, which is not an error."""


class Prepared:
    """A problem that is ready to run.

    steps    one function per copy of the tensors, each of which computes all of O
    output   output(index) returns the bytes of O of that copy, dense [batch, seq_q, heads_q, dim_v]
    layout   order of the tensors' dimensions in the calls
    detail   entry point of the calls

    An asynchronous device overrides capture(), wait() and rows().
    """

    def __init__(self, steps, output, layout, detail):
        self.steps, self.output, self.layout, self.detail = steps, output, layout, detail
        self.turns = itertools.cycle(range(len(steps)))
        self.last = None  # copy that the last call used
        self.captured = 0, None

    def call(self):
        self.last = next(self.turns)
        self.steps[self.last]()

    def replayer(self, calls):
        """Returns the replay of capture() for @calls calls; the last one is cached."""
        if self.captured[0] != calls:
            self.captured = 0, None  # free its memory first
            self.captured = calls, self.capture(calls)
        self.last = (calls - 1) % len(self.steps)
        return self.captured[1]

    def capture(self, calls):
        """Returns a function of two numbers, warmup and replays, that executes @calls steps that many times, beginning
        with the first copy, and returns the nanoseconds of the replays."""

        def run(times):
            for _ in range(times):
                for index in range(calls):
                    self.steps[index % len(self.steps)]()

        def replay(warmup, replays):
            run(warmup)
            start = time.perf_counter_ns()
            run(replays)
            return time.perf_counter_ns() - start

        return replay

    def wait(self):
        """Returns when all calls are complete."""

    def close(self):
        """Drops all references at once: closures that refer to each other would keep device memory until the next
        garbage collection."""
        self.steps, self.output, self.captured = [], None, (0, None)

    def rows(self, problem, index, numbers):
        """Returns the bytes of some rows of O of that copy, numbered [batch, head, seq]."""
        data, parts = self.output(index), []
        size = problem.dim_v * TYPE_SIZES[problem.type]
        queries = query_rows(problem)[1]
        for number in numbers:
            head, query = divmod(number, queries)
            batch, head = divmod(head, problem.heads_q)
            place = ((batch * queries + query) * problem.heads_q + head) * size
            parts.append(data[place : place + size])
        return b"".join(parts)


def shapes(problem):
    """Returns the shapes of the dense tensors by their letters. Packed tensors have one batch element, paged ones are a
    pool, and V has no shape if it is a part of K."""
    p = problem
    queries, keys = query_rows(p), (p.batch, p.seq_k)
    if getattr(p, "tokens_k", 0):
        keys = 1, p.tokens_k
    elif getattr(p, "page", 0):
        keys = p.pages, p.page
    made = {
        "q": (*queries, p.heads_q, p.dim_qk),
        "k": (*keys, p.heads_kv, p.dim_qk),
        "v": (*keys, p.heads_kv, p.dim_v),
        "o": (*queries, p.heads_q, p.dim_v),
    }
    if "shared" in spec_words(p):
        made.pop("v")
    return made


def query_rows(problem):
    """Returns the number of batch elements of Q and O, and of rows of each."""
    tokens = getattr(problem, "tokens_q", 0)
    return (1, tokens) if tokens else (problem.batch, problem.seq_q)


def scores_fit(problem):
    """Returns whether the whole score matrix fits in this machine's memory."""
    size = 4 * problem.batch * problem.heads_q * problem.seq_q * problem.seq_k
    return size < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4


def fastest(ways):
    """Returns the name of the fastest of some functions, given by name.

    A function that raises an exception is dropped. Raises Unsupported, with the last reason, if none is left.
    """
    times, reason = {}, "the library has no entry point for this problem"
    for name, way in ways.items():
        try:
            way()  # also performs the library's one-time set-up
            times[name] = usual_call(way) if len(ways) > 1 else 0
        except Exception as error:  # of any class: the function is dropped
            reason = str(error)
    if not times:
        raise Unsupported(reason)
    return min(times, key=times.get)


def usual_call(function):
    """Returns the median seconds of the calls that fit into TRIAL_SECONDS: a function that is only occasionally fast is
    not the best one."""
    times, spent = [], 0.0
    while spent < TRIAL_SECONDS:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
        spent += times[-1]
    return statistics.median(times)


class Session:
    """One connection. Every method named after a request returns its reply without the status."""

    def __init__(self, rival):
        self.rival = rival
        self.ready = False
        self.prepared = None
        self.problem = None

    def hello(self, request):
        if request.get("protocol") != PROTOCOL:
            raise ValueError(f"this peer speaks {PROTOCOL}, not {request.get('protocol')}")
        threads, device = int(request["threads"]), request.get("device", "cpu")
        kinds = getattr(self.rival, "kinds", {"cpu"})
        if device.split(":")[0] not in kinds:
            raise Unsupported(f"computes on {' and '.join(sorted(kinds))}, not on {device}")
        self.rival.device = device
        reply = self.rival.setup(threads)
        self.ready = True
        offers = {"protocol": PROTOCOL, "name": self.rival.name, "threads": threads, "period": True}
        return {**offers, **({"device": device} if "device" in request else {}), **reply}

    def prepare(self, request):
        if not self.ready:
            raise ValueError("prepare before a successful hello")
        if self.prepared:
            raise ValueError("prepare after prepare: release first")
        problem = types.SimpleNamespace(**request)
        known = getattr(self.rival, "words", lambda _problem: ())(problem)
        refuse_words(problem, WORDS.union(known))
        data = {letter: read_tensor(problem, letter) for letter in shapes(problem) if letter != "o"}
        if not getattr(self.rival, "repeats", False):
            data = {letter: repeated(problem, letter, data[letter]) for letter in data}
        self.prepared = self.rival.prepare(problem, data)
        self.problem = problem
        return {"layout": self.prepared.layout, "detail": self.prepared.detail}

    def run(self, request):
        prepared, warmup, calls = self.need(), int(request["warmup"]), int(request["calls"])
        mode = request.get("mode", "block")
        if warmup < 0 or calls < 1:
            raise ValueError(f"warmup {warmup}, calls {calls}; at least 0 and 1")
        if mode not in ("block", "replay", "eager"):
            raise Unsupported(f"there is no mode {mode} here")
        if mode == "replay":
            return self.run_replays(prepared, warmup, calls, int(request["replays"]))
        for _ in range(warmup):
            prepared.call()
        prepared.wait()
        if mode == "eager":
            return self.run_single(prepared, calls)
        start = time.perf_counter_ns()
        for _ in range(calls):
            prepared.call()
        prepared.wait()
        return {"calls": calls, "ns": time.perf_counter_ns() - start}

    def run_replays(self, prepared, warmup, calls, replays):
        if replays < 1:
            raise ValueError(f"replays {replays}; at least 1")
        ns = prepared.replayer(calls)(warmup, replays)
        return {"calls": calls * replays, "ns": round(ns)}

    def run_single(self, prepared, calls):
        samples = []
        for _ in range(calls):
            start = time.perf_counter_ns()
            prepared.call()
            prepared.wait()
            samples.append(time.perf_counter_ns() - start)
        return {"calls": calls, "ns": sum(samples), "samples_ns": samples}

    def check(self, request):
        prepared = self.need()
        if prepared.last is None:
            raise ValueError("check before run")
        with open(self.problem.o, "r+b") as file:
            if "rows" in request:
                file.write(prepared.rows(self.problem, prepared.last, request["rows"]))
            else:
                file.write(prepared.output(prepared.last))
            file.truncate()
        return {}

    def release(self, _request):
        if self.prepared:
            self.prepared.close()
        self.prepared = self.problem = None
        return {}

    def quit(self, _request):
        return {}

    def need(self):
        if not self.prepared:
            raise ValueError("nothing is prepared")
        return self.prepared


def spec_words(problem):
    """Returns the words of the spec except sizes and type, with their values after "="."""
    words = {}
    for word in re.findall(r'(?:"[^"]*"|[^\s"])+', getattr(problem, "spec", "")):
        name, _, value = word.partition("=")
        size = word[:1] in ("b", "h", "s", "d") and word[1:].replace("/", "").isdigit()
        if not size and name not in TYPE_SIZES:
            words[name] = value
    return words


def refuse_words(problem, known):
    """Refuses a problem whose spec has an unsupported word."""
    for name in spec_words(problem):
        if name not in known:
            raise Unsupported(f"the word {name} of the problem is not supported")


def read_tensor(problem, letter):
    """Returns the elements in the file of Q, K or V as bytes that the caller may write to."""
    data = bytearray(pathlib.Path(getattr(problem, letter)).read_bytes())
    elements = math.prod(shapes(problem)[letter])
    expected = min(elements, getattr(problem, "period", elements)) * TYPE_SIZES[problem.type]
    if len(data) != expected:
        raise ValueError(f"{letter} has {len(data)} bytes instead of {expected}")
    return data


def repeated(problem, letter, data):
    """Returns the result of read_tensor(), repeated to fill the tensor."""
    size = math.prod(shapes(problem)[letter]) * TYPE_SIZES[problem.type]
    return data if len(data) == size else (data * (size // len(data) + 1))[:size]


def answer(session, line):
    """Returns the reply to one line, and the request's op."""
    op = None
    try:
        request = json.loads(line)
        op = request["op"]
        if op not in ("hello", "prepare", "run", "check", "release", "quit"):
            raise Unsupported(f"unknown request {op}")
        return {"status": "ok", **getattr(session, op)(request)}, op
    except Unsupported as error:
        return {"status": "unsupported", "reason": shorten(error)}, op
    except Exception as error:  # an error of the request or the library is reported, never fatal
        return {"status": "error", "reason": shorten(f"{type(error).__name__}: {error}")}, op


def shorten(text):
    """Returns one line of at most REASON_BYTES bytes."""
    line = " ".join(str(text).split())
    return line.encode()[:REASON_BYTES].decode(errors="ignore")


def serve(rival):
    """Answers requests until quit or the end of stdin. Output of libraries goes to stderr."""
    sys.stdout.flush()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    session = Session(rival())
    for line in sys.stdin:
        reply, op = answer(session, line)
        print(json.dumps(reply), file=replies, flush=True)
        if op == "quit":
            break
