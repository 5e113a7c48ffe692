"""What all benchmarks share: arguments, worker processes, inputs, statistics and tables."""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import lzma
import math
import os
import platform
import select
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import ENGINES

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SAMPLE = HERE / "sample.txt"
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "RAYON", "NUMEXPR", "TORCH")
}


def environment() -> dict[str, str]:
    """Return the environment of a worker: one thread, and this checkout importable."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": path, "TOKENIZERS_PARALLELISM": "false"}


def parser(about: str | None) -> argparse.ArgumentParser:
    """Return an argument parser with what every benchmark takes."""
    made = argparse.ArgumentParser(description=about)
    folder = Path.home() / ".cache" / "constrain-tokenizers"
    data = ROOT.parent / "shared" / "data" / "real_schemas.jsonl.xz"
    made.add_argument(
        "--tokenizers", type=Path, default=folder, help="folder of NAME/tokenizer.json"
    )
    made.add_argument(
        "--tokenizer", action="append", help="NAME below it (default: llama3_1 gemma3)"
    )
    made.add_argument(
        "--schemas", type=Path, default=data, help="real schemas, one JSON a line, xz"
    )
    made.add_argument("--limit", type=int, help="use only so many of the sample's schemas")
    made.add_argument("--json", type=Path, help="write all measurements to this file")
    return made


def tokenizers(options: argparse.Namespace) -> list[Path]:
    """Return the folders of the tokenizers asked for, or stop and say which one is missing."""
    found = [options.tokenizers / name for name in options.tokenizer or ["llama3_1", "gemma3"]]
    for folder in found:
        if not (folder / "tokenizer.json").is_file():
            sys.exit(f"no tokenizer.json in {folder}; put it there, or name others: --tokenizers")
    return found


def sample(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the rows (name, schema, tests) of the committed sample, or stop if they are missing."""
    if not options.schemas.is_file():
        sys.exit(f"no file {options.schemas}; name the file of real schemas: --schemas")
    with lzma.open(options.schemas, "rt", encoding="utf-8") as lines:
        rows = {row["name"]: row for row in map(json.loads, lines)}
    names = SAMPLE.read_text(encoding="utf-8").split("\n")[:-1]
    if missing := [name for name in names if name not in rows]:
        sys.exit(f"{options.schemas} lacks {len(missing)} schemas of the sample, as {missing[0]}")
    step = max(1, len(names) // options.limit) if options.limit else 1
    return [rows[name] for name in names[::step][: options.limit]]


def installed(names: list[str]) -> list[str]:
    """Return the engines that are installed, and say which are not."""
    found = [name for name in names if importlib.util.find_spec(ENGINES[name][1])]
    if missing := sorted(set(names) - set(found)):
        print(f"not installed, left out: {', '.join(missing)}; pip install '.[bench]'\n")
    return found


class Process:
    """An engine in a process of its own; one that answers too late is ended and started again."""

    def __init__(self, name: str, folder: Path, timeout: float) -> None:
        self.name, self.folder, self.timeout = name, folder, timeout
        self.peak_mb = 0.0
        self._start()

    def _start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, HERE / "engines.py", self.name, self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            text=True,
        )
        if "ready" not in self._answer(600.0):
            sys.exit(f"{self.name} does not start with {self.folder}")

    def _answer(self, timeout: float) -> dict[str, Any]:
        assert self.process.stdout
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            return {"error": "timeout"}
        line = self.process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "crashed"}
        return answer

    def ask(self, **command: Any) -> dict[str, Any]:
        """Send a command and return the answer; ``{"error": ...}`` if there is none in time."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        answer = self._answer(self.timeout)
        self.peak_mb = max(self.peak_mb, answer.get("peak_mb", 0.0))
        if answer.get("error") in ("timeout", "crashed"):
            self.stop()
            self._start()
        return answer

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


def about() -> dict[str, Any]:
    """Return date, machine and versions."""
    versions: dict[str, str] = {"numpy": np.__version__}
    for _, module, distribution in ENGINES.values():
        if importlib.util.find_spec(module):
            try:
                versions[distribution] = metadata.version(distribution)
            except metadata.PackageNotFoundError:
                versions[distribution] = "checkout"
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "python": platform.python_version(),
        "versions": versions,
    }


def spread(values: list[float]) -> dict[str, float]:
    """Return count, median, p90, p99 and maximum."""
    if not values:
        return {"n": 0}
    quantiles = np.percentile(values, [50, 90, 99, 100]).tolist()
    return {"n": len(values), **dict(zip(("p50", "p90", "p99", "max"), quantiles, strict=True))}


def ratio(ours: dict[str, float], theirs: dict[str, float]) -> dict[str, float]:
    """Return the geometric mean of ours / theirs over what both have."""
    both = ours.keys() & theirs.keys()
    if not both:
        return {"n": 0}
    logs = [math.log(ours[key] / theirs[key]) for key in both]
    return {"n": len(both), "geometric_mean": math.exp(sum(logs) / len(logs))}


def exponent(sizes: list[float], values: list[float]) -> float:
    """Return b of the best fit ``values = a * sizes ** b``."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def table(head: list[str], rows: list[list[Any]]) -> None:
    """Print rows below a head, numbers with three digits."""
    text = [[f"{x:.3g}" if isinstance(x, float) else str(x) for x in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *text, strict=True)]
    for row in [head, ["-" * width for width in widths], *text]:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    print()


def finish(options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Print what was run on what, and write the results where asked."""
    facts = about()
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    print(f"{facts['date']}; {facts['machine']}; Python {facts['python']}; {versions}; one thread")
    if options.json:
        text = json.dumps({**facts, "results": results}, indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
