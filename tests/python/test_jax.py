#!/usr/bin/env python3
"""heed.jax compared with heed.attention() and the gradient of the definition. Exits with 77 without JAX."""

import functools
import os
import subprocess
import sys
import tempfile
import unittest

import source_tree  # noqa: F401

os.environ.setdefault("JAX_PLATFORMS", "cpu")
try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    jax.ffi.ffi_call
except (ImportError, AttributeError) as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

import heed  # noqa: E402
import heed.jax  # noqa: E402

BATCH, QUERIES, KEYS, HEADS, GROUPS, DIM, DIM_V = 2, 5, 7, 4, 2, 8, 16
CASES = (
    {},
    {"causal": "top-left"},
    {"causal": "bottom-right", "softcap": 3.0},
    {"window": (3, 1), "align": "bottom-right"},
    {"window": [2, None], "causal": "bottom-right", "scale": 0.3},
    {"window": ((1 << 31) - 1, 1 << 31), "align": "bottom-right"},
    {"chunk": 3, "align": "top-left"},
    {"chunk": 1 << 31, "align": "bottom-right"},
    {"bias": (HEADS, QUERIES, KEYS)},
    {"bias": (BATCH, 1, 1, KEYS), "mask": (BATCH, HEADS, QUERIES, KEYS)},
    {"slopes": (HEADS,), "causal": "bottom-right"},
    {"slopes": (BATCH, HEADS), "sinks": (BATCH, HEADS)},
    {"sinks": (HEADS,), "causal": "top-left"},
    {"starts": (QUERIES,)},
    {"starts": (BATCH, QUERIES), "lengths": (BATCH,), "causal": "bottom-right"},
    {"lengths": (BATCH,), "window": (2, 2), "align": "bottom-right"},
)


def draw(*shape, key=[0]):
    key[0] += 1
    return np.random.default_rng(key[0]).standard_normal(shape, dtype=np.float32)


def operand(name, shape):
    if name == "mask":
        return draw(*shape) > -0.5
    if name == "starts":
        return np.sort(np.random.default_rng(1).integers(0, 3, shape, dtype=np.int32))
    if name == "lengths":
        return np.array([6, 3], np.int32)
    return np.abs(draw(*shape)) if name == "slopes" else draw(*shape)


def inputs(case):
    """Q, K and V, and the words, with arrays in place of shapes."""
    names = ("bias", "mask", "slopes", "sinks", "starts", "lengths")
    words = {name: operand(name, x) if name in names else x for name, x in case.items()}
    return (draw(BATCH, QUERIES, HEADS, DIM), draw(BATCH, KEYS, GROUPS, DIM), draw(BATCH, KEYS, GROUPS, DIM_V)), words


class Jax(unittest.TestCase):
    def near(self, a, b, tolerance=2e-5):
        np.testing.assert_allclose(np.asarray(a, np.float32), np.asarray(b, np.float32), rtol=tolerance, atol=tolerance)

    def test_calls(self):
        """The same bits on a CPU, where both use the same plan. On a GPU, heed.attention() of NumPy arrays runs on the
        CPU."""
        same = np.testing.assert_array_equal if jax.default_backend() == "cpu" else self.near
        for case in CASES:
            with self.subTest(case=case):
                arrays, words = inputs(case)
                wanted, lse = heed.attention(*arrays, **words, return_lse=True)
                call = functools.partial(heed.jax.attention, return_lse=True, **words)
                for function in (jax.jit(call), call)[:1 if case else 2]:
                    o, found = function(*arrays)
                    same(o, wanted)
                    same(found, lse)

    def test_types_and_layouts(self):
        for dtype in ("float16", "bfloat16"):
            arrays = [jnp.asarray(x, dtype) for x in inputs({})[0]]
            o = jax.jit(heed.jax.attention)(*arrays)
            self.assertEqual(str(o.dtype), dtype)
            self.near(o, heed.attention(*(np.asarray(x) for x in arrays)), 1e-2)
        for layout, order in (("bhsd", (0, 2, 1, 3)), ("sbhd", (1, 0, 2, 3))):
            arrays, _ = inputs({})
            o = heed.jax.attention(*(np.transpose(x, order) for x in arrays), layout=layout)
            self.near(np.transpose(o, np.argsort(order)), heed.attention(*arrays))

    def test_expressions_and_pages(self):
        arrays, _ = inputs({})
        words = {"score": "s + 0.5 * (k - q)", "visible": "k % 2 == 0 || q == k"}
        self.near(jax.jit(functools.partial(heed.jax.attention, **words))(*arrays), heed.attention(*arrays, **words))
        table, lengths = np.array([[3, 0], [1, 2]], np.int32), np.array([7, 5], np.int32)
        pools = draw(4, 4, GROUPS, DIM), draw(4, 4, GROUPS, DIM_V)
        o = heed.jax.attention(arrays[0], *pools, table=table, lengths=lengths)
        self.near(o, heed.attention(arrays[0], *pools, table=table, lengths=lengths))

    def test_products(self):
        """Permitted products are in the problem under transforms too; CPU kernels do not use them."""
        q, k, v = draw(2, 3, 5, 2, 8), draw(2, 3, 5, 2, 8), draw(2, 3, 5, 2, 8)
        call = functools.partial(heed.jax.attention, products="tf32")
        both = jax.value_and_grad(lambda *x: call(*x).sum())
        for function, arrays in ((call, (q[0], k[0], v[0])), (jax.vmap(call), (q, k, v)), (both, (q[0], k[0], v[0])),
                                 (jax.vmap(both), (q, k, v))):
            self.assertIn("products=tf32", jax.jit(function).lower(*arrays).as_text())
        np.testing.assert_array_equal(jax.jit(jax.vmap(call))(q, k, v), jax.vmap(heed.jax.attention)(q, k, v))
        wanted = jax.jit(jax.grad(lambda *x: heed.jax.attention(*x).sum()))(q[0], k[0], v[0])
        np.testing.assert_allclose(jax.jit(both)(q[0], k[0], v[0])[1], wanted, atol=1e-6)
        with self.assertRaisesRegex(heed.InvalidError, "products: 'tf16' is not one of full, tf32, bf16x3"):
            heed.jax.attention(q[0], k[0], v[0], products="tf16")
        with self.assertRaisesRegex(heed.InvalidError, r"products is 1 \(tf32\) and type is f16"):
            call(*(x[0].astype(np.float16) for x in (q, k, v)))

    def test_in_a_loop(self):
        """As part of a program: a scan whose steps depend on each other."""
        q, k, _ = inputs({})[0]
        v = draw(BATCH, KEYS, GROUPS, DIM)
        found, _ = jax.jit(lambda q: jax.lax.scan(lambda x, _: (heed.jax.attention(x, k, v), None), q, length=3))(q)
        for _ in range(3):
            q = heed.attention(q, k, v)
        self.near(found, q)

    def test_vmap(self):
        size = 3
        for number, case in enumerate(CASES):
            for layout in ("bshd", "sbhd")[:2 if number % 5 == 0 else 1]:
                arrays, words = inputs(case)
                operands = {name: x for name, x in words.items() if isinstance(x, np.ndarray)}
                plain = {name: x for name, x in words.items() if name not in operands}
                if layout == "sbhd":
                    arrays = tuple(np.swapaxes(x, 0, 1) for x in arrays)
                names = ["q", "k", "v", *operands]
                every = [*arrays, *operands.values()]

                def call(*xs, attention=heed.jax.attention):
                    return attention(*xs[:3], **dict(zip(names[3:], xs[3:])), **plain, layout=layout, return_lse=True)
                for mapped in ({"q"}, {"k"}, set(names), set(operands))[0 if number == 0 else 2:]:
                    if not mapped:
                        continue
                    with self.subTest(case=case, layout=layout, mapped=mapped):
                        xs = [np.stack([x + i if x.dtype == np.float32 else x for i in range(size)]) if name in mapped
                              else x for name, x in zip(names, every)]
                        axes = tuple(0 if name in mapped else None for name in names)
                        o, lse = jax.vmap(call, axes)(*xs)
                        for i in range(size):
                            own = [x[i] if axis == 0 else x for x, axis in zip(xs, axes)]
                            wanted = call(*own, attention=heed.attention)
                            self.near(o[i], wanted[0], 1e-4)
                            self.near(lse[i], wanted[1], 1e-4)

    def test_vmap_of_pages(self):
        q = draw(3, BATCH, QUERIES, HEADS, DIM)
        table = np.array([[[3, 0], [1, 2]], [[0, 1], [2, 3]], [[1, 1], [0, 0]]], np.int32)
        k, v = draw(3, 4, 4, GROUPS, DIM), draw(3, 4, 4, GROUPS, DIM_V)
        for axes in ((0, None, None, 0), (0, 0, 0, 0), (None, 0, None, None), (0, None, None, None)):
            xs = [x if axis == 0 else x[0] for x, axis in zip((q, k, v, table), axes)]
            found = jax.vmap(lambda q, k, v, table: heed.jax.attention(q, k, v, table=table), axes)(*xs)
            for i in range(3):
                own = [x[i] if axis == 0 else x for x, axis in zip(xs, axes)]
                self.near(found[i], heed.attention(*own[:3], table=own[3]), 1e-4)

    def test_gradients(self):
        """Compared with differences of heed's own results."""
        for case in CASES:
            with self.subTest(case=case):
                arrays, words = inputs(case)
                names = [name for name in ("bias", "slopes", "sinks") if name in words]
                rest = {name: x for name, x in words.items() if name not in names}
                every = [*arrays, *(words[name] for name in names)]
                weight, weight_lse = draw(BATCH, QUERIES, HEADS, DIM_V), 0.3 * draw(BATCH, HEADS, QUERIES)

                def loss(*xs):
                    o, lse = heed.jax.attention(*xs[:3], **dict(zip(names, xs[3:])), **rest, return_lse=True)
                    return (o * weight).sum() + (jnp.where(jnp.isfinite(lse), lse, 0) * weight_lse).sum()
                found = jax.jit(jax.grad(loss, tuple(range(len(every)))))(*every)
                for i, x in enumerate(every):
                    step = draw(*x.shape)
                    around = [[y + sign * 1e-2 * step if i == j else y for j, y in enumerate(every)] for sign in (1, -1)]
                    slope = (float(loss(*around[0])) - float(loss(*around[1]))) / 2e-2
                    self.assertAlmostEqual(float((found[i] * step).sum()), slope, delta=2e-2 * (1 + abs(slope)))

    def test_gradient_of_a_gradient(self):
        """Compared with the definition's, which JAX differentiates twice."""
        arrays, _ = inputs({})
        call = heed.jax._Call(heed.jax.Words(), ())

        def twice(attention):
            slope = jax.grad(lambda q: (attention(q, *arrays[1:]) ** 2).sum())
            return jax.grad(lambda q: (slope(q) ** 2).sum())(jnp.asarray(arrays[0]))
        self.near(twice(heed.jax.attention), twice(lambda *x: heed.jax._define(call, *x)[0]), 1e-3)

    def test_arrays_of_a_program_that_is_not_traced(self):
        """heed.attention() returns JAX arrays for JAX arrays."""
        arrays, _ = inputs({})
        wanted, lse = heed.attention(*arrays, return_lse=True)
        host = jax.devices("cpu")[0]
        own = [jax.device_put(x, host) for x in arrays]
        for _ in range(2):
            mine, log = heed.attention(*own, return_lse=True)
            for x, y in ((mine, wanted), (log, lse)):
                self.assertIsInstance(x, jax.Array)
                np.testing.assert_array_equal(x, y)
        half = heed.attention(*(x.astype(jnp.bfloat16) for x in own))
        self.assertEqual(str(half.dtype), "bfloat16")
        self.near(half, wanted, 3e-2)
        same = [jax.device_put(np.ones((1, 4, 2, 8), np.float32), host)] * 3
        plan = heed.Plan("b1 h2 s4 d8 f32", heed.Context("cpu"))
        self.assertIsInstance(plan.execute(*same), jax.Array)
        with self.assertRaisesRegex(heed.ArgumentTypeError, "heed.jax.attention takes traced arrays"):
            jax.jit(lambda q: heed.attention(q, *own[1:]))(own[0])
        with self.assertRaisesRegex(heed.ArgumentTypeError, "arrays of JAX cannot be written"):
            heed.attention(*same, out=same[0])

    def test_words_of_other_types(self):
        arrays, _ = inputs({})
        for words, same in (({"scale": np.array(0.3)}, {"scale": 0.3}), ({"chunk": np.array(3), "align": "top-left"},
                            {"chunk": 3, "align": "top-left"})):
            np.testing.assert_array_equal(heed.jax.attention(*arrays, **words), heed.jax.attention(*arrays, **same))

    def test_gradient_of_a_map(self):
        arrays, _ = inputs({})
        q = np.stack([arrays[0], 2 * arrays[0]])
        each = jax.vmap(jax.grad(lambda q: heed.jax.attention(q, *arrays[1:]).sum()))(q)
        whole = jax.grad(lambda q: jax.vmap(lambda x: heed.jax.attention(x, *arrays[1:]))(q).sum())(q)
        self.near(each, whole)

    def test_kept_programs(self):
        """A program compiled in one process runs in another: it contains no addresses."""
        script = ("import sys; sys.path.insert(0, sys.argv[1]); import jax, heed.jax, numpy as np\n"
                  "jax.config.update('jax_compilation_cache_dir', sys.argv[2])\n"
                  "jax.config.update('jax_persistent_cache_min_compile_time_secs', 0)\n"
                  "jax.config.update('jax_persistent_cache_min_entry_size_bytes', 0)\n"
                  "x = np.ones((1, 8, 2, 16), np.float32)\n"
                  "print(float(jax.jit(heed.jax.attention)(x, x, x).sum()))")
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                done = subprocess.run([sys.executable, "-B", "-c", script, sys.path[0], folder], capture_output=True,
                                      text=True)
                self.assertEqual(done.stdout, "256.0\n", done.stderr)

    def test_mistakes(self):
        q, k, v = inputs({})[0]
        call = heed.jax.attention
        table = np.zeros((2, 2), np.int32)
        rows = (
            (heed.InvalidError, "k: head dim is 7", lambda: call(q, k[..., :7], v)),
            (heed.InvalidError, "k: heads is 3", lambda: call(q, k[:, :, :1].repeat(3, 2), v[:, :, :1].repeat(3, 2))),
            (heed.ArgumentTypeError, "v: list", lambda: call(q, k, [1.0])),
            (heed.ArgumentTypeError, "q: dtype int32", lambda: call(q.astype(np.int32), k, v)),
            (heed.ArgumentTypeError, "q: ndarray of dtype object", lambda: call(q.astype(object), k, v)),
            (heed.ArgumentTypeError, "k: ndarray of dtype >f4", lambda: call(q, k.astype(">f4"), v)),
            (heed.ArgumentTypeError, "v: MaskedArray of dtype float32", lambda: call(q, k, np.ma.masked_array(v, v > 0))),
            (heed.ArgumentTypeError, "k: dtype is f16", lambda: call(q, k.astype(np.float16), v)),
            (heed.InvalidError, "causal: True is ambiguous", lambda: call(q, k, v, causal=True)),
            (heed.InvalidError, "layout: 'dshb'", lambda: call(q, k, v, layout="dshb")),
            (heed.ArgumentTypeError, "score: list", lambda: call(q, k, v, score=[])),
            (heed.ArgumentTypeError, "return_lse: int", lambda: call(q, k, v, return_lse=1)),
            (heed.InvalidError, "mask: shape", lambda: call(q, k, v, mask=np.ones((3, 7), bool))),
            (heed.UnsupportedError, "visible", lambda: jax.grad(lambda q: call(q, k, v, visible="k <= q").sum())(q)),
            (heed.UnsupportedError, "table", lambda: jax.grad(lambda q: call(q, k, v, table=table).sum())(q)),
        )
        for error, part, wrong in rows:
            with self.subTest(part=part), self.assertRaisesRegex(error, part):
                wrong()


if __name__ == "__main__":
    unittest.main()
