#!/usr/bin/env python3
"""A rival in Python that needs no library: float32 attention on small problems, in plain loops."""

import array
import math
import os
import sys

# The directory of the peers under test.
sys.path.insert(0, os.environ["HEED_TEST_PEERS"])
import peer


def attention(p, q, k, v):
    """Returns O of one batch element with one head and no mask, as a flat list."""
    output = []
    for i in range(p.seq_q):
        query = q[i * p.dim_qk : (i + 1) * p.dim_qk]
        logits = [
            p.scale * sum(a * b for a, b in zip(query, k[j * p.dim_qk : (j + 1) * p.dim_qk]))
            for j in range(p.seq_k)
        ]
        weights = [math.exp(logit - max(logits)) for logit in logits]
        for c in range(p.dim_v):
            output.append(sum(w * x for w, x in zip(weights, v[c :: p.dim_v])) / sum(weights))
    return output


class Plain:
    name = "plain"

    def setup(self, threads):
        return {"version": "1", "types": ["f32"], "detail": "loops in Python"}

    def prepare(self, problem, data):
        if problem.mask != "none" or problem.batch * problem.heads_q > 1:
            raise peer.Unsupported("one head and no mask")
        tensors = [array.array("f", bytes(data[letter])) for letter in "qkv"]
        outputs = [b""] * problem.copies

        def step(copy):
            outputs[copy] = array.array("f", attention(problem, *tensors)).tobytes()

        steps = [lambda copy=copy: step(copy) for copy in range(problem.copies)]
        return peer.Prepared(steps, lambda copy: outputs[copy], "bshd", "loops")


peer.serve(Plain)
