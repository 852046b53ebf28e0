#!/usr/bin/env python3
"""Writes the duels of a folder of scripts/duels.sh as one compact JSON file, to stdout.

    scripts/duels_record.py FOLDER >docs/duels/NAME.json

It keeps the environment and the verdicts of each phase, and for every duel its ratio with the interval, pairs, merged
stretches and load, but not the times of single blocks.
"""

import argparse
import json
import pathlib
import re

COLUMNS = ["verdict", "title", "ratio", "low", "high", "pairs", "merged", "load", "running"]


def round_figure(value):
    return float(f"{value:.5g}") if isinstance(value, float) else value


def phase_of(path):
    run = json.loads(path.read_text(encoding="utf-8"))
    kept = {key: run[key] for key in ("environment", "problem", "planted", "seconds", "margin", "ratio", "seed", "counts",
                                      "titles")}
    name = re.match(r"(.*)-\d+$", path.stem).group(1)
    return {"phase": name, **kept, "columns": COLUMNS,
            "duels": [[round_figure(duel[column]) for column in COLUMNS] for duel in run["duels"]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="that scripts/duels.sh wrote to")
    phases = [phase_of(path) for path in sorted(parser.parse_args().folder.glob("*-*.json"))]
    if not phases:
        raise SystemExit("there are no duels in that folder")
    lines = [json.dumps({key: value for key, value in phase.items() if key != "duels"})[:-1] +
             ', "duels": [\n' + ",\n".join(json.dumps(duel) for duel in phase["duels"]) + "]}" for phase in phases]
    print('{"schema": "heed.duels-record/1", "phases": [\n' + ",\n".join(lines) + "]}")


if __name__ == "__main__":
    main()
