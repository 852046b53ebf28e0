"""Plans: how to compute one problem on one device, and its execution with checked arrays."""

from __future__ import annotations

import os
import threading
import weakref
from ctypes import addressof, byref, c_char, sizeof
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
    require_dense,
    require_apart,
    require_writable,
    result_for,
    stream_of,
    view,
    written,
)
from ._context import Context, context_of
from ._errors import ArgumentTypeError, InvalidError, type_error
from ._graph import Graph
from ._handle import Handle
from ._library import check, library, text_of
from ._problem import NEW, OPERANDS, Problem, operand_shape
from ._report import Record, record_of
from ._types import DATA

_execute = library.heed_execute
_repeat = _again.module.again if _again.module else None
_CALLS_MAX = 64  # kinds of arrays that a plan remembers
_DTYPES = {data: dtype for dtype, data in DATA.items()}
_DTYPES[c.DATA_BITS] = "i32"
_REMEDY = "pass another array, or make a plan for this one"


def _check(name: str, x: View, dtype: str, shape: Tuple[int, ...]) -> None:
    if x.dtype != dtype:
        raise ArgumentTypeError(f"{name}: dtype is {x.dtype}, the plan's {dtype}; {_REMEDY}")
    if x.shape != shape:
        raise InvalidError(f"{name}: shape is {x.shape}, the plan's {shape}; {_REMEDY}")


def _longer(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    return tuple(size for size in shape if size > 1)


def _check_dense(name: str, x: View, data: int, shape: Tuple[int, ...]) -> None:
    _check(name, x, _DTYPES[data], shape)
    require_dense(name, x)


class _Memory(threading.local):
    """A thread's CPU workspace, as large as its largest plan needed."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self._address = 0

    def address(self, size: int) -> int:
        if len(self.bytes) < size:
            self.bytes = bytearray(size)
            self._address = addressof((c_char * size).from_buffer(self.bytes))
        return self._address


_memory = _Memory()


def _fill(buffers: c.Buffers, pointers: Dict[str, int], arrays: List[int]) -> None:
    for name, pointer in pointers.items():
        setattr(buffers, name, pointer)
    for i, pointer in enumerate(arrays):
        buffers.arrays[i] = pointer


class Plan(Handle):
    """How one problem is computed on one device: a kernel, its config, and its code.

    >>> plan = heed.Plan("b1 h8 s512 d64 f32 causal")
    >>> o = plan.execute(q, k, v)

    Args:
        problem: a Problem, or its spec.
        context: the device; None: a context shared by all callers, for HEED_DEVICE or "cpu".
        effort: "estimate" (by a cost model), "measure" (time every applicable kernel), "patient"
            (time every config), or "wisdom" (the choice must be known already).
        kernel: the name of a kernel, with or without a config; None: the planner chooses.

    Raises:
        InvalidError, UnsupportedError, NoMemoryError, NoWisdomError, DeviceError.

    Many threads may execute a plan at once. It is freed with its last reference: on a CUDA device
    its work must be complete by then.
    """

    _kind = "plan"

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
            raise type_error("context", context, "a heed.Context", "pass one, or None")
        choice: Any = c.EFFORTS[_values.word("effort", effort, tuple(c.EFFORTS))]
        create = library.heed_plan_create
        if kernel is not None:
            create, choice = library.heed_plan_create_named, _values.text("kernel", kernel)
        context._use(self._create, create, problem, choice, context)

    def _create(
        self, at: int, create: Any, problem: Problem, choice: Any, context: Context
    ) -> None:
        """Make the plan, on the context at the address @at."""
        super().__init__(create, at, byref(problem._c), choice)
        pointer = self._open()
        self.problem = Problem._of(library.heed_plan_problem(pointer).contents)
        self.context = context
        self.workspace_size = int(library.heed_plan_workspace_size(pointer))
        self._local = threading.local()
        self._signature: Optional[Tuple[Any, ...]] = None  # of the arrays of the last call
        self._calls = Calls(_CALLS_MAX)
        self._counted: Optional[Record] = None
        self._cuda = context.backend == "cuda"
        self._state: Any = None
        if _again.module:
            self._state = _again.module.plan(pointer, self.workspace_size, self._cuda)
        self._graphs: "weakref.WeakSet[Graph]" = weakref.WeakSet()
        context._plans.add(self)

    def close(self) -> None:
        """Free it and its graphs now. Waits until no other thread is in a function that uses them. On
        a CUDA device its work must be complete."""
        self._pointer = None
        self._wait()  # for new graphs
        for graph in list(self._graphs):
            graph.close()
        super().close()

    def _is_used(self) -> bool:
        repeated = _again.module.close(self._state) if _again.module else 0  # now refused
        return repeated > 0 or super()._is_used()

    @property
    def name(self) -> str:
        """Kernel and config, such as "fwd_any_avx2_tile__m128n128s1"."""
        return str(self._use(library.heed_plan_name).decode())

    def _record(self) -> Record:
        """The counter of its calls."""
        if self._counted is None:
            self._counted = record_of(str(self.problem), self.name)
        return self._counted

    @property
    def deterministic(self) -> bool:
        """Whether equal inputs give results that are equal to the bit."""
        return bool(self._use(library.heed_plan_deterministic))

    def wait(self) -> None:
        """Wait until the chosen kernel is used: on a GPU it may be compiled in the background while
        another kernel is used.

        Raises:
            DeviceError: it cannot be compiled; the other kernel stays in use.
        """
        check(self._use(library.heed_plan_wait))

    def explain(self) -> str:
        """A text for people: the kernels that the planner considered, and the one in use."""
        return str(self._use(lambda at: text_of(library.heed_plan_explain, at)))

    def __repr__(self) -> str:
        if self._pointer is None:
            return f"<heed.Plan for {str(self.problem)!r}, closed>"
        return f"<heed.Plan for {str(self.problem)!r}: {self.name}>"

    def _gpu_buffers(self, like: View) -> Tuple[c.Buffers, Any]:
        """New buffers and their workspace, an array of @like's library, which orders its reuse
        between streams."""
        buffers, workspace = c.Buffers(size=sizeof(c.Buffers)), None
        if self.workspace_size:
            workspace = empty(like, (self.workspace_size + c.ALIGNMENT,), "bytes")
            self._place(buffers, memory_pointer("workspace", workspace))
        return buffers, workspace

    def _place(self, buffers: c.Buffers, address: int) -> None:
        """Set the workspace, aligned within memory that has room for it."""
        buffers.workspace = (address + c.ALIGNMENT - 1) // c.ALIGNMENT * c.ALIGNMENT
        buffers.workspace_size = self.workspace_size

    def _own_buffers(self) -> Tuple[c.Buffers, Any]:
        """The buffers of the thread and, on a CPU, its workspace. The caller keeps the workspace: the
        end of the process frees what threads own, also of daemon threads, which may be executing."""
        try:
            buffers: c.Buffers = self._local.buffers
        except AttributeError:
            buffers = self._local.buffers = c.Buffers(size=sizeof(c.Buffers))
        if self.workspace_size and not self._cuda:
            self._place(buffers, _memory.address(self.workspace_size + c.ALIGNMENT))
        return buffers, _memory.bytes

    def _run(self, like: View, pointers: Dict[str, int], arrays: List[int]) -> None:
        """Execute with checked pointers."""
        buffers, workspace = self._gpu_buffers(like) if self._cuda else self._own_buffers()
        buffers.stream = stream_of(like) or None
        buffers.lse = None
        _fill(buffers, pointers, arrays)
        check(self._use(library.heed_execute, byref(buffers)))

    def _run_again(self, fast: Fast, q: Any, k: Any, v: Any, o: Any, lse: Any) -> None:
        """Execute with arrays that need no checks, for a problem without operands."""
        buffers, workspace = self._own_buffers()
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
        code = self._use(_execute, byref(buffers))
        if code:
            check(code)

    def _check(self, name: str, x: View, shape: Tuple[int, ...], strides: c.Strides) -> None:
        """Raise unless the array, in the order batch, sequence, head, dim, has the problem's type,
        shape and strides."""
        wanted = (strides.batch, strides.seq, strides.head, 1)
        _check(name, x, self.problem.dtype, shape)
        for i in range(4):
            if shape[i] > 1 and x.strides[i] != wanted[i]:
                raise InvalidError(
                    f"{name}: strides are {x.strides} elements, the plan's {wanted}; {_REMEDY}"
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
        """Compute O = softmax(scale Q K^T + ...) V, as docs/features.md defines it for the problem.

        Args:
            q, k, v: arrays with problem.q_shape, k_shape and v_shape and the problem's type and
                strides: (batch, sequence, heads, dim), whatever the layout in memory. If V is a
                part of K (the word "shared"), pass None for v.
            out: an array with problem.o_shape and the problem's strides of O; None: a new one, if
                the problem's O is dense.
            lse: a dense float32 array (batch, query heads, queries) for the natural log-sum-exp;
                None: it is not computed.
            operands: the operands of the problem by name: dense arrays for bias, slopes, sinks,
                starts, shown, lengths, table, cu_seqlens_q, cu_seqlens_k, rotary_cos, rotary_sin
                and the arrays of expressions; k_new and v_new, (batch, append, key/value heads,
                dim) in the problem's strides, which are written to k and v.

        Returns:
            out. On a CUDA device the work is launched on the current stream of q's library.

        Raises:
            InvalidError: a wrong shape, stride or device, or a missing operand.
            ArgumentTypeError: a wrong dtype, or not an array.
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
        """Capture an execution on a GPU as a CUDA graph, whose replay() launches it with the present
        contents of the arrays. Nothing is executed yet. Waits for the chosen kernel.

        Args:
            all: as of execute(). The graph keeps references to them, and has its own workspace.

        Returns:
            a Graph, with replay() and out.

        Raises:
            InvalidError: the plan is for a CPU; or as execute().
            ArgumentTypeError: as execute().
            DeviceError: the driver refuses, as it does while the thread is capturing a stream.
        """
        if not self._cuda:
            raise InvalidError(
                f"plan: it is for {self.context.device}, where there are no CUDA graphs; call "
                "execute(), or make the plan on heed.Context('cuda')"
            )
        views, arrays, out = self._gather(q, k, v, out, lse, operands)
        like = views["q"]
        buffers, workspace = self._gpu_buffers(like)
        _fill(buffers, {name: x.pointer for name, x in views.items()}, arrays)
        changed = (lse, *((k, v) if self.problem._c.append else ()))
        kept = (self, views, operands, workspace)

        def create(at: int) -> Graph:
            graph = Graph(at, buffers, like, kept, out, changed)
            self._graphs.add(graph)
            return graph

        made: Graph = self._use(create)
        return made

    def _gather(
        self, q: Any, k: Any, v: Any, out: Any, lse: Any, operands: Optional[Mapping[str, Any]]
    ) -> Tuple[Dict[str, View], List[int], Any]:
        """Check the arrays of an execution. Returns views by name, the addresses of the arrays of
        expressions, and out, which may be new."""
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
        require_apart("out", views["o"], views)
        if lse is not None:
            views["lse"] = self._check_lse(lse)
        arrays = self._check_operands(views, {} if operands is None else operands)
        self._check_devices([*views.items(), *(("operands", x) for x in arrays)])
        return views, [a.pointer for a in arrays], out

    def _check_lse(self, lse: Any) -> View:
        found = view("lse", lse)
        batch, queries = self.problem._queries()
        require_writable("lse", found)
        _check_dense("lse", found, c.DATA_F32, (batch, self.problem._c.heads_q, queries))
        return found

    def _check_operands(self, views: Dict[str, View], operands: Mapping[str, Any]) -> List[View]:
        if not isinstance(operands, Mapping):
            raise type_error("operands", operands, "a dict", "pass one of names and arrays")
        fields, arrays, rest = self.problem._c, [], dict(operands)

        def take(name: str, kind: str = "") -> View:
            if name not in rest:
                raise InvalidError(f"operands: the problem has {kind}{name}, which is missing; add it")
            return view(name, rest.pop(name))

        for name in (x for x in OPERANDS if x not in NEW):
            operand = getattr(fields, name)
            if operand.type != c.DATA_NONE:
                x = views[name] = take(name)
                shape = operand_shape(fields, operand)
                if _longer(x.shape) == _longer(shape):  # the normal form has no dimensions of size 1
                    shape = x.shape
                _check_dense(name, x, operand.type, shape)
        for name in NEW[: 2 - fields.shared] if fields.append else ():
            dim = fields.dim_qk if name == "k_new" else fields.dim_v
            rows = (1, fields.tokens_q) if fields.append_packed else (fields.batch, fields.append)
            shape = (*rows, fields.heads_kv, dim)
            views[name] = take(name)
            self._check(name, views[name], shape, getattr(fields, name))
        for array in fields.arrays:
            name = array.name.decode()
            if not name:
                break
            arrays.append(take(name, "an array "))
            _check_dense(name, arrays[-1], array.type, tuple(array.size[: array.rank]))
        for name in rest:
            raise InvalidError(f"operands: the problem has no {name}; leave it out")
        return arrays

    def _check_devices(self, views: List[Tuple[str, View]]) -> None:
        for name, x in views:
            if (x.device == "cpu") == self._cuda:
                raise InvalidError(
                    f"{name}: it is on {x.device}, the plan on {self.context.device}; move it, or "
                    "make a plan in a context of its device"
                )
