"""(c) Load: from a stored table to its first mask, in a process that has imported the loader."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import driver
from benchmarks.engines import Constrain
from benchmarks.schemas import SIX


def first_mask(path: Path, repeats: int) -> list[float]:
    """Return the milliseconds from the path to the first packed row, each time anew."""
    from constrain.tables import Constraint, load

    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        Constraint(load(path)).bitmask()
        times.append(1000 * (time.perf_counter() - begin))
    return times


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = driver.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=50)
    options = parser.parse_args(arguments)
    folders = driver.tokenizers(options)
    results: dict[str, Any] = {}
    lines = []
    with tempfile.TemporaryDirectory() as place:
        for folder in folders:
            engine = Constrain(folder)
            for title, schema in SIX.items():
                table = engine.compile(schema)
                for compress in (False, True):
                    path = Path(place) / "table.npz"
                    table.save(path, compress=compress)
                    values = driver.spread(first_mask(path, options.repeats))
                    kind = "compressed" if compress else "mapped"
                    size = path.stat().st_size / 1e6
                    results[f"{folder.name}, {title}, {kind}"] = {"mb": size, **values}
                    lines.append([folder.name, title, kind, size, values["p50"], values["p99"]])
    print("load to the first mask, milliseconds")
    driver.table(["tokenizer", "table", "kind", "MB", "p50", "p99"], lines)
    driver.finish(options, results)
