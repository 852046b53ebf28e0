"""A way to call a library for a problem, and what the ways of several libraries share."""

import collections
import importlib

import peer

Backend = collections.namedtuple("Backend", "ways words", defaults=[frozenset()])

# One way: its name in the table, attend(q, k, v), which returns O, whether its tensors are views
# [batch, heads, seq, dim], and how often K and V are repeated beforehand. All tensors lie in memory
# as [batch, seq, heads, dim]; packed ones have one batch element, those in pages are a pool. V
# may be a part of K: None stands for it then.
Way = collections.namedtuple("Way", "detail attend heads_first repeats", defaults=[True, 1])


def imported(module, names, what):
    """Returns the members @names of a module of the user's, or raises Unsupported with the module's own
    reason."""
    try:
        found = importlib.import_module(module)
        return [getattr(found, name) for name in names]
    except Exception as error:
        raise peer.Unsupported(f"{module} cannot be imported: {error} ({what})") from error


def only(result):
    """O; some versions return the LSE as well."""
    return result[0] if isinstance(result, tuple) else result


def torch_type(torch, problem):
    return {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[problem.type]
