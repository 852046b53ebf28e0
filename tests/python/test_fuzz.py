#!/usr/bin/env python3
"""Bad input, by hypothesis: for any input the package computes, or raises a TypeError or a ValueError of its own
that names what is wrong. A crash of the interpreter is a crash of this program.

    test_fuzz.py [CASES]

Exits with 77 where there is no numpy or no hypothesis.
"""

import os
import pathlib
import re
import sys
import tempfile
import unittest
import warnings

try:
    import numpy as np
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis import strategies as st
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"))
os.environ["HEED_DEVICE"] = "cpu"  # of plans without a device=; calls go by their arrays
import heed  # noqa: E402

CASES = int(sys.argv[1]) if len(sys.argv) > 1 else 300
warnings.simplefilter("ignore")


def cases(share):
    """So many of the CASES, the same ones in each run."""
    return lambda test: seed(21)(settings(
        max_examples=max(1, int(CASES * share)), deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck))(test))


# ---- Drawing -------------------------------------------------------------------------------

GOOD = {"q": (2, 5, 4, 8), "k": (2, 7, 2, 8), "v": (2, 7, 2, 16), "out": (2, 5, 4, 16)}
OPERANDS = {"bias": (2, 4, 5, 7), "mask": (2, 4, 5, 7), "slopes": (4,), "sinks": (2, 4), "starts": (2, 5),
            "lengths": (2,), "table": (2, 3)}
OPERAND_TYPES = {"mask": "bool", "starts": "int32", "lengths": "int32", "table": "int32"}
DTYPES = ("float32", "float32", "float16", "float64", "int32", "int64", "uint8", "bool", "complex64", "object",
          "U3", "datetime64[s]", ">f4", "V2")
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 1 << 70), st.floats(), st.text(max_size=5), st.just([]), st.just({}),
    st.just([[1.0, 2.0]]), st.just(object()), st.just(range(3)), st.just(memoryview(b"abcd")), st.just(np.float32(1)))


def pick(draw, count):
    """A number below @count, each as likely as another: hypothesis prefers the ends of a range."""
    return draw(st.integers(0, (1 << 32) - 1)) * 2654435761 % (1 << 32) * count >> 32


def sizes(draw, shape):
    """The shape, or one that is near it or far."""
    how = pick(draw, 30)
    if how < 26:
        return shape
    if how == 26:
        return tuple(draw(st.lists(st.integers(0, 5), max_size=6)))
    at = pick(draw, len(shape))
    if how == 27:
        return shape[:at] + (pick(draw, 10),) + shape[at + 1:]
    if how == 28:
        return shape[:at] + shape[at + 1:]
    return shape[:at] + (1,) + shape[at:]


def strided(draw, x):
    """The array, or one of the same elements and shape or another, in another order of memory."""
    how = pick(draw, 20) - 10
    if how < 5 or x.ndim == 0:
        return x
    if how == 5:
        return np.asfortranarray(x)
    if how == 6:
        return x[tuple(slice(None, None, draw(st.sampled_from((-1, 1, 2)))) for _ in x.shape)]
    if how == 7:
        return np.broadcast_to(x[:1], x.shape)
    if how == 8 and x.dtype != object and x.itemsize > 1:  # from an odd address
        room = np.zeros(x.nbytes + 1, np.uint8)
        return np.frombuffer(room.data, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    y = x.copy()
    y.flags.writeable = False
    return y


@st.composite
def arrays(draw, shape, dtype="float32"):
    """An array that is mostly good."""
    if pick(draw, 40) == 39:
        return draw(JUNK)
    if pick(draw, 12) == 11:
        dtype = draw(st.sampled_from(DTYPES))
    x = strided(draw, np.zeros(sizes(draw, shape), dtype))
    if torch is None or pick(draw, 10) < 8 or x.dtype.hasobject or x.dtype.kind not in "fib":
        return x
    return tensors(draw, x)


def tensors(draw, x):
    """A tensor of torch, of some kind."""
    how = pick(draw, 10)
    try:
        y = torch.from_numpy(np.ascontiguousarray(x))
    except (TypeError, ValueError):  # torch has no such type
        return x
    if how == 0 and y.is_floating_point():
        return y.clone().requires_grad_()
    if how == 1:
        return y.to_sparse() if y.dim() else y
    if how == 2:
        return y.to("meta")
    if how == 3 and y.dim() > 1:
        return y.transpose(0, -1)
    if how == 4 and y.is_floating_point():
        return y.to(torch.bfloat16)
    if how == 5 and y.is_floating_point():
        return torch.nn.Parameter(y)
    return y


#: Words of heed.attention(), mostly good.
WORDS = {
    "causal": st.sampled_from((True, False, "top-left", "bottom-right", "left", 2, None)),
    "window": st.sampled_from((None, (3, 0), (3, None), (-1, -1), (1,), "ab", 3, (1 << 70, 0), (1.5, 0), [2, 1])),
    "chunk": st.sampled_from((None, 0, 4, -4, 1 << 70, "4", 2.5)),
    "align": st.sampled_from((None, "top-left", "bottom-right", "middle", 3)),
    "softcap": st.sampled_from((0.0, 5.0, -1.0, float("nan"), float("inf"), "x", None)),
    "scale": st.sampled_from((None, 0.5, np.array(0.5), [], 0, 1e-50, float("nan"), float("inf"), 1e300, "x", -0.25)),
    "score": st.sampled_from((None, "s", "s * 2 + q - k", "s +", "x[q]", "s" * 300, "\0", "é", 3)),
    "visible": st.sampled_from((None, "k <= q", "k", "a[k] == 0", "(((((", b"k", "k <= q" * 90)),
    "layout": st.sampled_from(("bshd", "bhsd", "sbhd", "dshb", None, 3, [])),
    "return_lse": st.booleans(),
    "batch_invariant": st.sampled_from((True, False, "no", [], None, np.array(True))),
    "prefix": st.sampled_from((0, 2, np.array(1), np.array([1]), -1, "x", None)),
    "products": st.sampled_from(("full", "tf32", "bf16x3", "f16", 1, None, [])),
    "dim_v": st.sampled_from((None, 3, "3", 1 << 70, [])),
    "max_seqlen_q": st.sampled_from((None, 3, 2.5, -1, [])),
    "rotary_interleaved": st.sampled_from((False, True, [], 1)),
}
ARRAYS = st.sampled_from((
    None, {}, {"a": np.zeros(7, np.int32)}, {"a": np.zeros((2, 2, 2, 2), np.float32)}, {"a b": np.zeros(3, np.float32)},
    {"a": 3}, {1: np.zeros(3, np.float32)}, {"x" * 40: np.zeros(3, np.float32)}, [1], 3,
    {"a": np.zeros(0, np.int32)}, {c: np.zeros(3, np.float32) for c in "abcde"}))


# ---- Judging ------------------------------------------------------------------------

KINDS = (heed.InvalidError, heed.ArgumentTypeError, heed.UnsupportedError, heed.CorruptError)


class Fuzz(unittest.TestCase):
    tried = refused = 0

    @classmethod
    def tearDownClass(cls):
        print(f"{cls.tried} calls, of which {cls.refused} were refused")

    def calls(self, function, *args, **words):
        """The result; None where it is refused as it should be."""
        Fuzz.tried += 1
        try:
            return function(*args, **words)
        except KINDS as error:
            Fuzz.refused += 1
            self.assertTrue(isinstance(error, (TypeError, ValueError, NotImplementedError)))
            text = str(error)
            self.assertTrue(re.match(r"[a-zA-Z_.\[\]'\" 0-9]+(:| is | are | has )|unknown word|.*\n", text), text)
            self.assertGreater(len(text), 12, text)
        return None

    @cases(0.5)
    @given(st.data())
    def test_attention(self, data):
        args = [data.draw(arrays(GOOD[name])) for name in "qkv"]
        words = {}
        for name in data.draw(st.lists(st.sampled_from(sorted(WORDS)), max_size=3, unique=True)):
            words[name] = data.draw(WORDS[name])
        for name in data.draw(st.lists(st.sampled_from(sorted(OPERANDS)), max_size=2, unique=True)):
            words[name] = data.draw(arrays(OPERANDS[name], OPERAND_TYPES.get(name, "float32")))
        if pick(data.draw, 5) == 0:
            words["out"] = data.draw(arrays(GOOD["out"]))
        if pick(data.draw, 10) == 0:
            words["arrays"] = data.draw(ARRAYS)
        found = self.calls(heed.attention, *args, **words)
        if found is not None:
            o = found[0] if words.get("return_lse") else found
            self.assertEqual(len(o.shape), 4)

    @cases(0.2)
    @given(st.data())
    def test_plans(self, data):
        spec = data.draw(st.sampled_from(("b2 h4/2 s5/7 d8/16 f32", "b2 h4/2 s5/7 d8/16 f32 bias=f32 lengths causal=br",
                                          "b2 h4/2 s5/6 d8/16 f32 paged=2/2")))
        plan = heed.Plan(heed.Problem(spec))
        if pick(data.draw, 10) == 0:
            plan.close()
        words = {}
        if data.draw(st.booleans()):
            words["operands"] = data.draw(st.one_of(
                st.dictionaries(st.sampled_from(("bias", "lengths", "table", "shown", "zz")),
                                arrays((2,), "int32"), max_size=3), JUNK))
        for name, shape in (("out", GOOD["out"]), ("lse", (2, 4, 5))):
            if pick(data.draw, 4) == 0:
                words[name] = data.draw(arrays(shape))
        self.calls(plan.execute, *(data.draw(arrays(GOOD[name])) for name in "qkv"), **words)

    @cases(0.1)
    @given(st.one_of(JUNK, st.text(max_size=60), st.lists(st.sampled_from(
        ("b2", "h4/2", "s5/7", "d8", "f32", "f16", "causal", "window=3:", "bias", "paged=4/9", "lengths", "score=s+1",
         "b99999999999", "h0", "d-1", "softcap=nan", "=", "é", "\0")), max_size=9).map(" ".join)))
    def test_problems(self, spec):
        problem = self.calls(heed.Problem, spec)
        if problem is not None:
            self.assertEqual(heed.Problem(str(problem)), problem)

    @cases(0.05)
    @given(st.one_of(st.none(), st.just("cpu"), JUNK), st.one_of(st.integers(-1, 2), JUNK), st.one_of(st.none(), JUNK), JUNK)
    def test_contexts(self, device, threads, cpu, effort):
        context = self.calls(heed.Context, device, threads=threads, cpu=cpu)
        if context is None:
            return
        with context:
            self.calls(heed.Plan, "b1 h1 s4 d4 f32", context, effort=effort)
            self.calls(heed.Plan, "b1 h1 s4 d4 f32", effort)
            self.calls(heed.Plan, "b1 h1 s4 d4 f32", context, kernel=effort)
            self.calls(context.import_wisdom, effort)
        for use in (lambda: heed.Plan("b1 h1 s4 d4 f32", context), context.export_wisdom, lambda: context.device):
            with self.assertRaisesRegex(heed.InvalidError, "context: it is closed"):
                use()

    @unittest.skipIf(torch is None, "no torch")
    @cases(0.15)
    @given(st.data())
    def test_torch(self, data):
        import heed.torch

        def tensor(shape):
            x = data.draw(arrays(shape))
            if isinstance(x, np.ndarray) and x.dtype.kind in "fib" and x.dtype.isnative and not x.dtype.hasobject:
                return torch.from_numpy(np.ascontiguousarray(x))
            return x
        args = [tensor(shape) for shape in ((2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 16))]
        words = {"enable_gqa": data.draw(st.booleans()), "is_causal": data.draw(st.booleans()),
                 "dropout_p": data.draw(st.sampled_from((0.0, 0.1, -1.0))),
                 "scale": data.draw(st.sampled_from((None, 0.5, 0.0)))}
        if data.draw(st.booleans()):
            words["attn_mask"] = tensor((2, 4, 5, 7))
        try:
            self.calls(heed.torch.scaled_dot_product_attention, *args, **words)
        except (RuntimeError, TypeError, NotImplementedError, ValueError) as error:  # torch's own, of its dispatcher
            Fuzz.refused += 1
            self.assertGreater(len(str(error)), 8)

    def test_after_fork(self):
        """A child computes with the plans of a CPU that it inherited, but makes new ones on a context of its own."""
        x = np.ones((1, 64, 2, 16), np.float32)
        plan = heed.Plan("b1 h2 s64 d16 f32")
        wanted = plan.execute(x, x, x)
        heed.attention(x, x, x)
        with tempfile.TemporaryFile() as file:
            child = os.fork()
            if child == 0:
                try:
                    said = b"right" if np.allclose(plan.execute(x, x, x), wanted) else b"wrong"
                    try:
                        heed.Plan("b1 h2 s64 d16 f32", plan.context)
                    except heed.InvalidError as error:
                        said += b"; " + str(error).encode()
                    own = heed.Plan("b1 h2 s64 d16 f32", heed.Context("cpu", threads=1)).execute(x, x, x)
                    said += b"; own" if np.array_equal(own, wanted) else b"; wrong"
                    again = heed.attention(x, x, x)
                    said += b"; again" if np.allclose(again, wanted) else b"; wrong"
                    os.write(file.fileno(), said)
                except BaseException as error:
                    os.write(file.fileno(), repr(error).encode())
                os._exit(0)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            file.seek(0)
            said = file.read().decode()
        self.assertIn("right; context was made by process", said)
        self.assertTrue(said.endswith("; own; again"), said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
