"""Plans: one problem on one device, and its execution with arrays that are checked."""

from __future__ import annotations

import os
import threading
import weakref
from ctypes import addressof, byref, c_char, c_void_p, sizeof
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import _again
from . import _library as c
from . import _values
from ._again import Calls, makers_of
from ._arrays import (
    Fast,
    View,
    empty,
    fast_of,
    memory_pointer,
    part_of,
    require_writable,
    result_for,
    stream_of,
    view,
    written,
)
from ._context import Context, context_of, destroy
from ._errors import ArgumentTypeError, InvalidError
from ._graph import Graph
from ._library import check, library, text_of
from ._problem import OPERANDS, Problem, operand_shape
from ._report import Record, record_of

_execute = library.heed_execute
_repeat = _again.module.again if _again.module else None
_CALLS_MAX = 64  # kinds of arrays that a plan keeps in mind
_DATA = {
    c.DATA_F32: "f32",
    c.DATA_F16: "f16",
    c.DATA_BF16: "bf16",
    c.DATA_I32: "i32",
    c.DATA_I64: "i64",
    c.DATA_BYTES: "bool",
    c.DATA_BITS: "i32",
}


def _check_dense(name: str, x: View, data: int, shape: Tuple[int, ...]) -> None:
    if x.dtype != _DATA[data]:
        raise ArgumentTypeError(f"{name}: dtype is {x.dtype}, the plan's {_DATA[data]}")
    if x.shape != shape:
        raise InvalidError(f"{name}: shape is {x.shape}, the plan's {shape}")
    step = 1
    for size, stride in zip(reversed(shape), reversed(x.strides)):
        if size > 1 and stride != step:
            raise InvalidError(f"{name}: the array is not dense")
        step *= size


class _Memory(threading.local):
    """Workspace of a thread on a CPU, as large as any plan needed."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._address = 0

    def address(self, size: int) -> int:
        if len(self._bytes) < size:
            self._bytes = bytearray(size)
            self._address = addressof((c_char * size).from_buffer(self._bytes))
        return self._address


_memory = _Memory()


def _fill(buffers: c.Buffers, pointers: Dict[str, int], arrays: List[int]) -> None:
    for name, pointer in pointers.items():
        setattr(buffers, name, pointer)
    for i, pointer in enumerate(arrays):
        buffers.arrays[i] = pointer


class Plan:
    """How one problem is computed on one device: a kernel, its config, and its code.

    >>> plan = heed.Plan("b1 h8 s512 d64 f32 causal")
    >>> o = plan.execute(q, k, v)

    Args:
        problem: a Problem, or its spec.
        context: where; None: the context of "cpu", which all callers share, or of HEED_DEVICE.
        effort: "estimate" (a cost model chooses), "measure" (every applicable kernel is timed),
            "patient" (every config), or "wisdom" (the choice must be known already).
        kernel: the name of a kernel, or of a kernel and its config; None: the planner chooses.

    Raises:
        InvalidError, UnsupportedError, NoMemoryError, NoWisdomError, DeviceError.

    A plan may be executed by many threads at once. It is freed with its last reference: on a CUDA
    device the work that it started must have ended by then.
    """

    def __init__(
        self,
        problem: "Problem | str",
        context: Optional[Context] = None,
        *,
        effort: str = "estimate",
        kernel: Optional[str] = None,
    ) -> None:
        if not isinstance(problem, Problem):
            problem = Problem(problem)
        if context is None:
            context = context_of(os.environ.get("HEED_DEVICE") or "cpu")
        if not isinstance(context, Context):
            raise ArgumentTypeError(
                f"context: {type(context).__name__} is no heed.Context; pass one, or None"
            )
        effort = _values.word("effort", effort, tuple(c.EFFORTS))
        pointer = c_void_p()
        if kernel is not None:
            check(
                library.heed_plan_create_named(
                    byref(pointer), context._open(), byref(problem._c), _values.text("kernel", kernel)
                )
            )
        else:
            check(
                library.heed_plan_create(
                    byref(pointer), context._open(), byref(problem._c), c.EFFORTS[effort]
                )
            )
        assert pointer.value is not None
        self._pointer: Optional[int] = pointer.value
        self._finish = weakref.finalize(self, destroy, "plan", pointer.value, os.getpid())
        self.problem = Problem._of(library.heed_plan_problem(pointer.value).contents)
        self.context = context
        self.workspace_size = int(library.heed_plan_workspace_size(pointer.value))
        self._local = threading.local()
        self._signature: Optional[Tuple[Any, ...]] = None  # of the arrays of the last call
        self._calls = Calls(_CALLS_MAX)
        self._counted: Optional[Record] = None
        self._cuda = context.backend == "cuda"
        self._state = (
            _again.module.plan(pointer.value, self.workspace_size, self._cuda)
            if _again.module
            else None
        )
        self._graphs: "weakref.WeakSet[Graph]" = weakref.WeakSet()
        context._plans.add(self)

    def _open(self) -> int:
        if self._pointer is None:
            raise InvalidError("plan: it is closed")
        return self._pointer

    def close(self) -> None:
        """Free it now, and its graphs. On a CUDA device the work that it started must have ended."""
        for graph in list(self._graphs):
            graph.close()
        self._pointer = None
        if _again.module:
            _again.module.close(self._state)
        self._finish()

    @property
    def name(self) -> str:
        """Kernel and config, such as "fwd_any_avx2_tile__m128n128s1"."""
        return str(library.heed_plan_name(self._open()).decode())

    def _record(self) -> Record:
        """Where calls of its kind are counted."""
        if self._counted is None:
            self._counted = record_of(str(self.problem), self.name)
        return self._counted

    @property
    def deterministic(self) -> bool:
        """Do equal inputs give equal bits?"""
        return bool(library.heed_plan_deterministic(self._open()))

    def wait(self) -> None:
        """Wait until the kernel that was chosen is the one that executes: on a GPU it may be
        compiled in the background, while another one serves.

        Raises:
            DeviceError: it cannot be made; the other one goes on to serve.
        """
        check(library.heed_plan_wait(self._open()))

    def explain(self) -> str:
        """Say for people what the planner considered, and which kernel serves."""
        return text_of(library.heed_plan_explain, self._open())

    def __repr__(self) -> str:
        if self._pointer is None:
            return f"<heed.Plan for {str(self.problem)!r}, closed>"
        return f"<heed.Plan for {str(self.problem)!r}: {self.name}>"

    def _make_buffers(self, workspace: Any) -> c.Buffers:
        buffers = c.Buffers(size=sizeof(c.Buffers))
        if workspace is not None:
            self._place(buffers, memory_pointer("workspace", workspace))
        return buffers

    def _place(self, buffers: c.Buffers, address: int) -> None:
        """The workspace, in memory with room to align it."""
        buffers.workspace = (address + c.ALIGNMENT - 1) // c.ALIGNMENT * c.ALIGNMENT
        buffers.workspace_size = self.workspace_size

    def _own_buffers(self) -> c.Buffers:
        """Those of the thread; on a CPU with its workspace."""
        try:
            buffers: c.Buffers = self._local.buffers
        except AttributeError:
            buffers = self._local.buffers = self._make_buffers(None)
        if self.workspace_size and not self._cuda:
            self._place(buffers, _memory.address(self.workspace_size + c.ALIGNMENT))
        return buffers

    def _run(self, like: View, pointers: Dict[str, int], arrays: List[int]) -> None:
        """Execute with checked pointers. On a GPU the workspace is memory of the array's library,
        which knows its streams."""
        workspace = None
        if self._cuda and self.workspace_size:
            workspace = empty(like, (self.workspace_size + c.ALIGNMENT,), "bytes")
        buffers = self._make_buffers(workspace) if self._cuda else self._own_buffers()
        buffers.stream = stream_of(like) or None
        buffers.lse = None
        _fill(buffers, pointers, arrays)
        check(library.heed_execute(self._open(), byref(buffers)))

    def _run_again(self, fast: Fast, q: Any, k: Any, v: Any, o: Any, lse: Any) -> None:
        """The same for arrays that are known to be right, of a problem without operands."""
        buffers, workspace = self._own_buffers(), None
        if self._cuda:
            if self.workspace_size:
                workspace = fast.empty(q, (self.workspace_size + c.ALIGNMENT,), "bytes")
                self._place(buffers, fast.pointer(workspace))
            buffers.stream = fast.stream(q) or None
        pointer = fast.pointer
        buffers.q = pointer(q)
        buffers.k = pointer(k)
        buffers.v = pointer(v)
        buffers.o = pointer(o)
        buffers.lse = None if lse is None else pointer(lse)
        code = _execute(self._open(), byref(buffers))
        if code:
            check(code)

    def _check(self, name: str, x: View, shape: Tuple[int, ...], strides: c.Strides) -> None:
        """The array must be what the problem says: its strides too, of dimensions in the order
        batch, sequence, head, dim."""
        wanted = (strides.batch, strides.seq, strides.head, 1)
        if x.dtype != self.problem.dtype:
            raise ArgumentTypeError(f"{name}: dtype is {x.dtype}, the plan's {self.problem.dtype}")
        if x.shape != shape:
            raise InvalidError(f"{name}: shape is {x.shape}, the plan's {shape}")
        for i in range(4):
            if shape[i] > 1 and x.strides[i] != wanted[i]:
                raise InvalidError(
                    f"{name}: strides are {x.strides} elements, the plan's {wanted}"
                )

    def execute(
        self,
        q: Any,
        k: Any,
        v: Any,
        *,
        out: Any = None,
        lse: Any = None,
        operands: Optional[Mapping[str, Any]] = None,
    ) -> Any:
        """Compute O = softmax(scale Q K^T + ...) V, as docs/features.md says for the problem.

        Args:
            q, k, v: arrays of problem.q_shape, k_shape and v_shape, in the problem's type and
                strides: (batch, sequence, heads, dim), whatever the layout in memory. Where V is a
                part of K (the word "shared"), pass None for v.
            out: an array of problem.o_shape, with the problem's strides of O; None: a new one,
                which the problem's O must be dense for.
            lse: a dense float32 array (batch, query heads, queries) for the log-sum-exp, natural;
                None: it is not wanted.
            operands: arrays for bias, slopes, sinks, starts, shown, lengths, table, cu_seqlens_q,
                cu_seqlens_k, rotary_cos, rotary_sin and those that expressions name, dense, and
                k_new and v_new, (batch, append, key/value heads, dim) in the problem's strides,
                where the problem has them. k and v are written to where it appends.

        Returns:
            out. On a CUDA device the work has been started on the library's current stream.

        Raises:
            InvalidError: a shape, stride, device or missing operand; the message names it.
            ArgumentTypeError: a wrong dtype, or no array.
        """
        signature = None
        if lse is None and operands is None and v is not None:
            if _repeat is not None:
                o = _repeat(self._calls.known, None, q, k, v, out)
                if o is not None:
                    return o
            fast = fast_of(q) if out is not None else None
            signature = fast.key(q, k, v, out) if fast else None
            if fast and signature is not None and signature == self._signature:
                self._run_again(fast, q, k, v, out, None)
                written(out)
                return out
        views, arrays, made = self._gather(q, k, v, out, lse, operands)
        makes, out = out is None, made
        self._run(views["q"], {name: x.pointer for name, x in views.items()}, arrays)
        written(out, lse, *((k, v) if self.problem._c.append else ()))
        out = result_for(q, out) if makes else out
        self._signature = signature
        if _repeat is not None and lse is None and operands is None and v is not None:
            given = (q, k, v, None if makes else out)
            makers = makers_of(q, out.shape if makes else None, None)
            self._calls.learn(None, given, (), self, *makers)
        return out

    def capture(
        self,
        q: Any,
        k: Any,
        v: Any,
        *,
        out: Any = None,
        lse: Any = None,
        operands: Optional[Mapping[str, Any]] = None,
    ) -> Graph:
        """Capture an execution on a GPU as a CUDA graph, whose replay() starts it again with what
        the arrays hold by then. Nothing is executed yet. The kernel that was chosen is waited for.

        Args:
            all: as of execute(). The graph keeps them, and a workspace of its own.

        Returns:
            a Graph, with replay() and out.

        Raises:
            InvalidError: the plan is for a CPU; or as execute() does.
            ArgumentTypeError: as execute() does.
            DeviceError: the driver refuses, as it does while the thread captures a stream itself.
        """
        if not self._cuda:
            raise InvalidError(
                f"plan: it is for {self.context.device}, whose executions no CUDA graph can hold; "
                "call execute(), or make the plan on heed.Context('cuda')"
            )
        views, arrays, out = self._gather(q, k, v, out, lse, operands)
        like, workspace = views["q"], None
        if self.workspace_size:
            workspace = empty(like, (self.workspace_size + c.ALIGNMENT,), "bytes")
        buffers = self._make_buffers(workspace)
        _fill(buffers, {name: x.pointer for name, x in views.items()}, arrays)
        changed = (lse, *((k, v) if self.problem._c.append else ()))
        kept = (self, views, operands, workspace)
        graph = Graph(self._open(), buffers, like, kept, out, changed)
        self._graphs.add(graph)
        return graph

    def _gather(
        self, q: Any, k: Any, v: Any, out: Any, lse: Any, operands: Optional[Mapping[str, Any]]
    ) -> Tuple[Dict[str, View], List[int], Any]:
        """The arrays of an execution, checked: views by name, the addresses of those that
        expressions name, and out, which may be new."""
        problem = self.problem
        fields = problem._c
        views = {"q": view("q", q), "k": view("k", k)}
        shared = v is None and fields.shared == 1
        views["v"] = part_of(views["k"], fields.dim_v) if shared else view("v", v)
        self._check("q", views["q"], problem.q_shape, fields.q)
        self._check("k", views["k"], problem.k_shape, fields.k)
        self._check("v", views["v"], problem.v_shape, fields.v)
        if fields.append:
            require_writable("k", views["k"])
            require_writable("v", views["v"])
        if out is None:
            out = empty(views["q"], problem.o_shape, problem.dtype)
        views["o"] = view("out", out)
        self._check("out", views["o"], problem.o_shape, fields.o)
        require_writable("out", views["o"])
        if lse is not None:
            views["lse"] = self._check_lse(lse)
        arrays = self._check_operands(views, {} if operands is None else operands)
        self._check_devices([*views.items(), *(("operands", x) for x in arrays)])
        return views, [a.pointer for a in arrays], out

    def _check_lse(self, lse: Any) -> View:
        found, fields = view("lse", lse), self.problem._c
        batch, queries = self.problem._queries()
        shape = (batch, fields.heads_q, queries)
        require_writable("lse", found)
        _check_dense("lse", found, c.DATA_F32, shape)
        return found

    def _check_operands(self, views: Dict[str, View], operands: Mapping[str, Any]) -> List[View]:
        if not isinstance(operands, Mapping):
            raise ArgumentTypeError(
                f"operands: {type(operands).__name__} is no dict; pass one of names and arrays"
            )
        fields, arrays, rest = self.problem._c, [], dict(operands)
        for name in OPERANDS:
            if getattr(fields, name).type == c.DATA_NONE:
                continue
            if name not in rest:
                raise InvalidError(f"operands: the problem has {name}, which is missing")
            operand = getattr(fields, name)
            found = views[name] = view(name, rest.pop(name))
            _check_dense(name, found, operand.type, operand_shape(fields, operand))
        for name in ("k_new", "v_new")[: 2 - fields.shared] if fields.append else ():
            if name not in rest:
                raise InvalidError(f"operands: the problem has {name}, which is missing")
            dim = fields.dim_qk if name == "k_new" else fields.dim_v
            rows = (1, fields.tokens_q) if fields.append_packed else (fields.batch, fields.append)
            shape = (*rows, fields.heads_kv, dim)
            views[name] = view(name, rest.pop(name))
            self._check(name, views[name], shape, getattr(fields, name))
        for array in fields.arrays:
            name = array.name.decode()
            if not name:
                break
            if name not in rest:
                raise InvalidError(f"operands: the problem has an array {name}, which is missing")
            arrays.append(view(name, rest.pop(name)))
            _check_dense(name, arrays[-1], array.type, tuple(array.size[: array.rank]))
        for name in rest:
            raise InvalidError(f"operands: the problem has no {name}")
        return arrays

    def _check_devices(self, views: List[Tuple[str, View]]) -> None:
        for name, x in views:
            if (x.device == "cpu") == self._cuda:
                raise InvalidError(
                    f"{name}: it is on {x.device}, the plan on {self.context.device}"
                )
