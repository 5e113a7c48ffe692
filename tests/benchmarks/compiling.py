"""(a) Compile: time to a ready grammar with the tokenizer ready, over real schemas and the six."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from benchmarks import driver
from benchmarks.schemas import SIX

NAMES = [
    "constrain", "xgrammar", "constrain-open", "xgrammar-open", "llguidance", "outlines-core",
]  # fmt: skip
PAIRS = [
    ("constrain", "xgrammar"),
    ("constrain-open", "xgrammar-open"),
    ("constrain", "llguidance"),
    ("constrain", "outlines-core"),
]


def measure(folder: Path, names: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Compile every schema with every engine, engine after engine for each schema."""
    rows = [(row["name"], row["schema"]) for row in driver.sample(options)]
    processes = {name: driver.Process(name, folder, options.timeout) for name in names}
    answers: dict[str, dict[str, Any]] = {name: {} for name in names}
    for i, (title, schema) in enumerate([*SIX.items(), *rows]):
        turn = i % len(names)
        for name in names[turn:] + names[:turn]:
            answer = processes[name].ask(schema=schema, repeats=options.repeats)
            answers[name][title] = answer
    peaks = {name: process.peak_mb for name, process in processes.items()}
    for process in processes.values():
        process.stop()
    return {"answers": answers, "peak_mb": peaks}


def report(folder: Path, found: dict[str, Any]) -> dict[str, Any]:
    """Print and return the statistics of one tokenizer."""
    answers, times = found["answers"], {}
    lines = []
    for name, of_name in answers.items():
        real = {k: a["ms"] for k, a in of_name.items() if k not in SIX and "ms" in a}
        times[name] = real
        errors = [a["error"] for a in of_name.values() if "error" in a]
        values = driver.spread(list(real.values()))
        row = [values.get(key, float("nan")) for key in ("p50", "p90", "p99", "max")]
        late = sum(error == "timeout" for error in errors)
        lines.append([name, values["n"], late, len(errors) - late, *row, found["peak_mb"][name]])
    print(f"compile, milliseconds, {folder.name}")
    head = ["engine", "compiled", "late", "refused", "p50", "p90", "p99", "max", "peak MB"]
    driver.table(head, lines)
    ratios = {}
    for ours, theirs in PAIRS:
        if ours in times and theirs in times:
            ratios[f"{ours} / {theirs}"] = driver.ratio(times[ours], times[theirs])
    rows = [[k, r["n"], r.get("geometric_mean", float("nan"))] for k, r in ratios.items()]
    driver.table(["ratio", "schemas", "geometric mean"], rows)
    six = [[t, *(of.get(t, {}).get("ms", "-") for of in answers.values())] for t in SIX]
    driver.table(["milliseconds", *answers], six)
    return {**found, "ratios": ratios}


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = driver.parser(__doc__)
    parser.add_argument("--engine", action="append", choices=NAMES, help="default: all")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one answer")
    parser.add_argument("--repeats", type=int, default=3, help="the shortest of so many counts")
    options = parser.parse_args(arguments)
    folders = driver.tokenizers(options)
    names = driver.installed(options.engine or NAMES)
    results = {f.name: report(f, measure(f, names, options)) for f in folders}
    driver.finish(options, results)
