"""The row `heed` of tritonbench's operator flash_attention, beside sdpa, cudnn and the others; no file of it changes.

import heed_row; heed_row.add() before tritonbench runs (scripts/tritonbench.py does both), with the package heed and
its library where Python finds them (HEED_LIBRARY). It is for the shape of the operator's rows at db2155c, where a
row is a method that takes q, k and v, [batch, heads, seq, dim], and returns what is timed.
"""

import importlib

import heed

OPERATOR = "flash_attention"


def row(self, q, k, v):
    """Returns a call of heed's Python package, as a program makes it, on torch's current stream."""
    q, k, v = (x.detach() for x in (q, k, v))
    causal = "top-left" if self.causal else False  # as the operator's own rows have it, where lengths differ
    return lambda: heed.attention(q, k, v, causal=causal, scale=self.sm_scale, layout="bhsd")


def add(name="heed"):
    """Registers the row. Raises RuntimeError where the operator's rows are not those that it was written for."""
    from tritonbench.utils.triton_op import REGISTERED_BENCHMARKS, register_benchmark

    module = importlib.import_module(f"tritonbench.operators.{OPERATOR}")
    operator = module.Operator
    if "sdpa" not in REGISTERED_BENCHMARKS.get(OPERATOR, {}):
        raise RuntimeError(f"tritonbench registers no row sdpa of {OPERATOR}: another version of it?")
    source = importlib.import_module(f"tritonbench.operators.{OPERATOR}.operator")
    if hasattr(source, "multi_input_wrapper"):
        raise RuntimeError("this tritonbench hands its rows several inputs at once; the row is for db2155c")
    if hasattr(operator, name):
        raise RuntimeError(f"the operator {OPERATOR} has a row {name} of its own")
    setattr(operator, name, register_benchmark(operator_name=OPERATOR, func_name=name, fwd_only=True)(row))
