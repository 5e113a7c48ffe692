"""(d) The whole command line: wall time of the first compile with a tokenizer and of the second."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import driver
from benchmarks.schemas import PERSON


def seconds(tokenizer: Path, place: Path) -> float:
    """Return the wall time of one ``constrain compile`` with the cache in ``place``."""
    command = [sys.executable, "-m", "constrain", "compile", "schema.json", "-o", "table.npz"]
    begin = time.perf_counter()
    subprocess.run(
        [*command, "--tokenizer", tokenizer],
        cwd=place,
        env={**driver.environment(), "CONSTRAIN_CACHE": str(place / "cache")},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - begin


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = driver.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    results: dict[str, Any] = {}
    lines = []
    for folder in driver.tokenizers(options):
        first, second = [], []
        for _ in range(options.repeats):
            with tempfile.TemporaryDirectory() as name:
                place = Path(name)
                (place / "schema.json").write_text(json.dumps(PERSON), encoding="utf-8")
                first.append(seconds(folder, place))
                second.append(seconds(folder, place))
        results[folder.name] = {"first": driver.spread(first), "second": driver.spread(second)}
        lines.append([folder.name, *(results[folder.name][k]["p50"] for k in ("first", "second"))])
    print("constrain compile of the person, seconds of wall time, median")
    driver.table(["tokenizer", "first", "second"], lines)
    driver.finish(options, results)
