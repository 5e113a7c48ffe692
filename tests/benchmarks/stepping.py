"""(b) Masks: the packed row of each step and the step itself along the same tokens; batches."""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import driver
from benchmarks.engines import Constrain

NAMES = ["constrain", "xgrammar", "llguidance", "outlines-core"]
BATCHES = [1, 16, 256]


def walks(folder: Path, options: argparse.Namespace) -> list[tuple[Any, list[int]]]:
    """Return schemas, each with the tokens of a valid instance of it as compact JSON."""
    reader = importlib.import_module("tokenizers").Tokenizer
    tokenizer = reader.from_file(str(folder / "tokenizer.json"))
    found = []
    for row in driver.sample(options):
        valid = [test["data"] for test in row["tests"] if test["valid"]]
        if valid:
            text = json.dumps(valid[0], separators=(",", ":"), ensure_ascii=False)
            tokens = tokenizer.encode(text, add_special_tokens=False).ids
            found.append((row["schema"], tokens[: options.tokens]))
    return found


def measure(folder: Path, names: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Follow each walk with every engine; only walks that all of them allow are counted."""
    processes = {name: driver.Process(name, folder, options.timeout) for name in names}
    rows: dict[str, list[float]] = {name: [] for name in names}
    steps: dict[str, list[float]] = {name: [] for name in names}
    counted = 0
    given = walks(folder, options)
    for schema, tokens in given:
        answers = {}
        for name, process in processes.items():
            compiled = process.ask(schema=schema, repeats=1)
            if "ms" not in compiled:
                break
            answers[name] = process.ask(tokens=tokens, repeats=options.repeats)
        if len(answers) == len(names) and all("row_us" in a for a in answers.values()):
            counted += 1
            for name, answer in answers.items():
                rows[name] += answer["row_us"]
                steps[name] += answer["step_us"]
    for process in processes.values():
        process.stop()
    print(f"{folder.name}: {counted} of {len(given)} texts allowed by all, microseconds a token")
    spreads = {name: [driver.spread(rows[name]), driver.spread(steps[name])] for name in names}
    lines = []
    for name, (row, step) in spreads.items():
        if row["n"]:
            both = statistics.median(a + b for a, b in zip(rows[name], steps[name], strict=True))
            lines.append([name, row["n"], row["p50"], row["p90"], row["p99"], step["p50"], both])
    head = ["engine", "tokens", "row p50", "row p90", "row p99", "step p50", "row + step p50"]
    driver.table(head, lines)
    return {"texts": counted, "given": len(given), "spreads": spreads}


def batches(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Fill rows of many runs at once, and copy as many bytes for comparison."""
    engine = Constrain(folder)
    batch_of = importlib.import_module("constrain.tables").ConstraintBatch
    tables = []
    for schema, tokens in walks(folder, options)[:16]:
        try:
            tables.append((engine.runs(engine.compile(schema)), tokens))
        except ValueError:
            continue
    lines: list[list[Any]] = []
    results: dict[str, Any] = {}
    for size in BATCHES:
        runs = []
        for i in range(size):
            run, tokens = tables[i % len(tables)]
            run = run.fork()
            run_to = tokens[: i % max(1, len(tokens))]
            for token in run_to:
                if not run.allowed(token):
                    break
                run.advance(token)
            runs.append(run)
        batch = batch_of(runs)
        out = batch.fill()
        copy = np.empty_like(out)
        fill_us, copy_us = (
            microseconds(lambda b=batch, o=out: b.fill(o)),
            microseconds(lambda c=copy, o=out: np.copyto(c, o)),
        )
        results[str(size)] = {"fill_us": fill_us, "copy_us": copy_us, "ratio": fill_us / copy_us}
        lines.append([size, fill_us, copy_us, fill_us / copy_us])
    print(f"batches, microseconds, {folder.name}")
    driver.table(["rows", "fill", "plain copy", "ratio"], lines)
    return results


def microseconds(call: Any, repeats: int = 50) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(times)


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = driver.parser(__doc__)
    parser.add_argument("--engine", action="append", choices=NAMES, help="default: all")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one answer")
    parser.add_argument("--repeats", type=int, default=5, help="the median of so many counts")
    parser.add_argument("--tokens", type=int, default=200, help="the longest walk")
    options = parser.parse_args(arguments)
    folders = driver.tokenizers(options)
    names = driver.installed(options.engine or NAMES)
    results = {
        f.name: {"steps": measure(f, names, options), "batches": batches(f, options)}
        for f in folders
    }
    driver.finish(options, results)
