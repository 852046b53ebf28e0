#!/usr/bin/env python3
"""The solutions of flashinfer-bench compared with its formulas in float64: decode, ragged and paged prefill, MLA.

    tests/suites/test_flashinfer_solution.py

libheed is that of HEED_LIBRARY. Exits with 77 without torch.
"""

import math
import pathlib
import random
import sys
import unittest
from unittest import mock

try:
    import numpy as np
    import torch
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "integrations" / "flashinfer_bench")]
import heed_solution as solution  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BOUND = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
# Queries and keys of each sequence: one has no queries, one no keys, one a query before all keys, for which the suite's
# definitions give NaN, and heed 0, as for any row without keys.
PREFILL = ((5, 5), (0, 7), (3, 40), (4, 0), (1, 17), (9, 8))
DECODE = tuple((1, keys) for keys in (33, 0, 1, 16, 70))


def formula(q, k, v, scale, causal):
    """O, and the LSE to base 2, of one sequence: [queries, heads, dim] and [queries, heads], in float64."""
    heads, group = q.shape[1], q.shape[1] // k.shape[1]
    o, lse = np.zeros((*q.shape[:2], v.shape[2])), np.full(q.shape[:2], -np.inf)
    for i in range(q.shape[0]):
        seen = k.shape[0] if not causal else max(i + 1 + k.shape[0] - q.shape[0], 0)
        for h in range(heads if seen else 0):
            t = k[:seen, h // group] @ q[i, h] * scale
            weights = np.exp2((t - t.max()) / math.log(2))
            lse[i, h] = t.max() / math.log(2) + math.log2(weights.sum())
            o[i, h] = weights @ v[:seen, h // group] / weights.sum()
    return o, lse


class Batch:
    """Sequences of random numbers, and their keys in pages of a pool that is NaN elsewhere."""

    def __init__(self, lengths, page, heads=(4, 2), dims=(16, 16), dtype=torch.float32, seed=1):
        values, self.page, self.dtype = np.random.default_rng(seed), page, dtype

        def rounded(*shape):
            return torch.tensor(values.normal(size=shape)).to(dtype).double().numpy()

        self.q = [rounded(n, heads[0], dims[0]) for n, _ in lengths]
        self.k = [rounded(n, heads[1], dims[0]) for _, n in lengths]
        self.v = [rounded(n, heads[1], dims[1]) for _, n in lengths]
        pages = [-(-len(k) // page) for k in self.k]
        numbers = list(range(sum(pages) + 2))
        random.Random(seed).shuffle(numbers)
        self.indices = numbers[: sum(pages)]
        self.pages = np.cumsum([0, *pages])
        self.last = [len(k) - page * (n - 1) if n else 0 for k, n in zip(self.k, pages)]
        self.pool = len(numbers)

    def tensor(self, x, dtype=None):
        return torch.tensor(np.array(x)).to(dtype or self.dtype).to(DEVICE)

    def ints(self, x):
        return self.tensor(x, torch.int32)

    def packed(self, parts):
        return self.tensor(np.concatenate(parts))

    def offsets(self, parts):
        return self.ints(np.cumsum([0, *map(len, parts)]))

    def cache(self, parts):
        pool = np.full((self.pool, self.page, *parts[0].shape[1:]), np.nan)
        for b, part in enumerate(parts):
            for j, vector in enumerate(part):
                pool[self.indices[self.pages[b] + j // self.page], j % self.page] = vector
        return self.tensor(pool)

    def paged(self):
        return self.ints(self.pages), self.ints(self.indices)


class Solution(unittest.TestCase):
    def check(self, batch, entry, arguments, scale, causal):
        rows = sum(map(len, batch.q))
        shape = (rows, batch.q[0].shape[1])
        output = torch.full((*shape, batch.v[0].shape[2]), math.nan, dtype=batch.dtype, device=DEVICE)
        lse = torch.full(shape, math.nan, device=DEVICE)
        self.assertIsNone(getattr(solution, entry)(*arguments, scale, output, lse))
        found = [formula(*x, scale, causal) for x in zip(batch.q, batch.k, batch.v)]
        o, sums = (np.concatenate(x) for x in zip(*found))
        self.assertLess(np.abs(output.double().cpu().numpy() - o).max(), BOUND[batch.dtype])
        np.testing.assert_allclose(lse.double().cpu().numpy(), sums, atol=2e-5, rtol=0)
        return sums

    def decode(self, page, last, **words):
        batch = Batch(DECODE, page, **words)
        arguments = [batch.packed(batch.q), batch.cache(batch.k), batch.cache(batch.v), *batch.paged()]
        name = "gqa_paged_decode"
        if last:
            name, arguments = name + "_last", [*arguments, batch.ints(batch.last)]
        sums = self.check(batch, name, arguments, 0.31, False)
        self.assertEqual((sums == -np.inf).sum(), batch.q[0].shape[1])

    def test_decode(self):
        self.decode(1, False)
        self.decode(1, False, heads=(5, 1), dtype=torch.bfloat16)
        self.decode(1, True, heads=(8, 8), dtype=torch.float16)
        self.decode(16, True)

    def test_full_pages(self):
        batch = Batch(((1, 32), (1, 0), (1, 16)), 16)
        arguments = [batch.packed(batch.q), batch.cache(batch.k), batch.cache(batch.v), *batch.paged()]
        self.check(batch, "gqa_paged_decode", arguments, 0.2, False)

    def test_one_sequence(self):
        batch = Batch(((1, 33),), 16)
        arguments = [batch.packed(batch.q), batch.cache(batch.k), batch.cache(batch.v), *batch.paged()]
        self.check(batch, "gqa_paged_decode_last", [*arguments, batch.ints(batch.last)], 0.2, False)

    def test_no_keys(self):
        batch = Batch(((1, 0), (1, 0)), 16)
        arguments = [batch.packed(batch.q), batch.cache(batch.k), batch.cache(batch.v), *batch.paged()]
        self.check(batch, "gqa_paged_decode", arguments, 0.2, False)

    def test_paged_prefill(self):
        for page, more in ((1, {}), (16, {"heads": (6, 3)}), (16, {"dtype": torch.bfloat16})):
            batch = Batch(PREFILL, page, **more)
            arguments = [batch.packed(batch.q), batch.cache(batch.k), batch.cache(batch.v), batch.offsets(batch.q),
                         *batch.paged()]
            if page == 1:
                self.check(batch, "gqa_paged_prefill", arguments, 0.2, True)
            # some definitions have as many last pages as offsets: one more than there are sequences
            self.check(batch, "gqa_paged_prefill_last", [*arguments, batch.ints([*batch.last, 9])], 0.2, True)

    def test_ragged_prefill(self):
        for more in ({}, {"heads": (4, 4), "dims": (24, 16)}, {"heads": (8, 2), "dtype": torch.bfloat16}):
            batch = Batch(PREFILL, 1, **more)
            arguments = [*map(batch.packed, (batch.q, batch.k, batch.v)), batch.offsets(batch.q),
                         batch.offsets(batch.k)]
            self.check(batch, "ragged_prefill", arguments, 0.25, True)

    def mla(self, lengths, page, name, last):
        batch = Batch(lengths, page, heads=(4, 1), dims=(24, 16))
        batch.v = [k[..., :16] for k in batch.k]
        q, k = batch.packed(batch.q), batch.cache(batch.k)[:, :, 0]
        parts = [q[..., :16].contiguous(), q[..., 16:].contiguous(), k[..., :16].contiguous(), k[..., 16:].contiguous()]
        offsets = [batch.offsets(batch.q)] if "prefill" in name else []
        ends = [batch.ints(batch.last)] if last else []
        self.check(batch, name, [*parts, *offsets, *batch.paged(), *ends], 0.2, "prefill" in name)

    def test_mla(self):
        self.mla(DECODE, 1, "mla_paged_decode", False)
        self.mla(DECODE, 16, "mla_paged_decode_last", True)
        self.mla(PREFILL, 1, "mla_paged_prefill", False)
        self.mla(PREFILL, 16, "mla_paged_prefill_last", True)

    def test_large_table(self):
        with mock.patch.object(solution, "TABLE_BYTES", 64):
            self.decode(1, False)
            self.decode(16, True)
            self.test_table()

    def test_table(self):
        indptr = torch.tensor([0, 2, 2, 5], dtype=torch.int32, device=DEVICE)
        spare = torch.tensor([7, 6, 3, 2, 1, 99, 98, 97, 96], dtype=torch.int32, device=DEVICE)  # four unused
        table = solution.page_table(indptr, spare).tolist()
        self.assertEqual((table[0][:2], table[2][:3]), ([7, 6], [3, 2, 1]))


if __name__ == "__main__":
    unittest.main()
