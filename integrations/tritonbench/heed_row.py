"""Adds a row `heed` to tritonbench's operator flash_attention, beside sdpa, cudnn and others, without changing its
files.

Call heed_row.add() before tritonbench runs (scripts/tritonbench.py does); Python must find the package heed and its
library (HEED_LIBRARY). It fits the operator's rows at db2155c, where a row is a method that takes q, k and v, [batch,
heads, seq, dim], and returns the function to time.
"""

import importlib

import heed

OPERATOR = "flash_attention"


def row(self, q, k, v):
    """Returns a call of heed's Python package, as in a user's program, on torch's current stream."""
    q, k, v = (x.detach() for x in (q, k, v))
    causal = "top-left" if self.causal else False  # like the operator's own rows, where lengths differ
    return lambda: heed.attention(q, k, v, causal=causal, scale=self.sm_scale, layout="bhsd")


def add(name="heed"):
    """Registers the row. Raises RuntimeError if the operator's rows differ from those of db2155c."""
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
