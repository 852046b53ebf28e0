"""torch's setting of how exact products of float32 must be, as a word of heed.attention()."""

from __future__ import annotations

from typing import Any

import torch

from . import _again

#: Of torch 2.9 and later. It answers whichever way the setting was made, old or new, and in any
#: mix of both, of which torch's own attributes warn, or raise.
_setting: Any = getattr(torch._C, "_get_fp32_precision_getter", None)

#: By its answer: TF32 is the fastest that heed has, and more exact than bfloat16.
_PRODUCTS = {"tf32": "tf32", "bf16": "tf32"}
_FULL = "full"

if _again.module is not None and _setting is not None:  # calls that are known are told there
    _again.module.set_products(_setting, "mkldnn", "cuda", "matmul", _PRODUCTS, _FULL)


def products_of(query: Any) -> str:
    """The products that torch permits at this time to a call with @query, a tensor."""
    if query.dtype is not torch.float32:
        return _FULL
    if _setting is not None:
        return _PRODUCTS.get(_setting("cuda" if query.is_cuda else "mkldnn", "matmul"), _FULL)
    return "tf32" if query.is_cuda and torch.backends.cuda.matmul.allow_tf32 else _FULL
