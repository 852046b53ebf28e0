"""heed in Hugging Face's diffusers.

>>> import heed.diffusers
>>> heed.diffusers.register()          # models whose attention backend is "native", the default

The dispatcher of diffusers has a fixed enumeration of backends, so heed replaces one of them. The
replaced backend computes the calls that heed cannot; heed.torch.report() lists them with the reason.
For models that call torch's attention directly, such as Stable Diffusion 3, use heed.torch.enable().
Tested with diffusers 0.42.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional

import torch
from torch import Tensor

from ._behind import try_heed
from ._errors import InvalidError

__all__ = ["register", "unregister"]

_before: Dict[Any, Callable[..., Any]] = {}  # the replaced functions, by backend


def _function(before: Callable[..., Any]) -> Callable[..., Any]:
    """A backend's new function, with the parameters of diffusers' native backend."""

    def attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Optional[Tensor] = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: Optional[float] = None,
        enable_gqa: bool = False,
        return_lse: bool = False,
        _parallel_config: Any = None,
    ) -> Any:
        """Attention of (batch, sequence, heads, dim); attn_mask may be (batch, keys)."""
        rest = (dropout_p, is_causal, scale, enable_gqa)
        if not return_lse and _parallel_config is None and not torch.compiler.is_compiling():
            mask = attn_mask
            if mask is not None and mask.shape == (query.shape[0], key.shape[1]):
                mask = mask[:, None, None, :]
            q, k, v = (x.transpose(1, 2) for x in (query, key, value))
            o = try_heed(q, k, v, mask, *rest)
            if o is not None:
                return o.transpose(1, 2)
        return before(query, key, value, attn_mask, *rest, return_lse, _parallel_config)

    return attention


def _backend_of(name: str) -> Any:
    from diffusers.models.attention_dispatch import AttentionBackendName

    try:
        return AttentionBackendName(name)
    except ValueError:
        raise InvalidError(f"backend: {name!r} is not a backend of diffusers; pass 'native'") from None


def register(backend: str = "native") -> None:
    """Replace a backend of diffusers that has the native backend's parameters by heed.

    Raises:
        ImportError: diffusers is not installed.
        InvalidError: there is no such backend.
    """
    from diffusers.models.attention_dispatch import _AttentionBackendRegistry

    found = _backend_of(backend)
    if found not in _before:
        _before[found] = _AttentionBackendRegistry._backends[found]
        _AttentionBackendRegistry._backends[found] = _function(_before[found])


def unregister(backend: str = "native") -> None:
    """Restore the backend's own function."""
    from diffusers.models.attention_dispatch import _AttentionBackendRegistry

    found = _backend_of(backend)
    if found in _before:
        _AttentionBackendRegistry._backends[found] = _before.pop(found)
