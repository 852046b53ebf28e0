"""Conversations with a peer, and how its replies are checked."""

import json
import os
import pathlib
import subprocess
import sys

PEERS = pathlib.Path(__file__).resolve().parent.parent.parent / "peers"


class Conversation:
    """A peer process and the files of its tensors."""

    def __init__(self, *command, folder, **environment):
        self.folder = pathlib.Path(folder)
        self.process = subprocess.Popen(
            [sys.executable, *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **environment},
        )

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ask(self, op, **members):
        return self.say(json.dumps({"op": op, **members}))

    def hello(self, **members):
        return self.ask("hello", protocol="heed.trial/1", threads=2, **members)

    def prepare(self, tensors, output_size, operands=(), **problem):
        for row in operands:
            row["file"] = str(self.folder / row["name"])
            pathlib.Path(row["file"]).write_bytes(row.pop("data"))
        if operands:
            problem["operands"] = operands
        for name, data in {**tensors, "o": b"\xaa" * output_size}.items():
            (self.folder / name).write_bytes(data)
        paths = {name: str(self.folder / name) for name in "qkvo"}
        return self.ask("prepare", **problem, **paths)

    def output(self):
        return (self.folder / "o").read_bytes()

    def end(self):
        self.process.stdin.close()
        return self.process.wait(10)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def check_error(reply, status, *words):
    check(reply["status"] == status, f"{status} expected: {reply}")
    check(len(reply["reason"].encode()) <= 200, f"reason too long: {reply}")
    for word in words:
        check(word in reply["reason"], f"{word!r} expected in: {reply}")


def problem_of(dims, mask="none", kind="f32", copies=1, scale=None):
    """The members of a prepare request for dims (batch, heads_q, heads_kv, seq_q, seq_k, dim_qk, dim_v)."""
    names = ("batch", "heads_q", "heads_kv", "seq_q", "seq_k", "dim_qk", "dim_v")
    problem = dict(zip(names, dims), type=kind, mask=mask, copies=copies)
    problem["scale"] = scale or problem["dim_qk"] ** -0.5
    return problem
