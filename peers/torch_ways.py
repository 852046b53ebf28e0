"""A way to call a library for a problem, and helpers for several libraries."""

import collections
import importlib

import peer

Backend = collections.namedtuple("Backend", "ways words", defaults=[frozenset()])

# A way: its name in the table, attend(q, k, v), which returns O, whether its tensors are views [batch, heads, seq,
# dim], and how often K and V are repeated beforehand. All tensors are [batch, seq, heads, dim] in memory; packed ones
# have one batch element, paged ones are a pool. If V is a part of K, it is None.
Way = collections.namedtuple("Way", "detail attend heads_first repeats", defaults=[True, 1])


def imported(module, names, what):
    """Returns the members @names of an installed module, or raises Unsupported with the reason of the failed import."""
    try:
        found = importlib.import_module(module)
        return [getattr(found, name) for name in names]
    except Exception as error:
        raise peer.Unsupported(f"{module} cannot be imported: {error} ({what})") from error


def only(result):
    """Returns O; some versions also return the LSE."""
    return result[0] if isinstance(result, tuple) else result


def torch_type(torch, problem):
    return {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[problem.type]
