"""Tests the protocol shared by all peers, with a rival that needs no library."""

import pathlib

from conversation import PEERS, Conversation, check, check_error, problem_of

# A rival without a library, for testing the protocol: O is one byte per call number.
TOY = """
import sys
sys.path.insert(0, sys.argv[1])
import peer

class Toy:
    name = "toy"
    def setup(self, threads):
        print("libraries print")
        return {"version": "1", "types": ["f32"], "detail": "a toy"}
    def prepare(self, problem, data):
        if problem.mask != "none":
            raise peer.Unsupported("no masks,\\nnone at all " + "x" * 400)
        self.calls = 0
        outputs = [b""] * problem.copies
        def step(index):
            self.calls += 1
            outputs[index] = bytes([self.calls]) * len(data["q"])
        steps = [lambda index=index: step(index) for index in range(problem.copies)]
        return peer.Prepared(steps, lambda index: outputs[index], "bshd", "fast")

peer.serve(Toy)
"""


def test_protocol(folder):
    script = pathlib.Path(folder) / "toy.py"
    script.write_text(TOY)
    peer = Conversation(script, PEERS, folder=folder)
    problem = problem_of((1, 1, 1, 2, 2, 3, 3), copies=2)
    tensors = dict.fromkeys("qkv", bytes(24))
    check_error(peer.prepare(tensors, 24, **problem), "error", "before a successful hello")
    check_error(peer.ask("hello", protocol="heed.trial/9", threads=1), "error", "heed.trial/9")
    reply = peer.hello()
    check(reply["status"] == "ok" and reply["name"] == "toy" and reply["threads"] == 2, reply)
    check(reply["protocol"] == "heed.trial/1" and reply["types"] == ["f32"], reply)
    check_error(peer.ask("run", warmup=0, calls=1), "error", "nothing is prepared")
    check_error(peer.ask("check"), "error", "nothing is prepared")
    check_error(peer.prepare({**tensors, "k": bytes(23)}, 24, **problem), "error", "23", "24")
    check_error(
        peer.prepare(tensors, 24, **{**problem, "mask": "causal=tl"}), "unsupported", "none"
    )
    reply = peer.prepare(tensors, 24, **problem)
    check(reply == {"status": "ok", "layout": "bshd", "detail": "fast"}, reply)
    check_error(peer.prepare(tensors, 24, **problem), "error", "release first")
    check_error(peer.ask("check"), "error", "check before run")
    check_error(peer.ask("run", warmup=0, calls=0), "error", "calls 0")
    check_error(peer.ask("run", warmup=-1, calls=1), "error", "warmup -1")
    reply = peer.ask("run", warmup=2, calls=3)
    check(reply["calls"] == 3 and isinstance(reply["ns"], int) and reply["ns"] >= 0, reply)
    check(peer.ask("check")["status"] == "ok" and peer.output() == b"\x05" * 24, "fifth call")
    peer.ask("run", warmup=0, calls=1)
    check(peer.ask("check")["status"] == "ok" and peer.output() == b"\x06" * 24, "sixth call")
    test_modes(peer)
    check(peer.ask("release") == {"status": "ok"}, "release")
    check_error(peer.ask("check"), "error", "nothing is prepared")
    test_period(peer, problem)
    test_words(peer, tensors, problem)
    check_error(peer.ask("ceiling", kind="sgemm", size=8), "unsupported", "ceiling")
    check_error(peer.ask("__init__"), "unsupported")
    check_error(peer.say("no json"), "error", "JSON")
    check_error(peer.say("[]"), "error")
    check_error(peer.say("{}"), "error", "op")
    check(peer.ask("quit") == {"status": "ok"} and peer.end() == 0, "quit")
    peer = Conversation(script, PEERS, folder=folder)
    check_error(peer.hello(device="cuda:0"), "unsupported", "cpu", "cuda:0")
    reply = peer.hello(device="cpu")
    check(reply["status"] == "ok" and reply["device"] == "cpu" and reply["period"], reply)
    check(peer.end() == 0, "end of input ends the peer")


def test_modes(peer):
    """Replays and single calls, with the toy after six calls."""
    reply = peer.ask("run", mode="replay", warmup=1, calls=3, replays=2)
    check(reply["calls"] == 6 and isinstance(reply["ns"], int), reply)
    check(peer.ask("check")["status"] == "ok" and peer.output() == b"\x0f" * 24, "call 15")
    reply = peer.ask("run", mode="eager", warmup=1, calls=4)
    check(len(reply["samples_ns"]) == 4 and sum(reply["samples_ns"]) == reply["ns"], reply)
    check_error(peer.ask("run", mode="replay", warmup=0, calls=1, replays=0), "error", "replays 0")
    check_error(peer.ask("run", mode="sideways", warmup=0, calls=1), "unsupported", "sideways")
    check(peer.ask("check", rows=[1])["status"] == "ok" and peer.output() == b"\x14" * 12, "a row")


def test_period(peer, problem):
    """Files with one period of repeating tensors."""
    short = dict.fromkeys("qkv", bytes(12))
    check_error(peer.prepare(short, 24, **problem, period=4), "error", "12", "16")
    check(peer.prepare(short, 24, **problem, period=3)["status"] == "ok", "period")
    check(peer.ask("run", warmup=0, calls=1)["status"] == "ok", "run")
    check(peer.ask("check")["status"] == "ok" and len(peer.output()) == 24, "all of them")
    check(peer.ask("release")["status"] == "ok", "release")


def test_words(peer, tensors, problem):
    """A problem with a word that a rival does not support is refused with the word's name."""
    plain = "b1 h1 s2 d3 f32 scale=0.5 acc=f16 products=tf32 layout=bhsd q=9:3:1"
    check(peer.prepare(tensors, 24, **problem, spec=plain)["status"] == "ok", plain)
    check(peer.ask("release")["status"] == "ok", "release")
    for word, name in (("window=8:0", "window"), ("alibi", "alibi"), ("d8=3", "d8")):
        reply = peer.prepare(tensors, 24, **problem, spec=f"{plain} {word} zebra=1")
        check_error(reply, "unsupported", f"the word {name} of")


def test_absent(folder):
    """A rival whose library is missing reports it, and how to install it."""
    for name in ("torch", "onnxruntime"):
        (pathlib.Path(folder) / (name + ".py")).write_text("raise ImportError('not today')")
        script = PEERS / (name + "_peer.py")
        peer = Conversation(script, folder=folder, PYTHONPATH=str(folder))
        check_error(peer.hello(), "unsupported", name, "pip install", "HEED_PYTHON")
        check(peer.ask("quit") == {"status": "ok"} and peer.end() == 0, "quit")
