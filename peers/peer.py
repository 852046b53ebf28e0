"""The line protocol of lab/trial/protocol.md, for peers written in Python.

A peer defines a class with these members and ends with serve(Rival):

    name                    what the table calls it
    setup(threads)          imports the library and sets its threads; returns the members version,
                            types and detail of the reply to hello; raises Unsupported
    prepare(problem, data)  returns a Prepared; problem has the members of the request, data has the
                            bytes of "q", "k" and "v"; raises Unsupported

This file imports nothing but the standard library, so that a peer can always say what it lacks.
"""

import itertools
import json
import math
import os
import pathlib
import statistics
import sys
import time
import types

PROTOCOL = "heed.trial/1"
TYPE_SIZES = {"f32": 4, "f16": 2, "bf16": 2}
REASON_BYTES = 200

# prepare() may try several ways to compute the problem, each for about this long.
TRIAL_SECONDS = 0.1


class Unsupported(Exception):
    """This peer cannot do that, and it is not a fault."""


class Prepared:
    """A problem that is ready to run.

    steps    one function per copy of the tensors, each of which computes all of O
    output   output(index) returns the bytes of O of that copy, dense [batch, seq_q, heads_q, dim_v]
    layout   order of the dimensions that the calls see
    detail   which entry point they call
    """

    def __init__(self, steps, output, layout, detail):
        self.steps, self.output, self.layout, self.detail = steps, output, layout, detail
        self.turns = itertools.cycle(steps)
        self.calls = 0


def shapes(problem):
    """Returns the shapes of the dense tensors by their letters."""
    p = problem
    return {
        "q": (p.batch, p.seq_q, p.heads_q, p.dim_qk),
        "k": (p.batch, p.seq_k, p.heads_kv, p.dim_qk),
        "v": (p.batch, p.seq_k, p.heads_kv, p.dim_v),
        "o": (p.batch, p.seq_q, p.heads_q, p.dim_v),
    }


def scores_fit(problem):
    """Whether a way that keeps the whole score matrix in memory is possible on this machine."""
    size = 4 * problem.batch * problem.heads_q * problem.seq_q * problem.seq_k
    return size < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4


def fastest(ways):
    """Returns the name of the fastest of some functions, given by name.

    A way that raises is out. Raises Unsupported, with the last reason, if none is left.
    """
    times, reason = {}, "the library has no entry point for this problem"
    for name, way in ways.items():
        try:
            way()  # also pays for what the library sets up once
            times[name] = usual_call(way) if len(ways) > 1 else 0
        except Exception as error:  # whatever the library throws: the way is out
            reason = str(error)
    if not times:
        raise Unsupported(reason)
    return min(times, key=times.get)


def usual_call(function):
    """Returns the median seconds of the calls that fit into TRIAL_SECONDS: a way that is fast now and
    then is not the best one."""
    times, spent = [], 0.0
    while spent < TRIAL_SECONDS:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
        spent += times[-1]
    return statistics.median(times)


class Session:
    """One conversation. Every method named after a request returns its reply without the status."""

    def __init__(self, rival):
        self.rival = rival
        self.ready = False
        self.prepared = None
        self.problem = None

    def hello(self, request):
        if request.get("protocol") != PROTOCOL:
            raise ValueError(f"this peer speaks {PROTOCOL}, not {request.get('protocol')}")
        threads = int(request["threads"])
        reply = self.rival.setup(threads)
        self.ready = True
        return {"protocol": PROTOCOL, "name": self.rival.name, "threads": threads, **reply}

    def prepare(self, request):
        if not self.ready:
            raise ValueError("prepare before a successful hello")
        if self.prepared:
            raise ValueError("prepare after prepare: release first")
        problem = types.SimpleNamespace(**request)
        data = {letter: read_tensor(problem, letter) for letter in "qkv"}
        self.prepared = self.rival.prepare(problem, data)
        self.problem = problem
        return {"layout": self.prepared.layout, "detail": self.prepared.detail}

    def run(self, request):
        prepared, warmup, calls = self.need(), int(request["warmup"]), int(request["calls"])
        if warmup < 0 or calls < 1:
            raise ValueError(f"warmup {warmup}, calls {calls}; at least 0 and 1")
        for step in itertools.islice(prepared.turns, warmup):
            step()
        start = time.perf_counter_ns()
        for step in itertools.islice(prepared.turns, calls):
            step()
        ns = time.perf_counter_ns() - start
        prepared.calls += warmup + calls
        return {"calls": calls, "ns": ns}

    def check(self, _request):
        prepared = self.need()
        if prepared.calls == 0:
            raise ValueError("check before run")
        last = (prepared.calls - 1) % len(prepared.steps)
        with open(self.problem.o, "r+b") as file:
            file.write(prepared.output(last))
        return {}

    def release(self, _request):
        self.prepared = self.problem = None
        return {}

    def quit(self, _request):
        return {}

    def need(self):
        if not self.prepared:
            raise ValueError("nothing is prepared")
        return self.prepared


def read_tensor(problem, letter):
    """Returns the elements of Q, K or V as bytes that the caller may write to."""
    data = bytearray(pathlib.Path(getattr(problem, letter)).read_bytes())
    expected = math.prod(shapes(problem)[letter]) * TYPE_SIZES[problem.type]
    if len(data) != expected:
        raise ValueError(f"{letter} has {len(data)} bytes instead of {expected}")
    return data


def answer(session, line):
    """Returns the reply to one line, and the request's op."""
    op = None
    try:
        request = json.loads(line)
        op = request["op"]
        if op not in ("hello", "prepare", "run", "check", "release", "quit"):
            raise Unsupported(f"there is no request {op} here")
        return {"status": "ok", **getattr(session, op)(request)}, op
    except Unsupported as error:
        return {"status": "unsupported", "reason": shorten(error)}, op
    except Exception as error:  # a fault of the request or the library: reported, never fatal
        return {"status": "error", "reason": shorten(f"{type(error).__name__}: {error}")}, op


def shorten(text):
    """One line of at most REASON_BYTES bytes."""
    line = " ".join(str(text).split())
    return line.encode()[:REASON_BYTES].decode(errors="ignore")


def serve(rival):
    """Answers requests until quit or the end of stdin. What libraries print goes to stderr."""
    sys.stdout.flush()
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    session = Session(rival())
    for line in sys.stdin:
        reply, op = answer(session, line)
        print(json.dumps(reply), file=replies, flush=True)
        if op == "quit":
            break
