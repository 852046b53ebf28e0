#!/usr/bin/env python3
"""Tests scripts/predicted_table.py, and checks that docs/predicted-l4.md is its output.

    test_predicted_table.py HEED
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "predicted_table.py"
sys.path.insert(0, str(SCRIPT.parent))
import predicted_table  # noqa: E402, whose folder was unknown before


def row(seconds, **changes):
    base = {"problem": "p", "kernel": "k__m64", "entry": "heed_attend", "compiler": "V1.2",
            "registers": 99, "spill_store_bytes": 0, "spill_load_bytes": 0, "static_bytes": 0,
            "dynamic_bytes": 49152, "blocks_per_sm": 2, "warps_per_sm": 8,
            "limited_by": "registers",
            "predicted": {"seconds": seconds, "roofline_seconds": 1e-6, "share": 1e-6 / seconds}}
    return {**base, **changes}


def refused(bad, why):
    try:
        predicted_table.made([row(2e-6), bad])
    except SystemExit as error:
        assert why in str(error), error
    else:
        raise AssertionError(f"not refused: {why}")


def test_rows():
    rows = predicted_table.best([row(4e-6), row(2e-6, kernel="k__m32"), row(3e-6)])
    assert [r["kernel"] for r in rows] == ["k__m32"]
    text = predicted_table.made(rows)
    assert "| p | m32 | 99 | 49152 | 2 | 8 | registers | 2.00 us | 1.00 us | 50 % |\n" in text
    assert predicted_table.compiler_of(text) == "V1.2"
    refused(row(2e-6, spill_load_bytes=4), "spills")
    refused(row(2e-6, dynamic_bytes=101377), "does not fit")
    refused(row(2e-6, blocks_per_sm=0), "does not fit")
    refused(row(0.9e-6), "faster than the roofline")
    refused(row(2e-6, kernel="other__m32"), "several kernels")


def check(document, heed):
    command = [sys.executable, "-B", SCRIPT, "--check", "--document", document, heed]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_document(heed, folder):
    text = predicted_table.DOCUMENT.read_text()
    done = check(predicted_table.DOCUMENT, heed)
    print(done.stdout + done.stderr, end="")
    if done.returncode != 0:
        return done.returncode
    copy = folder / "copy.md"
    copy.write_text(text.replace(" 6.99 us ", " 6.98 us ", 1))
    assert check(copy, heed).returncode == 1, "a figure that was changed by hand"
    copy.write_text(text.replace(predicted_table.compiler_of(text), "V1.2.3"))
    done = check(copy, heed)
    assert done.returncode == predicted_table.SKIPPED and "V1.2.3; here is" in done.stdout
    return 0


test_rows()
with tempfile.TemporaryDirectory() as scratch:
    sys.exit(test_document(sys.argv[1], pathlib.Path(scratch)))
