"""(e) Growth: how compile time grows with one number of the schema, and with the vocabulary.

The exponent is that of the best fit of a power of the number. The time at the smallest size is taken
off first where there is enough left, since every compile has a part that does not grow.
"""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np

from benchmarks import driver
from benchmarks.engines import Constrain
from benchmarks.schemas import FAMILIES, PERSON


def milliseconds(engine: Constrain, schema: Any, repeats: int) -> float:
    """Return the shortest CPU time of some compiles."""
    times = []
    for _ in range(repeats):
        gc.collect()
        begin = time.process_time()
        engine.compile(schema)
        times.append(1000 * (time.process_time() - begin))
    return min(times)


def grown(sizes: list[float], times: list[float]) -> float:
    """Return the exponent of what is added to the time at the smallest size."""
    added = np.asarray(times[1:]) - times[0]
    if (added < 0.5 * times[0]).any():  # flat, or too little to tell from the constant part
        return driver.exponent(sizes, times)
    return driver.exponent(sizes[1:], added.tolist())


def vocabularies(engine: Constrain) -> list[tuple[float, Any]]:
    """Return engines for the first 32k, 64k, ... tokens of a vocabulary, and all of them."""
    from constrain.trie import build_trie
    from constrain.vocabulary import Vocabulary

    whole = engine.vocabulary.tokens
    eos = engine.vocabulary.eos
    sizes = [n for n in (32_000, 64_000, 128_000) if n < len(whole)] + [len(whole)]
    found = []
    for size in sizes:
        part = Constrain.__new__(Constrain)
        part.__dict__ |= engine.__dict__
        tokens = [t if i < size and i not in eos else None for i, t in enumerate(whole)]
        part.vocabulary = Vocabulary.of([*tokens[:size], None], (size,))
        part.trie = build_trie(part.vocabulary.token_bytes, part.vocabulary.token_offsets)
        part.longest = engine.pipeline.longest_runs(part.vocabulary)
        _ = part.trie.outline
        found.append((float(size), part))
    return found


def main(arguments: list[str]) -> None:
    """Run the benchmark."""
    parser = driver.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    results: dict[str, Any] = {}
    for folder in driver.tokenizers(options):
        engine = Constrain(folder)
        engine.compile(PERSON)  # whatever is made once
        lines = []
        of_folder: dict[str, Any] = {}
        cases = {
            name: ([float(n) for n in sizes], [(engine, make(n)) for n in sizes])
            for name, (make, sizes) in FAMILIES.items()
        }
        parts = vocabularies(engine)
        cases["vocabulary"] = ([size for size, _ in parts], [(part, PERSON) for _, part in parts])
        for name, (sizes, tasks) in cases.items():
            times = [milliseconds(e, schema, options.repeats) for e, schema in tasks]
            fit = grown(sizes, times)
            of_folder[name] = {"sizes": sizes, "ms": times, "exponent": fit}
            shown = ", ".join(f"{n:g}: {ms:.3g}" for n, ms in zip(sizes, times, strict=True))
            lines.append([name, fit, shown])
        print(f"growth of compile time, {folder.name}")
        driver.table(["number", "exponent", "size: milliseconds"], lines)
        results[folder.name] = of_folder
    driver.finish(options, results)
