"""Counts of this process's calls, by problem and kernel, and of calls that fell back to torch."""

from __future__ import annotations

import sys
from typing import Any, Dict, Hashable, List, NamedTuple, Optional, Tuple

from ._lock import Lock


class Row(NamedTuple):
    """Calls of one kind."""

    calls: int
    problem: str  # the spec; for calls that fell back, their tensors and options
    kernel: Optional[str]  # with its config; None: torch computed it
    reason: Optional[str]  # for falling back; None: heed computed it


class Report(List[Row]):
    """Rows, the most frequent first; str() makes a table."""

    def __str__(self) -> str:
        if not self:
            return "no calls yet"
        lines = []
        for row in self:
            lines.append(f"{row.calls:9d}  {row.problem}")
            reason = f": {row.reason}" if row.reason else ""
            lines.append(f"{'':9}    {row.kernel or 'torch'}{reason}")
        return "\n".join(lines)


class Record:
    """The counter of one problem and kernel, without the calls that C repeats and counts."""

    __slots__ = ("count", "problem", "kernel")

    def __init__(self, problem: str, kernel: str) -> None:
        self.count, self.problem, self.kernel = 0, problem, kernel


def _count(call: Any) -> int:
    found: int = sys.modules[f"{__package__}._again"].module.count(call)
    return found


_lock = Lock()
_KINDS_MAX = 1000  # rows of heed, and rows of torch; further kinds are counted together
_OTHERS = "others"
_records: Dict[Tuple[str, str], Record] = {}
_counters: List[Tuple[Record, Any]] = []  # C's calls whose counts are not in a record yet
_fallen: Dict[Tuple[Hashable, str], int] = {}  # by description and reason


def record_of(problem: str, kernel: str) -> Record:
    """The record, made on first use."""
    found = _records.get((problem, kernel))
    if found is None:
        with _lock:
            if len(_records) >= _KINDS_MAX and (problem, kernel) not in _records:
                problem, kernel = _OTHERS, "several kernels"
            found = _records.setdefault((problem, kernel), Record(problem, kernel))
    return found


def watch(record: Record, call: Any) -> None:
    """Add the calls that C counts to the record."""
    with _lock:
        _counters.append((record, call))


def settle(calls: List[Any]) -> None:
    """Count calls of C that will not be repeated again."""
    gone = {id(call) for call in calls}
    with _lock:
        for record, call in _counters:
            if id(call) in gone:
                record.count += _count(call)
        _counters[:] = [pair for pair in _counters if id(pair[1]) not in gone]


def fell_back(problem: Hashable, reason: str) -> None:
    """Count a call that torch computes. str(problem) describes it."""
    with _lock:
        if len(_fallen) >= _KINDS_MAX and (problem, reason) not in _fallen:
            problem, reason = _OTHERS, "several reasons"
        _fallen[problem, reason] = _fallen.get((problem, reason), 0) + 1


def report() -> Report:
    """All rows."""
    with _lock:
        counts = {key: record.count for key, record in _records.items()}
        for record, call in _counters:
            counts[record.problem, record.kernel] += _count(call)
        rows = [Row(count, *key, None) for key, count in counts.items() if count]
        for (problem, reason), count in _fallen.items():
            rows.append(Row(count, str(problem), None, reason))
    return Report(sorted(rows, key=lambda row: -row.calls))


def clear() -> None:
    """Forget all counts."""
    with _lock:
        for record in _records.values():
            record.count = 0
        for record, call in _counters:
            record.count -= _count(call)
        _fallen.clear()
