"""heed for PyTorch: scaled_dot_product_attention() with torch's signature and meaning.

>>> import heed.torch
>>> o = heed.torch.scaled_dot_product_attention(q, k, v, is_causal=True)

It is an operator of torch (torch.ops.heed.scaled_dot_product_attention), which torch.compile takes
whole, and which works under torch.autocast and torch.vmap. Nothing falls back to torch but the
backward pass, which heed has not yet; a warning says so, once.

enable() puts it behind torch.nn.functional.scaled_dot_product_attention; report() says which
kernels served the calls of the program, and why the others went to torch.
"""

from ._behind import Enabled, disable, enable, report
from ._report import Report
from ._sdpa import scaled_dot_product_attention

__all__ = ["Report", "disable", "enable", "report", "scaled_dot_product_attention"]

for _name in (*__all__, "Enabled"):  # where programs find them, and what tracebacks say
    globals()[_name].__module__ = __name__
del _name
