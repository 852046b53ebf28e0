"""Problems and their operands."""

from __future__ import annotations

from ctypes import byref, sizeof
from typing import Tuple, Type

from . import _library as c
from . import _values
from ._library import check, library, text_of
from ._types import TYPES

TYPE_NAMES = {number: name for name, number in TYPES.items()}
OPERANDS = (
    "bias",
    "shown",
    "slopes",
    "sinks",
    "starts",
    "lengths",
    "table",
    "cu_seqlens_q",
    "cu_seqlens_k",
    "k_new",
    "v_new",
    "rotary_cos",
    "rotary_sin",
)
NEW = ("k_new", "v_new")  # of K and V, not struct heed_operand


class Problem:
    """An attention problem: everything but the data.

    >>> problem = heed.Problem("b2 h8/2 s512 d64 f16 causal")

    Args:
        spec: one line in the syntax of heed_problem_parse() (heed.h, docs/features.md);
            str(problem) is its canonical form.

    Raises:
        InvalidError: the spec is invalid; the message names the position.
    """

    __slots__ = ("_c",)

    def __init__(self, spec: str) -> None:
        self._c = c.Problem()
        check(
            library.heed_problem_parse_sized(
                byref(self._c), sizeof(c.Problem), _values.text("spec", spec)
            )
        )

    @classmethod
    def _of(cls, fields: c.Problem) -> "Problem":
        problem = cls.__new__(cls)
        problem._c = c.Problem()
        check(library.heed_problem_normalize(byref(problem._c), byref(fields)))
        return problem

    def __str__(self) -> str:
        return text_of(library.heed_problem_print, byref(self._c))

    def __repr__(self) -> str:
        return f"heed.Problem({str(self)!r})"

    def __reduce__(self) -> Tuple[Type["Problem"], Tuple[str]]:
        return Problem, (str(self),)  # any version of heed can read it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def dtype(self) -> str:
        """Element type of Q, K, V and O: "f32", "f16" or "bf16"."""
        return TYPE_NAMES[self._c.type]

    @property
    def q_shape(self) -> Tuple[int, int, int, int]:
        """(batch, queries, query heads, head dim), whatever the layout; for packed queries (1,
        tokens_q, query heads, head dim)."""
        return (*self._queries(), self._c.heads_q, self._c.dim_qk)

    def _queries(self) -> Tuple[int, int]:
        """The sizes of Q and O along batch and sequence."""
        if self._c.tokens_q:
            return (1, self._c.tokens_q)
        return (self._c.batch, self._c.seq_q)

    def _keys(self) -> Tuple[int, int]:
        """The sizes of K and V along batch and sequence, or (pages, keys in a page)."""
        if self._c.page:
            return (self._c.pages, self._c.page)
        if self._c.tokens_k:
            return (1, self._c.tokens_k)
        return (self._c.batch, self._c.seq_k)

    @property
    def k_shape(self) -> Tuple[int, int, int, int]:
        """(batch, keys, key/value heads, head dim)"""
        return (*self._keys(), self._c.heads_kv, self._c.dim_qk)

    @property
    def v_shape(self) -> Tuple[int, int, int, int]:
        """(batch, keys, key/value heads, head dim of V)"""
        return (*self._keys(), self._c.heads_kv, self._c.dim_v)

    @property
    def o_shape(self) -> Tuple[int, int, int, int]:
        """(batch, queries, query heads, head dim of V)"""
        return (*self._queries(), self._c.heads_q, self._c.dim_v)

    @property
    def flops(self) -> float:
        """Floating-point operations of both products over visible pairs; a multiply-add counts as 2."""
        return float(library.heed_problem_flops(byref(self._c)))

    @property
    def bytes(self) -> float:
        """The minimum number of bytes to move."""
        return float(library.heed_problem_bytes(byref(self._c)))


def operand_shape(fields: c.Problem, operand: c.Operand) -> Tuple[int, ...]:
    """The shape of a dense operand: the sizes of the dimensions that it has, in order."""
    keys = (fields.seq_k + 31) // 32 if operand.type == c.DATA_BITS else fields.seq_k
    dims = (
        (c.ALONG_BATCH, fields.batch),
        (c.ALONG_HEAD, fields.heads_q),
        (c.ALONG_QUERY, fields.seq_q),
        (c.ALONG_KEY, keys),
        (c.ALONG_PAGE, fields.seq_k // max(fields.page, 1)),
        (c.ALONG_SEQUENCE, fields.batch + 1),
        (c.ALONG_POSITION, fields.seq_k),
        (c.ALONG_POSITION, fields.rotary // 2),
    )
    return tuple(size for bit, size in dims if operand.along & bit)
