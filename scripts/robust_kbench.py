#!/usr/bin/env python3
"""Runs robust-kbench's filters and evaluator on heed's attention task, its solution, and five wrong or cheating ones.

    scripts/robust_kbench.py CHECKOUT [--heed FILE] [--out FOLDER] [--repetitions N] [--jobs N]
    scripts/robust_kbench.py CHECKOUT --dry-run     makes all files and lets the suite read the task; needs no GPU

CHECKOUT is an unmodified checkout of robust-kbench. The task is integrations/robust_kbench/tasks/heed_attention; heed's
solution is made by `heed suite export --form cu`, the others are integrations/robust_kbench/solutions.
robust_kbench_report.json in FOLDER has the verdicts of the suite's task filters (except those that use a language
model), the verdicts and times of the suite and of `heed suite judge` for each solution, and which of them caught it.

Missing modules for language models, and pycuda, which the suite uses only for its records, are replaced with empty
ones, which the report names.
"""

import argparse
import concurrent.futures
import datetime
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import kernelbench

ROOT = kernelbench.ROOT
HERE = ROOT / "integrations" / "robust_kbench"
FILTERS = ("filter_output_range", "filter_output_std", "filter_output_axes", "filter_input_impact")
SCHEMA = "heed.robust-kbench/1"
LOGS = ("stdout", "stderr", "nvcc_output", "cuda_fname", "file")
EMPTY = """
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (Exception,), {})
"""
STUBS = {  # module: files of its stand-in
    "openai": {"__init__.py": EMPTY},
    "anthropic": {"__init__.py": EMPTY},
    "dotmap": {"__init__.py": EMPTY},
    "dotenv": {"__init__.py": "def load_dotenv(*args, **words):\n    return None\n"},
    "google.generativeai": {"__init__.py": EMPTY, "types.py": EMPTY},
    "backoff": {"__init__.py": "expo = None\n\ndef on_exception(*args, **words):\n    return lambda f: f\n"},
    "pycuda": {
        "__init__.py": "",
        "autoinit.py": "",
        "driver.py": "class Device:\n    @staticmethod\n    def count():\n        return 0\n",
    },
}
#: For heed's judge: the extension that the suite has built and timed, or else one of the same source. This is safe only
#: because the solutions are heed's own: an untrusted one has run by then, and could have replaced the extension.
WRAPPER = """
import importlib.util
import pathlib

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load

built = pathlib.Path({built!r})
if built.exists():
    found = importlib.util.spec_from_file_location("heed_attention", built)
    kernel = importlib.util.module_from_spec(found)
    found.loader.exec_module(kernel)
else:
    kernel = load(name="heed_attention", sources=[{path!r}], extra_cuda_cflags=["-O3", "--use_fast_math"])

class ModelNew(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.causal = causal

    def forward(self, q, k, v):
        return kernel.forward(q, k, v, self.causal)
"""


# ---- In child processes ----


def run_filters(job):
    """Returns the verdicts of the suite's filters on the task: true means that they would drop it."""
    from robust_kbench.filter import forward
    from robust_kbench.kernel_task import KernelTask

    task = KernelTask(job["task"])
    answer = {"inputs": task.get_input_settings(), "init": task.get_init_settings()}
    if job["gpu"]:
        import torch

        answer["device"] = torch.cuda.get_device_name()
        answer["dropped_by"] = {name: bool(getattr(forward, name)(task, num_seeds=3)) for name in FILTERS}
    return answer


def run_correct(job):
    from robust_kbench.primitives import evaluate

    return evaluate.correct_cuda_kernel(task_dir=job["task"], cuda_code_path=job["solution"], timeout=job["timeout"],
                                        op_atol=job["atol"], op_rtol=job["atol"])


def extensions(solution):
    """Returns the build folder of the timed extension: without it all solutions would share one."""
    return pathlib.Path(solution).parent / "extensions"


def run_time(job):
    from robust_kbench.primitives import evaluate

    return evaluate.eval_cuda_kernel(task_dir=job["task"], cuda_code_path=job["solution"], timeout=job["timeout"],
                                     repetition_time=job["repetitions"], ext_dir=str(extensions(job["solution"])))


def run_build(job):
    """Builds the extension that run_time() loads, so that solutions can be built in parallel and timed one after
    another. The suite's own compile step has different flags: its timer would build again."""
    return run_time(dict(job, repetitions=1))


def run_reference(job):
    from robust_kbench.primitives import evaluate

    eager, compiled = evaluate.eval_torch_runtime(
        task_dir=job["task"], repetition_time=job["repetitions"], timeout=job["timeout"])
    return {"eager": eager, "compiled": compiled}


WORKERS = {"--filters": run_filters, "--correct": run_correct, "--build": run_build, "--time": run_time,
           "--reference": run_reference}


# ---- In the parent process ----


def make_stubs(folder):
    """Writes stubs for missing modules; returns their names."""
    made = []
    for name, files in STUBS.items():
        try:
            missing = importlib.util.find_spec(name) is None
        except ModuleNotFoundError:
            missing = True
        if not missing:
            continue
        place = folder.joinpath(*name.split("."))
        place.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (place / file).write_text(text)
        made.append(name)
    return made


def environment(args, work):
    """Returns an environment with the suite and the stubs in PYTHONPATH, and this Python as `python`, which the suite
    starts."""
    (work / "bin").mkdir(exist_ok=True)
    python = work / "bin" / "python"
    if not python.exists():  # not a symlink: a virtual environment is not found through one
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
    paths = [str(args.checkout), str(work / "stubs"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return dict(os.environ, PYTHONPATH=os.pathsep.join(paths), PATH=f"{work / 'bin'}{os.pathsep}{os.environ['PATH']}",
                TORCH_CUDA_ARCH_LIST=args.architecture)


def ask(args, work, name, **job):
    """Runs a job in a worker; returns its result, or {"failed": why}."""
    folder = pathlib.Path(job["solution"]).parent if "solution" in job else work
    job.update(task=str(work / "heed_attention"), gpu=not args.dry_run, timeout=args.timeout, atol=args.atol,
               repetitions=args.repetitions, answer=str(folder / f"answer{name}.json"))
    pathlib.Path(job["answer"]).unlink(missing_ok=True)
    try:
        done = subprocess.run([sys.executable, __file__, name, json.dumps(job)], env=environment(args, work), text=True,
                              capture_output=True, timeout=4 * args.timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"not done within {4 * args.timeout} s"}
    if done.returncode != 0 or not pathlib.Path(job["answer"]).exists():
        return {"failed": (done.stderr or done.stdout).strip()[-2000:]}
    return json.loads(pathlib.Path(job["answer"]).read_text())


def prepare(args, work):
    """Copies the task and all solutions, each into a separate folder, since the suite writes there."""
    shutil.copytree(HERE / "tasks" / "heed_attention", work / "heed_attention")
    task = work / "heed_attention" / "func_forward.py"
    code, answer = kernelbench.heed_json(args.heed, "suite", "export", "kernelbench", task, "--form", "cu", "--machine",
                                         args.machine, "--out", work)
    if code != 0:
        raise SystemExit(f"robust_kbench: heed suite export ended with {code}: {answer.get('errors')}")
    found = {"heed": pathlib.Path(answer["solutions"][0]["file"])}
    found.update({path.stem: path for path in sorted((HERE / "solutions").glob("*.cu"))})
    for name, path in found.items():
        (work / name).mkdir()
        found[name] = shutil.copy(path, work / name / "forward.cu")
        (work / "judged" / name).mkdir(parents=True)
        (work / "judged" / name / f"{name}.py").write_text(WRAPPER.format(
            path=str(found[name]), built=str(extensions(found[name]) / "heed_attention" / "heed_attention.so")))
    return found, answer["solutions"][0]


def evaluate(args, work, report, found):
    """Gets the suite's verdicts, several in parallel, and then its times, one after another."""
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        asked = {name: pool.submit(ask, args, work, "--correct", solution=str(path)) for name, path in found.items()}
        for path in found.values():
            pool.submit(ask, args, work, "--build", solution=str(path))
    for name, path in found.items():
        right = asked[name].result()
        row = report["solutions"][name]
        row["suite"] = {"correct": right} if "failed" not in right else right
        if (right.get("summary") or {}).get("correct"):
            row["suite"]["time"] = ask(args, work, "--time", solution=str(path))
        write_report(args, report)


def judge(args, work, name):
    """Returns heed's verdict on a solution."""
    command = [str(args.heed), "suite", "judge", str(work / "judged" / name), "--tasks",
               str(work / "heed_attention" / "func_forward.py"), "--device", "cuda", "--json"]
    command += ["--unsafe-candidates"] if args.unsafe else []
    variables = dict(environment(args, work), HEED_PYTHON=os.environ.get("HEED_PYTHON", sys.executable))
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=4 * args.timeout,
                              check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"not done within {4 * args.timeout} s"}
    try:
        return json.loads(done.stdout)["solutions"][0]
    except (ValueError, LookupError):
        return {"failed": done.stderr.strip()}


def judge_all(args, work, report):
    """Gets heed's verdicts, several in parallel; verdicts that may depend on a time are repeated with nothing else
    running."""
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        asked = {name: pool.submit(judge, args, work, name) for name in report["solutions"]}
    for name, row in report["solutions"].items():
        row["heed"] = asked[name].result()
        if args.jobs > 1 and row["heed"].get("judged") in ("measured", "cheats"):
            row["heed"] = judge(args, work, name)
        row["caught"] = caught(row)
        print(f"{name:16} caught by the suite: {row['caught']['suite']}, by heed: {row['caught']['heed']}", flush=True)
        write_report(args, report)


def caught(row):
    """Returns whether each side rejects a solution: the suite by its correctness, heed by its verdict. None means that
    it did not judge, for example because the build failed."""
    suite, ours = row.get("suite", {}), row.get("heed", {})
    verdict = ((suite.get("correct") or {}).get("summary") or {}).get("correct")
    judged = "judged" in ours and ours.get("verdict") != "compile"
    return {"suite": None if verdict is None else not verdict,
            "heed": ours["judged"] in ("wrong", "cheats", "measured", "failed") if judged else None}


def without_logs(value):
    """Removes compiler output and file paths."""
    if not isinstance(value, dict):
        return value
    return {name: without_logs(item) for name, item in value.items() if name not in LOGS}


def write_report(args, report):
    kernelbench.write_whole(args.out / "robust_kbench_report.json", json.dumps(without_logs(report), indent=2) + "\n")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--heed", type=pathlib.Path, default=ROOT / "build/release/cli/heed")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--machine", default="H200")
    parser.add_argument("--architecture", default="9.0a")
    parser.add_argument("--atol", type=float, default=1e-2)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--timeout", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=1, help="solutions compiled, compared and judged at a time")
    parser.add_argument("--unsafe", action="store_true", help="judge also where there is no sandbox")
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args(arguments)
    if args.jobs < 1:
        parser.error(f"--jobs is {args.jobs}; it must be 1 or more")
    if not (args.checkout / "robust_kbench" / "kernel_task.py").is_file():
        parser.error(f"{args.checkout} is not a checkout of robust-kbench: it has no robust_kbench/kernel_task.py")
    args.checkout = args.checkout.resolve()
    return args


def main():
    if sys.argv[1:2] and sys.argv[1] in WORKERS:
        job = json.loads(sys.argv[2])
        sys.path.remove(str(ROOT / "scripts"))  # its robust_kbench.py has the package's name
        pathlib.Path(job["answer"]).write_text(json.dumps(kernelbench.plain(WORKERS[sys.argv[1]](job))))
        return 0
    args = parse(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "stubs").mkdir()
        report = {"schema": SCHEMA, "suite": "robust-kbench", "suite_commit": kernelbench.commit_of(args.checkout),
                  "heed": kernelbench.version_of(args.heed), "command": kernelbench.command_of(sys.argv), "dry_run": args.dry_run,
                  "time": datetime.datetime.now(datetime.timezone.utc).isoformat(), "stubs": make_stubs(work / "stubs")}
        found, exported = prepare(args, work)
        report.update(exported=exported, task=ask(args, work, "--filters"))
        report["solutions"] = {name: {} for name in found}
        write_report(args, report)
        if not args.dry_run:
            report["reference"] = ask(args, work, "--reference")
            evaluate(args, work, report, found)
            judge_all(args, work, report)
        print(f"task: {report['task']}")
    words = {name: row["caught"] for name, row in report["solutions"].items() if "caught" in row}
    wrong = [name for name, word in words.items() if None in word.values() or (name == "heed" and any(word.values()))]
    if wrong:
        print(f"not judged, or caught though right: {', '.join(wrong)}", file=sys.stderr)
        return 1
    return 1 if "failed" in report["task"] else 0


if __name__ == "__main__":
    kernelbench.end(main)
