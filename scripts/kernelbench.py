#!/usr/bin/env python3
"""Runs KernelBench's own evaluator on solutions that heed exports, on this machine's GPU.

    scripts/kernelbench.py CHECKOUT [--heed FILE] [--out FOLDER] [--tasks 1/97,3/31,...] [--rows f32,...] [--forms ...]
    scripts/kernelbench.py CHECKOUT --dry-run        exports all solutions and checks their sources; needs no GPU

CHECKOUT is an unmodified checkout of KernelBench: eval_kernel_against_ref() judges and times a solution,
measure_ref_program_time() the suite's own model, once for each task and precision, validate_kernel_static() checks the
source, and fastp() computes the score. Each evaluation runs in a separate process. kernelbench_report.json in FOLDER
has their results, heed's own measurement of the attention in the task (`heed bench --cold`), and the source of the
difference. Evaluations that are already in the report are kept, and completed where they lack a figure, so that a run
can be resumed; --again repeats them.

Rows are ways to multiply float32 tensors, each with its label:

    f32          the suite's fp32; products in float32
    f32-tf32, f32-bf16x3
                 the suite's fp32; products of operands that may be rounded to TF32, or split into two bfloat16;
                 tensors, sums and softmax in float32
    f32-f16      the suite's fp32; inputs and outputs of attention rounded to float16. The suite's tolerance of 1e-4 is
                 meant for float32; a note in the report says so
    f16, bf16    the suite's fp16 and bf16, which round its reference too, with a tolerance of 1e-2

The evaluator imports torch, numpy, requests, pydantic and tqdm. Missing modules for language models (openai, litellm,
dotenv, modal) are replaced with empty ones, which the report names.
"""

import argparse
import datetime
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
TASKS = "1/97,3/31,3/43,3/44"
ROWS = {  # label: (the suite's precision, heed's --products, words of heed's own measurement)
    "f32": ("fp32", "f32", "f32"),
    "f32-tf32": ("fp32", "tf32", "f32 products=tf32"),
    "f32-bf16x3": ("fp32", "bf16x3", "f32 products=bf16x3"),
    "f32-f16": ("fp32", "f16", "f16"),
    "f16": ("fp16", "f16", "f16"),
    "bf16": ("bf16", "bf16", "bf16"),
}
FORMS = ("kernel", "library")
STUBS = ("openai", "litellm", "dotenv", "modal")
ARCHITECTURES = {7: "Turing", 8: "Ampere", 9: "Hopper", 10: "Blackwell", 12: "Blackwell"}
TARGETS = (0.0, 1.0, 1.5, 2.0)
SCHEMA = "heed.kernelbench/2"


# ---- In the process of an evaluation ----


def nothing(name):
    """Stands in for any member of an empty module."""
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *args, **words: None


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds empty modules in place of missing ones; their members do nothing."""

    def __init__(self):
        self.made = []

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in STUBS:
            return None
        self.made.append(name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = nothing
        return module

    def exec_module(self, module):
        pass


def open_suite(checkout):
    """Makes the suite's package importable; returns the finder, which has the names of the stubs."""
    stubs = Stubs()
    sys.meta_path.append(stubs)
    sys.path[0] = str(checkout / "src")  # in place of this folder, whose kernelbench.py has the package's name
    return stubs


def plain(value):
    """Returns a value in a form that JSON supports."""
    try:
        json.dumps(value)
        return value
    except (TypeError, ValueError):
        return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else str(value)


def check_source(checkout, text, precision):
    """Loads the suite's source check, a file without dependencies."""
    path = checkout / "src" / "kernelbench" / "kernel_static_checker.py"
    spec = importlib.util.spec_from_file_location("kernel_static_checker", path)
    checker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(checker)
    valid, errors, warnings = checker.validate_kernel_static(text, backend="cuda", precision=precision)
    return {"accepted": valid, "errors": errors, "warnings": warnings}


def open_device():
    """Returns the GPU, and passes its architecture to the suite."""
    import torch
    from kernelbench import utils

    device = torch.device("cuda:0")
    utils.set_gpu_arch([ARCHITECTURES[torch.cuda.get_device_capability(device)[0]]])
    return device


def evaluate(job):
    """Runs one evaluation; the result goes to the file job["answer"]."""
    checkout = pathlib.Path(job["checkout"])
    stubs = open_suite(checkout)
    reference, solution = (pathlib.Path(job[name]).read_text() for name in ("task", "solution"))
    answer = {"static_check": check_source(checkout, solution, job["precision"]), "stubs": stubs.made}
    if job["gpu"]:
        import torch
        from kernelbench import eval as suite_eval

        device = open_device()
        result = suite_eval.eval_kernel_against_ref(
            reference, solution, num_correct_trials=job["correct_trials"], num_perf_trials=job["trials"],
            measure_performance=True, timing_method="cuda_event", build_dir=job["build"], device=device,
            backend="cuda", precision=suite_eval.get_torch_dtype_from_string(job["precision"]))
        answer["result"] = plain(result.model_dump()) if result is not None else None
        answer["versions"] = {"torch": torch.__version__, "cuda": torch.version.cuda,
                              "device": torch.cuda.get_device_name(device)}
    pathlib.Path(job["answer"]).write_text(json.dumps(answer))


def time_reference(job):
    """Measures the time of the suite's own model, eager and compiled."""
    open_suite(pathlib.Path(job["checkout"]))
    from kernelbench import timing

    words = {"ref_arch_name": "reference", "ref_arch_src": pathlib.Path(job["task"]).read_text(),
             "num_trials": job["trials"], "device": open_device(), "precision": job["precision"]}
    answer = {"eager": plain(timing.measure_ref_program_time(**words))}
    if job["compiled"]:
        answer["compiled"] = plain(timing.measure_ref_program_time(use_torch_compile=True, **words))
    pathlib.Path(job["answer"]).write_text(json.dumps(answer))


def build(job):
    """Compiles a solution like the evaluator, so that several can be compiled in parallel."""
    os.environ["TORCH_EXTENSIONS_DIR"] = job["build"]
    os.environ["TORCH_CUDA_ARCH_LIST"] = job["architecture"]
    exec(compile(pathlib.Path(job["solution"]).read_text(), job["solution"], "exec"), {})


def find_device(job):
    import torch

    if not torch.cuda.is_available():
        raise SystemExit("PyTorch finds no GPU; --dry-run needs none")


WORKERS = {"--evaluate": evaluate, "--reference": time_reference, "--build": build, "--device": find_device}


# ---- In the parent process ----


def run_job(job, name, seconds):
    """Starts a job in a separate process; returns it and the seconds after which finish() kills it."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(
        [str(ROOT / "python"), *filter(None, [os.environ.get("PYTHONPATH")])]))
    if job.get("library"):
        environment["HEED_LIBRARY"] = job["library"]
    command = [sys.executable, __file__, name, json.dumps(job)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", start_new_session=True), seconds


def stop(process):
    """Ends a job that is still running: it is in a session of its own, which Ctrl-C does not reach."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
        process.communicate()


def finish(process, seconds):
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"not done within {seconds} s"
    finally:
        stop(process)
    return None if process.returncode == 0 else f"ended with {process.returncode}: {said.strip()[-2000:]}"


def heed_json(heed, *words):
    done = subprocess.run([str(heed), *map(str, words), "--json"], capture_output=True, text=True, check=False)
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, {"errors": [done.stderr.strip()]}


def write_whole(path, text):
    """Replaces a file, so that an interrupted run leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    new.replace(path)


def find_task(checkout, name):
    level, _, number = name.partition("/")
    if not (level.isdigit() and number.isdigit()):
        raise SystemExit(f"kernelbench: --tasks: {name!r} is not LEVEL/NUMBER, such as 3/43")
    found = sorted((checkout / "KernelBench" / f"level{level}").glob(f"{number}_*.py"))
    if len(found) != 1:
        raise SystemExit(f"kernelbench: {checkout} has {len(found)} tasks of level {level} with the number {number}")
    return found[0]


def commit_of(folder):
    """Returns the commit of a checkout, with "+" if tracked files differ from it; None for any other folder, even one
    inside another project's checkout."""
    done = subprocess.run(["git", "-C", str(folder), "rev-parse", "--show-toplevel", "HEAD"], capture_output=True, text=True,
                          check=False)
    top, commit = (done.stdout.split("\n") + ["", ""])[:2]
    if not top or pathlib.Path(top).resolve() != pathlib.Path(folder).resolve():
        return None
    changed = subprocess.run(["git", "-C", str(folder), "diff", "--quiet", "HEAD"], capture_output=True, check=False)
    return commit + ("+" if changed.returncode else "")


def version_of(heed):
    """Returns the program's version and commit, from `heed doctor`."""
    _, answer = heed_json(heed, "doctor")
    found = [one["text"] for one in answer.get("findings", []) if one.get("check") == "heed"]
    return found[0] if found else None


def version_beside(library):
    """Returns version_of() the program that was built or installed with @library, or else that of HEED_LIBRARY; None if
    it is not known."""
    library = library or os.environ.get("HEED_LIBRARY")
    if not library:
        return None
    folder = pathlib.Path(library).resolve().parent.parent
    programs = [folder / name / "heed" for name in ("cli", "bin") if (folder / name / "heed").is_file()]
    return version_of(programs[0]) if programs else None


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


def command_of(arguments):
    """Returns a command for a report, with only the last part of absolute paths."""
    return " ".join(pathlib.Path(a).name if a.startswith("/") else a for a in map(str, arguments))


def own_measurement(args, spec, kind, made):
    """Runs heed bench on the attention alone: median seconds of heed and of the fastest rival, None if unknown. @made
    caches results by problem."""
    problem = " ".join(w if w not in ("f32", "f16", "bf16") else kind for w in spec.split())
    if problem not in made:
        rivals = args.peers if kind.split()[0] != "f32" or args.peers == "none" else "torch-efficient,torch-math"
        code, answer = heed_json(args.heed, "bench", "--device", "cuda", "--cold", "--peers", rivals, "--seconds",
                                 args.seconds, problem)
        made[problem] = {"problem": problem, "exit": code, "bench": answer}
    return made[problem]


def is_compared(args, entry):
    """Returns whether an entry has heed's own measurement, with rivals if they are asked for."""
    own = entry.get("own", {})
    rows = own.get("bench", {}).get("rows")
    return own.get("exit") == 0 and bool(rows) and (args.peers == "none" or all(row.get("rivals") for row in rows))


def seconds_of(own):
    """Returns the median of heed's calls in a result of heed bench."""
    rows = [r for r in own.get("bench", {}).get("rows", []) if r.get("outcome") == "ok"]
    return rows[0]["seconds"]["p50"] if rows else None


def add_difference(entry, task):
    """Returns the parts of a solution's time in milliseconds: attention by heed's own clock, and the rest."""
    result, own = entry.get("result") or {}, seconds_of(entry.get("own", {}))
    if not result.get("correctness") or result.get("runtime", -1) <= 0:
        return
    reference = (entry.get("eager") or {}).get("mean")
    layers = sum(one["layers"] for one in task["attention"])
    parts = {"solution_ms": result["runtime"], "reference_ms": reference, "attention_share": task["attention_share"]}
    if own:
        parts["attention_ms"] = own * layers * 1e3
        parts["rest_ms"] = result["runtime"] - parts["attention_ms"]
    if reference:
        entry["speedup_eager"] = reference / result["runtime"]
    if (entry.get("compiled") or {}).get("mean"):
        entry["speedup_compiled"] = entry["compiled"]["mean"] / result["runtime"]
    entry["difference"] = parts


def scores(checkout, entries):
    """Returns the suite's fast_p of each row and form, over the tasks whose model was timed in that way."""
    open_suite(checkout)
    import numpy
    from kernelbench.score import fastp

    made, entries = {}, [e for e in entries if "result" in e]
    for row, form in sorted({(e["row"], e["form"]) for e in entries}):
        for which in ("eager", "compiled"):
            mine = [e for e in entries if (e["row"], e["form"]) == (row, form) and (e.get(which) or {}).get("mean")]
            if not mine:
                continue  # the suite's model was not timed this way
            right = numpy.array([bool((e["result"] or {}).get("correctness")) for e in mine])
            actual = numpy.array([max((e["result"] or {}).get("runtime", -1.0), 1e-9) for e in mine])
            base = numpy.array([e[which]["mean"] for e in mine])
            score = {str(p): float(fastp(right, base, actual, len(mine), p)) for p in TARGETS}
            made.setdefault(f"{row}/{form}", {})[which] = {"tasks": [e["task"] for e in mine], **score}
    return made


def prepare(args, work):
    """Exports the solutions; returns one entry for each, with the paths of its files."""
    entries = []
    for name in args.tasks.split(","):
        path = find_task(args.checkout, name)
        code, answer = heed_json(args.heed, "suite", "import", "kernelbench", path.parent, "--any-version")
        number = int(name.split("/")[1])
        task = next((t for t in answer.get("tasks", []) if t["problem"] == number), None)
        if task is None:
            raise SystemExit(f"kernelbench: heed suite import ended with {code}: {answer.get('errors')}")
        for row in args.rows.split(","):
            for form in args.forms.split(","):
                entries.append(export(args, work, name, path, task, row, form))
    return entries


def export(args, work, name, path, task, row, form):
    precision, products, _ = ROWS[row]
    folder = work / row
    entry = {"task": name, "file": path.name, "row": row, "form": form, "precision": precision, "products": products}
    words = ["suite", "export", "kernelbench", path, "--products", products, "--form", form, "--out", folder]
    code, answer = heed_json(args.heed, *words, "--machine", args.machine)
    entry["_task"], entry["_path"] = task, str(path)
    if code != 0:
        entry["refused"] = " ".join(answer.get("errors", [f"heed ended with {code}"]))
        return entry
    solution = answer["solutions"][0]
    entry.update(kernel=solution["kernel"], problem=solution["problem"], _solution=solution["file"])
    entry["_build"] = str(work / "build" / f"{name.replace('/', '_')}_{row}_{form}")
    return entry


def job_of(args, entry, work):
    pathlib.Path(entry["_build"]).mkdir(parents=True, exist_ok=True)
    return {"checkout": str(args.checkout), "task": entry["_path"], "solution": entry["_solution"],
            "precision": entry["precision"], "build": entry["_build"], "gpu": not args.dry_run,
            "trials": args.trials, "correct_trials": args.correct_trials, "compiled": args.compiled,
            "answer": str(work / "answer.json"), "library": str(args.library) if args.library else "",
            "architecture": args.architecture}


def build_all(args, entries, work):
    """Compiles the kernels, several at a time."""
    todo = [e for e in entries if e["form"] == "kernel" and "_solution" in e and "result" not in e]
    for i in range(0, len(todo), args.jobs):
        running = [run_job(job_of(args, e, work), "--build", args.timeout) for e in todo[i : i + args.jobs]]
        try:
            for entry, (process, seconds) in zip(todo[i : i + args.jobs], running):
                failed = finish(process, seconds)
                if failed:
                    print(f"{entry['task']} {entry['row']}: not compiled: {failed}", file=sys.stderr)
        finally:
            for process, _ in running:
                stop(process)


def ask(args, entry, work, name):
    """Returns the result of a job in a separate process, or {"failed": why}."""
    job = job_of(args, entry, work)
    pathlib.Path(job["answer"]).unlink(missing_ok=True)
    failed = finish(*run_job(job, name, args.timeout))
    return {"failed": failed} if failed else json.loads(pathlib.Path(job["answer"]).read_text())


def measure(args, entry, work, made, references):
    """Adds the figures that an entry lacks. @made caches heed's own figures by problem, @references the suite's figures
    of its model by task and precision."""
    if "result" not in entry:
        entry.update(ask(args, entry, work, "--evaluate"), time=now())
    if args.dry_run or "failed" in entry:
        return
    key = entry["task"], entry["precision"]
    if not references.get(key, {}).keys() >= args.references:
        references[key] = ask(args, entry, work, "--reference")
    entry.update({name: value for name, value in references[key].items() if name not in entry})
    if "failed" in entry:
        return
    if not is_compared(args, entry):
        entry["own"] = own_measurement(args, entry["_task"]["attention"][0]["problem"], ROWS[entry["row"]][2], made)
    add_difference(entry, entry["_task"])


def say(entry):
    words = f"{entry['task']:>5} {entry['row']:8} {entry['form']:8}"
    if "refused" in entry:
        return f"{words} refused: {entry['refused']}"
    if "failed" in entry:
        return f"{words} failed: {entry['failed'].splitlines()[-1]}"
    check = entry["static_check"]
    words += f" source {'accepted' if check['accepted'] else 'not accepted: ' + '; '.join(check['errors'])}"
    result = entry.get("result")
    if result:
        words += f", {'right' if result['correctness'] else 'WRONG'}, {result['runtime']} ms"
        for key, name in (("speedup_eager", "eager"), ("speedup_compiled", "torch.compile")):
            words += f", {entry[key]:.2f}x {name}" if key in entry else ""
    return words


def brief(own):
    """Returns heed's own measurement without its samples."""
    bench = own.get("bench")
    if not bench or "rows" not in bench:
        return own
    kept = {key: bench[key] for key in ("device", "environment", "rows") if key in bench}
    kept["rows"] = [{key: row.get(key) for key in ("problem", "kernel", "outcome", "seconds", "flops_per_second")} |
                    {"rivals": [{key: rival.get(key) for key in ("name", "outcome", "method", "seconds", "comparison")}
                                for rival in row.get("rivals") or []]} for row in bench["rows"]]
    return {**own, "bench": kept}


def public(entry, measured):
    """Returns what the report says of an entry. Appends heed's own measurement to @measured, once for all entries that
    share it, and puts its index in place of it."""
    shown = {key: value for key, value in entry.items() if not key.startswith("_")}
    if "own" in shown:
        own = brief(shown["own"])
        if own not in measured:
            measured.append(own)
        shown["own"] = measured.index(own)
    return shown


def write_report(args, entries):
    measured = []
    evaluations = [public(entry, measured) for entry in entries]
    report = {
        "schema": SCHEMA, "suite": "KernelBench", "suite_commit": commit_of(args.checkout),
        "heed": version_of(args.heed), "time": now(),
        "command": command_of(sys.argv), "dry_run": args.dry_run,
        "notes": [
            "Library solutions have no kernel in the file: the suite's check of sources refuses them, and was off.",
            "float16 products pass or fail the suite's fp32 tolerance, 1e-4, by the values of its inputs, which are "
            "uniform: attention is then nearly a mean of V. That a row of them passes says nothing of their error.",
            "The suite times the whole model with a cold L2, outputs allocated in the call: linear maps, norms, casts of "
            "float32 tensors and copies are in rest_ms, which attention cannot make shorter. heed's own figure is of "
            "attention alone, in 16 bits where the row says so, with outputs that exist."],
        "fast_p": {} if args.dry_run else scores(args.checkout, entries),
        "own": measured, "evaluations": evaluations}
    write_whole(args.out / "kernelbench_report.json", json.dumps(report, separators=(",", ":")) + "\n")


def known(args):
    """Returns the evaluations of an earlier run, by task, row and form."""
    path = args.out / "kernelbench_report.json"
    if args.again or args.dry_run or not path.exists():
        return {}
    try:
        report = json.loads(path.read_text())
    except ValueError as error:
        raise SystemExit(f"kernelbench: {path} is not JSON: {error}; --again replaces it") from None
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise SystemExit(f"kernelbench: {path} is not a report of this script")
    done = [e for e in report["evaluations"] if "result" in e and "failed" not in e]
    for entry in done:
        entry.setdefault("time", report["time"])
        if "own" in entry:
            entry["own"] = report["own"][entry["own"]]
    return {(e["task"], e["row"], e["form"]): e for e in done}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--heed", type=pathlib.Path, default=ROOT / "build/release/cli/heed")
    parser.add_argument("--library", type=pathlib.Path, help="libheed.so for the library rows [default: beside --heed]")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--work", type=pathlib.Path, help="a folder for solutions and builds, kept [default: none]")
    parser.add_argument("--tasks", default=TASKS)
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--machine", default="H200")
    parser.add_argument("--architecture", default="9.0")
    parser.add_argument("--peers", default="torch-flash,torch-efficient,torch-cudnn")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--correct-trials", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="of heed's own measurement, for each side")
    parser.add_argument("--timeout", type=float, default=400)
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    parser.add_argument("--no-compiled", dest="compiled", action="store_false", help="leave torch.compile out")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args(arguments)
    for option, given, there in (("--rows", args.rows, ROWS), ("--forms", args.forms, FORMS)):
        unknown = [name for name in given.split(",") if name not in there]
        if unknown:
            parser.error(f"{option}: {unknown[0]!r} is not one of {', '.join(there)}")
    if not (args.checkout / "src" / "kernelbench" / "eval.py").is_file():
        parser.error(f"{args.checkout} is not a checkout of KernelBench: it has no src/kernelbench/eval.py")
    if not args.heed.is_file():
        parser.error(f"--heed: {args.heed} is not there: build it, or name another")
    for option, given in (("--jobs", args.jobs), ("--trials", args.trials), ("--correct-trials", args.correct_trials),
                          ("--seconds", args.seconds), ("--timeout", args.timeout)):
        if not given > 0:
            parser.error(f"{option}: {given} is not more than 0")
    args.references = {"eager", "compiled"} if args.compiled else {"eager"}
    args.checkout = args.checkout.resolve()
    beside = args.heed.resolve().parent.parent / "src" / "libheed.so"
    args.library = args.library or (beside if beside.exists() else None)
    return args


def main():
    if sys.argv[1:2] and sys.argv[1] in WORKERS:
        return WORKERS[sys.argv[1]](json.loads(sys.argv[2]))
    args = parse(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        work = (args.work or pathlib.Path(folder)).resolve()
        done = known(args)
        entries = prepare(args, work)
        for entry in entries:
            entry.update(done.pop((entry["task"], entry["row"], entry["form"]), {}))
        others = list(done.values())
        made = {e["own"]["problem"]: e["own"] for e in others + entries if is_compared(args, e)}
        references = {(e["task"], e["precision"]): {name: e[name] for name in ("eager", "compiled") if name in e}
                      for e in others + entries if "eager" in e}
        if not args.dry_run:
            failed = finish(*run_job({}, "--device", args.timeout))
            if failed:
                raise SystemExit(f"kernelbench: {failed.splitlines()[-1]}")
            build_all(args, entries, work)
        for entry in entries:
            if "_solution" in entry:
                measure(args, entry, work, made, references)
                write_report(args, others + entries)
            print(say(entry), flush=True)
        write_report(args, others + entries)
    return 1 if any("failed" in e for e in entries) else 0


def end(main):
    """Ends the script with main()'s status; after Ctrl-C with that of a shell, without a traceback."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print(f"{pathlib.Path(sys.argv[0]).stem}: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    end(main)
