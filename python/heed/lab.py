"""The laboratory from Python: runs verbs of the program heed and returns their results as records.

>>> import heed.lab
>>> rows = heed.lab.bench("b1 h2 s64 d32 f32", seconds=0.1, peers="none")
>>> rows[0]["kernel"], rows[0]["p50"]

Each function runs the program with its keyword arguments as options (`effort="measure"` is --effort
measure, `cold=True` is --cold, a list repeats an option). It returns a list of flat dicts, which
pandas.DataFrame() accepts. `heed VERB --help` lists the options; the list's `document` is the whole
output. docs/command-line.md is a tour.

The program is HEED_PROGRAM, or that of the build folder with libheed, or the first on PATH. It is not
part of the wheel: `make` builds it.
"""

from __future__ import annotations

import json
import numbers
import os
import shutil
import subprocess
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Type, Union

from . import _library, _values
from ._errors import (
    CorruptError,
    HeedError,
    InvalidError,
    SystemCallError,
    UnsupportedError,
    type_error,
)
from ._problem import Problem

__all__ = ["Records", "bench", "board", "plan", "program", "run", "tune", "verify"]

#: A problem, as text or as a heed.Problem, or several.
Problems = Union[str, Problem, Iterable[Union[str, Problem]]]

_ERRORS: Mapping[str, Type[HeedError]] = {
    "usage": InvalidError,
    "unsupported": UnsupportedError,
    "corrupt": CorruptError,
    "environment": SystemCallError,
    "open": SystemCallError,
}


class Records(List[Dict[str, Any]]):
    """Flat dicts with the same keys, and the output that they come from."""

    #: The program's complete JSON output.
    document: Dict[str, Any]
    #: Its exit status: 0, or 5 if a kernel is wrong.
    status: int

    def __init__(self, rows: Iterable[Dict[str, Any]], document: Dict[str, Any], status: int) -> None:
        super().__init__(rows)
        self.document, self.status = document, status


def program() -> str:
    """The path of the program.

    Raises:
        SystemCallError: it was not found.
    """
    named = os.environ.get("HEED_PROGRAM")
    built = os.path.join(os.path.dirname(os.path.abspath(_library.PATH)), "..", "cli", "heed")
    for path in (named,) if named else (built, shutil.which("heed")):
        if path and os.access(path, os.X_OK) and not os.path.isdir(path):
            return os.path.normpath(path)
    raise SystemCallError(
        f"HEED_PROGRAM: {named} cannot be run"
        if named
        else "the program heed was not found; build it with make and put it on PATH, or name it in "
        "HEED_PROGRAM"
    )


def _word(name: str, value: Any) -> str:
    """A word of the command line."""
    return _values.text(name, value).decode()


def _option(name: str, value: Any) -> List[str]:
    """The command-line words of one option; none for None and False."""
    flag = "--" + _word("option", name).replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    if isinstance(value, (list, tuple)):
        return [word for each in value for word in _option(name, each)]
    if isinstance(value, (str, numbers.Real)):
        return [flag, _word(name, str(value))]
    if isinstance(value, os.PathLike):
        return [flag, os.fsdecode(_values.path(value))]
    remedy = "pass a str, a number, a bool, a path or a list of them"
    raise type_error(name, value, "an option's value", remedy)


def _specs(problems: Optional[Problems]) -> List[str]:
    if problems is None:
        return []
    if isinstance(problems, (str, Problem)):
        return [_word("problems", str(problems))]
    if not isinstance(problems, Iterable):
        raise type_error("problems", problems, "a str, a heed.Problem or several of them")
    found = list(problems)
    for i, one in enumerate(found):
        if not isinstance(one, (str, Problem)):
            raise type_error(f"problems[{i}]", one, "a str or a heed.Problem")
    return [_word(f"problems[{i}]", str(one)) for i, one in enumerate(found)]


def run(
    verb: str, problems: Optional[Problems] = None, **options: Any
) -> Tuple[Dict[str, Any], int]:
    """Run `heed VERB --json` and return its JSON and exit status.

    Args:
        verb: a verb of `heed --help`, such as "roofline".
        problems: specs, passed after the options.
        options: those of the verb, with _ for -.

    Raises:
        InvalidError, UnsupportedError, CorruptError, SystemCallError: with the program's message.
    """
    words = [program(), _word("verb", verb), "--json"]
    for name, value in options.items():
        words += _option(name, value)
    specs = _specs(problems)
    if specs:
        words += ["--", *specs]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:  # such as an argument list that is too long
        raise SystemCallError(f"{words[0]} {verb}: {error.strerror}") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or "schema" not in answer:
        raise SystemCallError(
            f"heed {verb}: exit status {done.returncode}, and no JSON: {done.stderr.strip()}"
        )
    if answer.get("schema") == "heed.error/1":
        kind = _ERRORS.get(answer["kind"], HeedError)
        raise kind("\n".join(answer["errors"]) or f"heed {verb}: exit status {done.returncode}")
    return answer, done.returncode


def _bench_rows(document: Dict[str, Any]) -> Iterable[Dict[str, Any]]:
    for row in document["rows"]:
        common = {"problem": row["problem"], "device": document["device"]}
        seconds = row["seconds"] or {}
        yield {
            **common,
            "side": "heed",
            "kernel": row["kernel"],
            "outcome": row["outcome"],
            "reason": row["reason"],
            "p50": seconds.get("p50"),
            "p90": seconds.get("p90"),
            "flops_per_second": row["flops_per_second"],
            "of_roofline": row["of_roofline"],
            "ratio": None,
            "low": None,
            "high": None,
            "verdict": None,
        }
        for rival in row["rivals"]:
            p50, compared = rival["seconds"], rival["comparison"] or {}
            yield {
                **common,
                "side": rival["name"],
                "kernel": None,
                "outcome": rival["outcome"],
                "reason": rival["reason"],
                "p50": p50,
                "p90": None,
                "flops_per_second": row["flops"] / p50 if p50 and row["flops"] else None,
                "of_roofline": None,
                "ratio": compared.get("ratio"),
                "low": compared.get("low"),
                "high": compared.get("high"),
                "verdict": compared.get("verdict"),
            }


def bench(problems: Optional[Problems] = None, **options: Any) -> Records:
    """Time heed and its rivals: a record for heed and for each rival on each problem.

    Keys: problem, device, side ("heed" or the rival's name), kernel, outcome, reason, p50 and p90
    in seconds, flops_per_second, of_roofline; and for a rival: ratio, its time over heed's, the 99 %
    confidence interval from low to high, and verdict.

    Args:
        problems: specs; or pass lists as `shapes=`.
        options: those of `heed bench`: kernel, against, source, effort, peers, seconds, margin, cold,
            replay, seed, device, threads, cpu, wisdom and more.

    Raises:
        as run().
    """
    document, status = run("bench", problems, **options)
    return Records(_bench_rows(document), document, status)


def _tune_row(document: Dict[str, Any], shape: Dict[str, Any]) -> Dict[str, Any]:
    before, after = shape["before"] or {}, shape["after"] or {}
    return {
        "problem": shape["problem"],
        "device": document["device"],
        **{key: shape[key] for key in ("champion", "best", "improved", "why", "gates", "launched")},
        "before_p50": before.get("p50"),
        "after_p50": after.get("p50"),
        **{key: shape[key] for key in ("best_seconds", "champion_seconds", "wisdom")},
    }


def tune(problems: Optional[Problems] = None, **options: Any) -> Records:
    """Search, prove and rank kernels: a record for each problem.

    Keys: problem, device, champion (heed's kernel before), best (the best kernel found), improved, why
    and gates (texts), launched (number of configs timed), before_p50 and after_p50, best_seconds and
    champion_seconds (of the duel), wisdom (whether a line was saved).

    Args:
        problems: specs; None: the list "seed".
        options: those of `heed tune`: seconds, trials, space, peers, cold, seed, board, wisdom, device,
            threads and more.

    Raises:
        as run().
    """
    document, status = run("tune", problems, **options)
    rows = (_tune_row(document, shape) for shape in document["shapes"])
    return Records(rows, document, status)


def verify(problems: Optional[Problems] = None, **options: Any) -> Records:
    """Verify kernels: a record for each kernel and level of CPU features.

    Keys: kernel, cpu, passed, failed and skipped (cases), worst_error and worst_lse in units of the
    type's error. document["failures"] has a line for each failed case, with how to repeat it.

    Args:
        problems: specs; or pass lists as `shapes=`.
        options: those of `heed verify`: kernel, source, configs, inputs, gate, seed, jobs, quick,
            device and more.

    Raises:
        as run(). A wrong kernel raises nothing; the status is then 5.
    """
    document, status = run("verify", problems, **options)
    return Records(document["kernels"], document, status)


def board(**options: Any) -> Records:
    """The leaderboard: a record for each ranked trial, with its columns as keys.

    Args:
        options: those of `heed board`: board, problem, device, against, ranking, history, all.

    Raises:
        as run().
    """
    document, status = run("board", **options)
    return Records(document["rows"], document, status)


def plan(problems: Problems, **options: Any) -> Records:
    """Explain plans: a record for each kernel considered for each problem.

    Keys: problem, kernel (with its config), chosen, predicted_seconds, measured_seconds, rejected (why
    it cannot run the problem or is not worthwhile).

    Args:
        problems: specs.
        options: those of `heed plan`: effort, wisdom, kernel, device, threads, cpu.

    Raises:
        as run().
    """
    document, status = run("plan", problems, explain=True, **options)
    for one in document["plans"]:
        if "error" in one:
            raise UnsupportedError(f"{one['problem']}: {one['error']}")
    rows = (
        {"problem": one["problem"], **candidate}
        for one in document["plans"]
        for candidate in one["candidates"]
    )
    return Records(rows, document, status)
