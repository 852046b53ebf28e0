#!/usr/bin/env python3
"""Writes heed's solutions for flashinfer-bench's definitions of attention, and runs its evaluator, unmodified.

    scripts/flashinfer_bench.py DATASET [--out FOLDER] [--definitions NAME ...]        writes the solutions
    scripts/flashinfer_bench.py DATASET --dry-run          and compares them with the definitions, without a GPU
    scripts/flashinfer_bench.py DATASET --run [--workloads made] [--beside AUTHOR] [-- the evaluator's own options]

DATASET is a folder in the suite's format, with definitions/ and, to run, workloads/ and blob/, or a checkout with such
a folder in flashinfer_trace/. It is not changed: FOLDER becomes a separate dataset, with links to these folders, heed's
solutions, and the traces that the evaluator writes. All solutions contain
integrations/flashinfer_bench/heed_solution.py, which calls heed's Python package; the script passes its path and
libheed's to their processes.

--workloads made replaces the dataset's workloads with generated ones, for datasets without blobs: lengths drawn from a
seed, pages in random order. --beside copies the solutions of an author, such as baseline, from the dataset. --dry-run
and --run need flashinfer-bench (tested with 0.1.2) in the Python that runs this. --run prints a row for each workload
and writes flashinfer_bench_report.json; the exit status is 1 if a workload failed.
"""

import argparse
import array
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import kernelbench

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "integrations" / "flashinfer_bench" / "heed_solution.py"
SCHEMA = "heed.flashinfer-bench/1"
AUTHOR = "heed"
CLI = "from flashinfer_bench.cli.main import cli; cli()"  # the command flashinfer-bench
MARK = ".made-by-heed"  # a file in folders made by this script, which it may empty

# ---- Definitions ----

# The inputs of each known form of definition, and its entry point in SOURCE.
FORMS = {
    "q k_cache v_cache kv_indptr kv_indices sm_scale": "gqa_paged_decode",
    "q k_cache v_cache kv_indptr kv_indices kv_last_page_len sm_scale": "gqa_paged_decode_last",
    "q k_cache v_cache qo_indptr kv_indptr kv_indices sm_scale": "gqa_paged_prefill",
    "q k_cache v_cache qo_indptr kv_indptr kv_indices kv_last_page_len sm_scale": "gqa_paged_prefill_last",
    "q k v qo_indptr kv_indptr sm_scale": "ragged_prefill",
    "q_nope q_pe ckv_cache kpe_cache kv_indptr kv_indices sm_scale": "mla_paged_decode",
    "q_nope q_pe ckv_cache kpe_cache kv_indptr kv_indices kv_last_page_len sm_scale": "mla_paged_decode_last",
    "q_nope q_pe ckv_cache kpe_cache qo_indptr kv_indptr kv_indices sm_scale": "mla_paged_prefill",
    "q_nope q_pe ckv_cache kpe_cache qo_indptr kv_indptr kv_indices kv_last_page_len sm_scale": "mla_paged_prefill_last",
}
# Axes of each tensor by their names; "*" may have any.
HEADS, KV_HEADS, PAGE, CKV, KPE = "num_qo_heads", "num_kv_heads", "page_size", "head_dim_ckv", "head_dim_kpe"
DIM_QK, DIM_V = ("head_dim", "qk_dim"), ("head_dim", "vo_dim", CKV)
LAYOUTS = {
    "q": ("*", HEADS, DIM_QK),
    "k": ("*", KV_HEADS, DIM_QK),
    "v": ("*", KV_HEADS, DIM_V),
    "k_cache": ("*", PAGE, KV_HEADS, DIM_QK),
    "v_cache": ("*", PAGE, KV_HEADS, DIM_V),
    "q_nope": ("*", HEADS, CKV),
    "q_pe": ("*", HEADS, KPE),
    "ckv_cache": ("*", PAGE, CKV),
    "kpe_cache": ("*", PAGE, KPE),
    "qo_indptr": ("*",),
    "kv_indptr": ("*",),
    "kv_indices": ("*",),
    "kv_last_page_len": ("*",),
    "sm_scale": None,
    "output": ("*", HEADS, DIM_V),
    "lse": ("*", HEADS),
}
TYPES = ("bfloat16", "float16", "float32")
OFFSETS = ("qo_indptr", "kv_indptr", "kv_indices", "kv_last_page_len")
LIMITS = {"head_dim": 1024, "qk_dim": 1024, "vo_dim": 1024, CKV: 960, PAGE: 1024}
ATTENTION = ("gqa", "mha", "mqa", "mla", "dsa")


def require(path, value, field, kind):
    if not isinstance(value, kind):
        raise ValueError(f"{path}: {field} is {json.dumps(value)[:60]}; it must be of type {kind.__name__}")
    return value


def read_definition(path):
    """Returns the definition in a file. Raises ValueError with the file and the field if it is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: {error}") from None
    require(path, found, "the text", dict)
    for field, kind in (("name", str), ("op_type", str), ("axes", dict), ("inputs", dict), ("outputs", dict)):
        require(path, found.get(field), field, kind)
    for name in (found["name"], found["op_type"]):
        if not name or "/" in name or name in (".", ".."):
            raise ValueError(f"{path}: {name!r} is not a file name")
    for name, axis in found["axes"].items():
        if require(path, axis, f"axes.{name}", dict).get("type") == "const":
            require(path, axis.get("value"), f"axes.{name}.value", int)
    for side in ("inputs", "outputs"):
        for name, tensor in found[side].items():
            require(path, tensor, f"{side}.{name}", dict)
            require(path, tensor.get("dtype"), f"{side}.{name}.dtype", str)
            shape = tensor.get("shape", "")
            for axis in () if shape is None else require(path, shape, f"{side}.{name}.shape", list):
                if axis not in found["axes"]:
                    raise ValueError(f"{path}: {side}.{name}.shape has the axis {axis!r}, which axes has not")
    return found


def find_dataset(folder):
    """Returns the dataset in a folder. Raises ValueError if there is none."""
    for place in (folder, folder / "flashinfer_trace"):
        if (place / "definitions").is_dir():
            if not any((place / "definitions").rglob("*.json")):
                raise ValueError(f"{place / 'definitions'} has no definition: no file there ends in .json")
            return place.resolve()
    raise ValueError(f"{folder} is not a flashinfer-bench dataset: it has neither definitions nor flashinfer_trace")


def read_dataset(dataset, names=None):
    """{name: definition}. Raises ValueError."""
    found = {}
    for path in sorted((dataset / "definitions").rglob("*.json")):
        definition = read_definition(path)
        if definition["name"] in found:
            raise ValueError(f"{path}: there is another definition {definition['name']!r}")
        found[definition["name"]] = definition
    for name in names or ():
        if name not in found:
            raise ValueError(f"--definitions: {name!r} is not one of the {len(found)} definitions of {dataset}")
    return {name: x for name, x in found.items() if not names or name in names}


def constant(definition, axis):
    """Returns the value of an axis; None if it varies or is not in the definition."""
    return definition["axes"].get(axis, {}).get("value")


def wrong_layout(name, shape):
    wanted = LAYOUTS[name]
    if wanted is None or shape is None:
        return wanted != shape
    return len(shape) != len(wanted) or any(
        w != "*" and axis not in (w if isinstance(w, tuple) else (w,)) for axis, w in zip(shape, wanted))


def unfit(definition):
    """Returns why a definition of a known form is left out, or None if heed supports it."""
    tensors = {**definition["inputs"], **definition["outputs"]}
    for name, tensor in tensors.items():
        if wrong_layout(name, tensor["shape"]):
            shape = "a number" if tensor["shape"] is None else f"[{', '.join(tensor['shape'])}]"
            return f"{name} is {shape}: no layout that heed's solution reads"
    types = {name: tensor["dtype"] for name, tensor in tensors.items()}
    own = types[next(iter(definition["inputs"]))]
    for name, kind in types.items():
        wanted = ("int32", "int64") if name in OFFSETS else ("float32",) if name in ("lse", "sm_scale") else (own,)
        if kind not in wanted or (name not in OFFSETS and kind not in TYPES):
            return f"{name} is {kind}: heed has {' or '.join(TYPES)}, one for q, k, v and the output"
    for axis, limit in LIMITS.items():
        value = constant(definition, axis)
        if value is not None and not 1 <= value <= limit:
            return f"{axis} is {value}: it must be 1 to {limit}"
    heads, kv_heads = constant(definition, HEADS), constant(definition, KV_HEADS)
    if heads and kv_heads and heads % kv_heads:
        return f"{kv_heads} key/value heads do not divide {heads}"
    if "qo_indptr" in definition["inputs"] and "causal" not in definition["name"].split("_"):
        return "its name does not say that it is causal, and no field does"
    return None


def entry_of(definition):
    """Returns the entry point of a definition and None, or None and the reason to leave it out."""
    kind = definition["op_type"].split("_")[0]
    if kind not in ATTENTION:
        return None, f"no softmax attention: {definition['op_type']}"
    if "sparse_indices" in definition["inputs"]:
        return None, "each query has a separate list of keys (sparse_indices)"
    entry = FORMS.get(" ".join(definition["inputs"]))
    if entry is None or list(definition["outputs"]) != ["output", "lse"]:
        return None, f"no known form: ({', '.join(definition['inputs'])}) -> ({', '.join(definition['outputs'])})"
    why = unfit(definition)
    return (None, why) if why else (entry, None)


# ---- Files ----


def solution_of(definition, entry):
    return {
        "name": f"{AUTHOR}_{definition['name']}",
        "definition": definition["name"],
        "author": AUTHOR,
        "description": "heed.attention() of heed's Python package, by libheed, on tensors as they are",
        "spec": {
            "language": "python",
            "target_hardware": ["cuda", "cpu"],
            "entry_point": f"{SOURCE.name}::{entry}",
            "dependencies": ["torch", "heed"],
            "destination_passing_style": True,
        },
        "sources": [{"path": SOURCE.name, "content": SOURCE.read_text(encoding="utf-8")}],
    }


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def write_solutions(out, chosen, entries):
    for name, entry in entries.items():
        path = out / "solutions" / AUTHOR / chosen[name]["op_type"] / name / f"{AUTHOR}_{name}.json"
        write_json(path, solution_of(chosen[name], entry))


def clear(out):
    """Creates @out, or empties it except for traces if this script made it. Raises ValueError for any other folder."""
    if out.exists() and not out.is_dir() or out.is_dir() and any(out.iterdir()) and not (out / MARK).exists():
        raise ValueError(f"--out: {out} exists and was not made by this script; name another folder")
    out.mkdir(parents=True, exist_ok=True)
    (out / MARK).touch()
    for place in (out / name for name in ("definitions", "solutions", "workloads", "blob")):
        if place.is_symlink():
            place.unlink()
        else:
            shutil.rmtree(place, ignore_errors=True)


def link(dataset, out, name):
    """Creates a link in @out to a folder of the dataset, if it exists."""
    if (dataset / name).is_dir():
        (out / name).symlink_to(dataset / name, target_is_directory=True)


def copy_beside(dataset, out, author, entries):
    """Copies an author's solutions of the definitions of @entries; returns how many."""
    if not (dataset / "solutions" / author).is_dir():
        raise ValueError(f"--beside: {dataset / 'solutions'} has no author {author!r}")
    count = 0
    for path in sorted((dataset / "solutions" / author).rglob("*.json")):
        if json.loads(path.read_text(encoding="utf-8")).get("definition") in entries:
            place = out / path.relative_to(dataset)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
            count += 1
    return count


# ---- Generated workloads ----

# Numbers of queries and keys of sequences by the kind of entry point; (low, high) is drawn at random.
MADE = {
    "decode": ([(1, 4096)], [(1, 32768)], [(1, 1024)] * 16, [(1, (64, 8192))] * 16, [(1, (64, 8192))] * 64),
    "prefill": ([(1024, 1024)], [(256, 4096)] * 2, [((1, 512), (512, 4096))] * 8),
}
SMALL = {"decode": ([(1, (1, 70))] * 4,), "prefill": ([((1, 20), (20, 90))] * 3,)}


def draw(generator, value):
    return generator.randint(*value) if isinstance(value, tuple) else value


def offsets(lengths):
    found = [0]
    for length in lengths:
        found.append(found[-1] + length)
    return found


def save_integers(path, tensors):
    """Writes vectors of int32 or int64 to a safetensors file."""
    header, data = {}, b""
    for name, (kind, values) in tensors.items():
        raw = array.array({"int32": "i", "int64": "q"}[kind], values).tobytes()
        header[name] = {"dtype": {"int32": "I32", "int64": "I64"}[kind], "shape": [len(values)],
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def make_workload(out, definition, sequences, number):
    """Makes a workload of @sequences: its integers are in a file, the other tensors random, made by the evaluator."""
    name, inputs = definition["name"], definition["inputs"]
    generator = random.Random(f"{name} {number}")
    page = constant(definition, PAGE) or 16
    lengths = [(draw(generator, q), draw(generator, k)) for q, k in sequences]
    if "kv_indices" in inputs and "kv_last_page_len" not in inputs:  # then all pages are full
        lengths = [(q, -(-k // page) * page) for q, k in lengths]
    pages = [-(-k // page) for _, k in lengths]
    pool = list(range(sum(pages) + 8))
    generator.shuffle(pool)
    last = [k - (n - 1) * page for (_, k), n in zip(lengths, pages)]
    if inputs.get("kv_last_page_len", {}).get("shape") == inputs.get("kv_indptr", {}).get("shape"):
        last.append(0)  # as many as offsets, in some definitions
    values = {"qo_indptr": offsets(q for q, _ in lengths), "kv_last_page_len": last, "kv_indices": pool[: sum(pages)],
              "kv_indptr": offsets(pages if "kv_indices" in inputs else [k for _, k in lengths])}
    sizes = {"q": sum(q for q, _ in lengths), "k": sum(k for _, k in lengths), "k_cache": len(pool)}
    sizes.update(v=sizes["k"], v_cache=len(pool), ckv_cache=len(pool), kpe_cache=len(pool), q_nope=sizes["q"],
                 q_pe=sizes["q"], **{field: len(x) for field, x in values.items()})
    file = pathlib.Path("blob", "workloads", definition["op_type"], name, f"heed_{number}.safetensors")
    save_integers(out / file, {x: (inputs[x]["dtype"], values[x]) for x in inputs if x in values})
    axes = {}
    for field, tensor in inputs.items():
        if tensor["shape"] and definition["axes"][tensor["shape"][0]].get("type") != "const":
            axes[tensor["shape"][0]] = sizes[field]
    if definition["axes"].get("batch_size", {}).get("type") == "var":
        axes["batch_size"] = len(lengths)
    if definition["axes"].get(PAGE, {}).get("type") == "var":
        axes[PAGE] = page
    dim = constant(definition, "head_dim") or constant(definition, "qk_dim") or 192  # MLA's, before absorption
    sources = {"sm_scale": {"type": "scalar", "value": dim ** -0.5}}
    sources.update({x: {"type": "safetensors", "path": str(file), "tensor_key": x} for x in values})
    return {"definition": name, "solution": None, "evaluation": None,
            "workload": {"uuid": f"made-{number}", "axes": axes,
                         "inputs": {x: sources.get(x, {"type": "random"}) for x in inputs}}}


def make_workloads(out, chosen, entries, table):
    for name, entry in entries.items():
        kind = "decode" if "decode" in entry else "prefill"
        path = out / "workloads" / chosen[name]["op_type"] / f"{name}.jsonl"
        rows = [make_workload(out, chosen[name], sequences, i) for i, sequences in enumerate(table[kind])]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


# ---- The suite's own code ----


def environment(args):
    """Returns environment variables with the absolute paths of heed's package and library."""
    paths = [str(ROOT / "python"), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    found = dict(os.environ, PYTHONPATH=os.pathsep.join(map(os.path.abspath, paths)))
    library = args.library or os.environ.get("HEED_LIBRARY")
    return dict(found, HEED_LIBRARY=os.path.abspath(library)) if library else found


def compare_inside(root):
    """Runs in a separate process: builds each solution like the suite, and compares it on the CPU with the definition's
    reference by the evaluator's rule: an error is more than 1e-2, absolute and relative."""
    sys.path[:] = [path for path in sys.path if pathlib.Path(path or ".").resolve() != ROOT / "scripts"]
    import torch
    from flashinfer_bench.bench.utils import gen_inputs, load_safetensors
    from flashinfer_bench.compile import BuilderRegistry
    from flashinfer_bench.data import TraceSet

    dataset, registry, bad = TraceSet.from_path(root), BuilderRegistry.get_instance(), 0
    for name, solutions in dataset.solutions.items():
        definition, workload = dataset.definitions[name], dataset.workloads[name][0].workload
        torch.manual_seed(0)
        inputs = gen_inputs(definition, workload, "cpu", load_safetensors(definition, workload, pathlib.Path(root)))
        wanted = registry.build_reference(definition)(*inputs)
        found = registry.build(definition, solutions[0]).call_value_returning(*inputs)
        wrong, worst = False, 0.0
        for x, y in zip(found, wanted):
            error = (x.float() - y.float()).abs()
            wrong |= x.shape != y.shape or x.dtype != y.dtype
            wrong |= not bool(((error <= 1e-2) | (error <= 1e-2 * y.float().abs())).all())
            worst = max(worst, float(error.max()))
        print(f"{'WRONG' if wrong else 'right'} {name}: {worst:.2g}", flush=True)
        bad += wrong
    print(f"{len(dataset.solutions)} solutions built and compared, {bad} wrong")
    return 1 if bad else 0


def dry_run(args, dataset, chosen, entries):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        link(dataset, root, "definitions")
        write_solutions(root, chosen, entries)
        make_workloads(root, chosen, entries, SMALL)
        command = [sys.executable, __file__, "--inside", str(root)]
        variables = dict(environment(args), FIB_CACHE_PATH=str(root / "cache"))
        return subprocess.run(command, env=variables, check=False).returncode


def lines_of(out, kind):
    """Returns {file: its lines} of workloads or traces."""
    found = sorted((out / kind).rglob("*.jsonl")) if (out / kind).exists() else []
    return {path: path.read_text(encoding="utf-8").splitlines() for path in found}


def read_rows(lines, names):
    """Returns {(definition, workload, solution): the last row} for the definitions @names."""
    rows = [json.loads(line) for line in lines if line.strip()]
    return {(x["definition"], x["workload"]["uuid"], x.get("solution")): x for x in rows if x["definition"] in names}


def why_of(result):
    """Returns why a workload failed, if its trace has the reason."""
    if result.get("status") in (None, "PASSED"):
        return None
    correctness = result.get("correctness")
    if correctness:  # an infinity is "Infinity" in its JSON
        size, relative = (float(correctness[f"max_{x}_error"]) for x in ("absolute", "relative"))
        if not math.isfinite(size):
            return "an output is not finite. The LSE of a sequence without keys is -inf, which the evaluator refuses"
        return f"errors to {size:.3g}, and to {relative:.3g} of a value"
    lines = [line.strip() for line in (result.get("log") or "").splitlines() if line.strip()]
    return lines[-1] if lines else None


def row_of(key, trace, workload):
    name, uuid, solution = key
    result = (trace or {}).get("evaluation") or {}
    times = result.get("performance") or {}
    return {"definition": name, "workload": uuid, "axes": workload["workload"]["axes"], "solution": solution,
            "status": result.get("status", "not run"), "latency_ms": times.get("latency_ms"),
            "reference_latency_ms": times.get("reference_latency_ms"), "speedup": times.get("speedup_factor"),
            "correctness": result.get("correctness"), "environment": result.get("environment"), "why": why_of(result)}


def rows_of(out, entries, before):
    """Returns a row for each workload of each solution, for heed's also if it was not run, without the lines of traces
    that existed @before."""
    traces = read_rows((x for path, lines in lines_of(out, "traces").items() for x in lines[before.get(path, 0):]),
                       entries)
    workloads = read_rows((x for lines in lines_of(out, "workloads").values() for x in lines), entries)
    rows = []
    for (name, uuid, _), workload in workloads.items():
        own = (name, uuid, f"{AUTHOR}_{name}")
        keys = {own, *(key for key in traces if key[:2] == own[:2])}
        rows += [row_of(key, traces.get(key), workload) for key in sorted(keys, key=lambda key: (key != own, key[2]))]
    return rows


def print_rows(rows):
    def number(value):
        return "-" if value is None else f"{value:.4g}"

    lines = [("workload", "axes", "solution", "status", "ms", "reference ms", "speed-up")]
    for row in rows:
        axes = " ".join(f"{name}={value}" for name, value in row["axes"].items())
        lines.append((row["workload"][:8] if len(row["workload"]) == 36 else row["workload"], axes, row["solution"],
                      row["status"], *(number(row[x]) for x in ("latency_ms", "reference_latency_ms", "speedup"))))
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(x.ljust(width) for x, width in zip(line, widths)).rstrip())
    for row in rows:
        if row["why"]:
            print(f"{row['workload']} {row['solution']}: {row['why']}", file=sys.stderr)


def evaluate(args, out, entries):
    """Runs the suite's evaluator on heed's and the other solutions. Returns the command and its status."""
    solutions = sorted(path.stem for path in (out / "solutions" / AUTHOR).rglob("*.json"))
    for author in args.beside:
        for path in sorted((out / "solutions" / author).rglob("*.json")):
            solutions.append(json.loads(path.read_text(encoding="utf-8"))["name"])
    words = ["run", "--local", str(out), "--definitions", *entries, "--solutions", *solutions, *args.own]
    command = " ".join(["flashinfer-bench", *words])
    print(command, file=sys.stderr)
    done = subprocess.run([sys.executable, "-c", CLI, *words], env=environment(args), cwd=out, stdout=sys.stderr,
                          check=False)
    return command, done.returncode


def report_run(args, dataset, out, entries):
    before = {} if "--resume" in args.own else {path: len(x) for path, x in lines_of(out, "traces").items()}
    command, status = evaluate(args, out, entries)
    rows = rows_of(out, entries, before)
    print_rows(rows)
    write_json(out / "flashinfer_bench_report.json", {
        "schema": SCHEMA, "suite": "flashinfer-bench", "dataset": dataset.name, "workloads": args.workloads,
        "heed": kernelbench.version_beside(args.library),
        "command": kernelbench.command_of(command.split(" ")), "time": kernelbench.now(),
        "status": status, "rows": rows})
    own = [row for row in rows if row["solution"] == f"{AUTHOR}_{row['definition']}"]
    passed = sum(row["status"] == "PASSED" for row in own)
    without = [name for name in entries if not any(row["definition"] == name for row in own)]
    print(f"{passed} of {len(own)} workloads passed; {len(without)} definitions have no workload")
    return 1 if status != 0 or passed < len(own) or not own else 0


# ---- ----


def print_choice(definitions, entries, reasons):
    widest = max(map(len, definitions))
    others = {}
    for name, definition in definitions.items():
        if name in entries:
            print(f"{name:{widest}}  {entries[name]}")
        elif definition["op_type"].split("_")[0] in ATTENTION:
            print(f"{name:{widest}}  left out: {reasons[name]}")
        else:
            others.setdefault(reasons[name], []).append(name)
    for why, names in sorted(others.items()):
        print(f"{len(names)} left out: {why}")


def parse(arguments):
    own = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, own = arguments[:at], arguments[at + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("flashinfer-bench-heed"))
    parser.add_argument("--definitions", nargs="+", metavar="NAME")
    parser.add_argument("--library", type=pathlib.Path, help="libheed.so; else as the Python package finds it")
    parser.add_argument("--workloads", choices=("dataset", "made"), default="dataset")
    parser.add_argument("--beside", action="append", default=[], metavar="AUTHOR")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--run", action="store_true")
    args = parser.parse_args(arguments)
    args.own = own
    return parser, args


def prepare(args, dataset, chosen, entries):
    """Makes FOLDER a dataset with heed's solutions."""
    out = args.out.resolve()
    if out == dataset or dataset in out.parents:
        raise ValueError(f"--out: {args.out} is in the dataset, which must not change; name another folder")
    clear(out)
    for name in ("definitions", "workloads", "blob")[: 1 if args.workloads == "made" else 3]:
        link(dataset, out, name)
    write_solutions(out, chosen, entries)
    for author in args.beside:
        print(f"{copy_beside(dataset, out, author, entries)} solutions of {author} beside heed's", file=sys.stderr)
    if args.workloads == "made":
        make_workloads(out, chosen, entries, MADE)
    return out


def main():
    if sys.argv[1:2] == ["--inside"]:
        return compare_inside(sys.argv[2])
    parser, args = parse(sys.argv[1:])
    try:
        dataset = find_dataset(args.dataset)
        definitions = read_dataset(dataset, args.definitions)
        found = {name: entry_of(definition) for name, definition in definitions.items()}
        entries = {name: entry for name, (entry, _) in found.items() if entry}
        out = prepare(args, dataset, definitions, entries)
    except ValueError as error:
        parser.error(str(error))
    print_choice(definitions, entries, {name: why for name, (_, why) in found.items()})
    print(f"{len(entries)} solutions written to {out / 'solutions'}", flush=True)
    if args.dry_run and entries:
        return dry_run(args, dataset, definitions, entries)
    return report_run(args, dataset, out, entries) if args.run and entries else 0


if __name__ == "__main__":
    kernelbench.end(main)
