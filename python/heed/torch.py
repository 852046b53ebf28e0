"""heed for PyTorch: scaled_dot_product_attention() with torch's signature and meaning.

>>> import heed.torch
>>> o = heed.torch.scaled_dot_product_attention(q, k, v, is_causal=True)

It is an operator of torch (torch.ops.heed.scaled_dot_product_attention), which torch.compile keeps
whole and which works under torch.autocast and torch.vmap. Only the backward pass, which heed does not
have yet, falls back to torch, with one warning.

enable() lets heed compute torch.nn.functional.scaled_dot_product_attention; report() shows which
kernels were used for the calls of the program, and why torch computed the others.
"""

from ._behind import Enabled, disable, enable, report
from ._report import Report
from ._sdpa import scaled_dot_product_attention

__all__ = ["Report", "disable", "enable", "report", "scaled_dot_product_attention"]

for _name in (*__all__, "Enabled"):  # the public name, for tracebacks
    globals()[_name].__module__ = __name__
del _name
