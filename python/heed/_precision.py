"""torch's precision setting for float32 products, as @products of heed.attention()."""

from __future__ import annotations

from typing import Any

import torch

from . import _again

#: In torch 2.9 and later. It works with torch's old and new settings, and with any mix of them, for
#: which torch's own attributes warn or raise.
_setting: Any = getattr(torch._C, "_get_fp32_precision_getter", None)

#: By its result. TF32 is heed's fastest, and more precise than bfloat16.
_PRODUCTS = {"tf32": "tf32", "bf16": "tf32"}
_FULL = "full"

if _again.module is not None and _setting is not None:  # for known calls
    _again.module.set_products(_setting, "mkldnn", "cuda", "matmul", _PRODUCTS, _FULL)


def products_of(query: Any) -> str:
    """The products that torch now allows for a call with the tensor @query."""
    if query.dtype is not torch.float32:
        return _FULL
    if _setting is not None:
        return _PRODUCTS.get(_setting("cuda" if query.is_cuda else "mkldnn", "matmul"), _FULL)
    return "tf32" if query.is_cuda and torch.backends.cuda.matmul.allow_tf32 else _FULL
