"""Thousands of hostile inputs, each bounded: ``python tests/hostile.py [N]`` prints how they end.

N table files (damaged copies of good ones), and N schemas and patterns (compiled to tables and run).
Workers have 1 GiB of memory by ``setrlimit``; an input that takes longer than 10 seconds is killed.
Each input is the number of a seed, so that a fault can be run again: ``hostile.py --one KIND SEED``.
"""

from __future__ import annotations

import collections
import json
import queue
import random
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

TESTS = Path(__file__).parent
SECONDS = 10.0
MEMORY = 1 << 30
KINDS = ("table", "schema", "pattern")
FAULTS = ("FAULT", "TIME", "MEMORY", "CRASH")


def data_of(kind: str, seed: int) -> bytes:
    """Return the bytes that an input is drawn from."""
    return random.Random(f"{kind} {seed}").randbytes(600)


def one(kind: str, seed: int) -> str:
    """Run an input here; return how it ends."""
    from fuzz import subjects

    from constrain.limits import Limits

    limits = Limits(timeout=6.0, max_memory=256 << 20)
    subject = {
        "table": subjects.table,
        "schema": subjects.compiled_schema,
        "pattern": subjects.compiled_pattern,
    }[kind]
    try:
        return subjects.outcome(subject, data_of(kind, seed), limits)
    except MemoryError:
        return "MEMORY"
    except Exception as error:
        return f"FAULT {type(error).__name__}: {str(error)[:200]}"


def work(kind: str, seeds: range) -> None:
    """Be a worker: run inputs in the order of their seeds, and print a line before and after each."""
    import fuzz.subjects  # noqa: F401  (what is imported counts before the limit is set)

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    for seed in seeds:
        print(json.dumps([seed]), flush=True)
        start = time.perf_counter()
        result = one(kind, seed)
        print(json.dumps([seed, result, time.perf_counter() - start]), flush=True)


def watch(kind: str, seeds: range, step: int = 1) -> dict[int, tuple[str, float]]:
    """Run inputs in workers; one that hangs or dies is replaced by another, for the rest."""
    results: dict[int, tuple[str, float]] = {}
    at = seeds.start
    while at < seeds.stop:
        command = [sys.executable, __file__, "--worker", kind, str(at), str(seeds.stop), str(step)]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS)
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_read, args=(worker.stdout, lines), daemon=True).start()
        current, patience = None, 60.0  # until it has started
        while True:
            try:
                line = lines.get(timeout=patience)
            except queue.Empty:
                result, line = "TIME", None
            else:
                result = "CRASH"
            if line is None:
                worker.kill()
                worker.wait()
                if current is not None:
                    results[current] = (result, SECONDS)
                elif worker.returncode:
                    raise SystemExit(f"a worker could not start: {' '.join(command)}")
                at = seeds.stop if current is None else current + step
                break
            message = json.loads(line)
            if len(message) == 1:
                current, patience = message[0], SECONDS
            else:
                results[message[0]] = (message[1], message[2])
                current, patience = None, 60.0
    return results


def _read(stream, lines) -> None:  # type: ignore[no-untyped-def]
    with stream:
        for line in stream:
            lines.put(line)
    lines.put(None)


def report(kind: str, results: dict[int, tuple[str, float]]) -> int:
    """Print the table of outcomes of a kind; return the number of faults."""
    counts = collections.Counter(result.split()[0] for result, _ in results.values())
    times = sorted(seconds for _, seconds in results.values())
    print(f"\n{len(results)} hostile inputs of kind {kind}:", end=" ")
    print(f"median {times[len(times) // 2] * 1e3:.1f} ms, slowest {times[-1]:.2f} s")
    for result, count in counts.most_common():
        print(f"  {count:6}  {result}")
    faults = {seed: r for seed, (r, _) in results.items() if r.split()[0] in FAULTS}
    for seed, result in sorted(faults.items()):
        print(f"  python tests/hostile.py --one {kind} {seed}   # {result}")
    return len(faults)


def main(arguments: list[str]) -> int:
    """Run as told on the command line; return the exit code."""
    sys.path.insert(0, str(TESTS))
    if arguments[:1] == ["--one"]:
        print(one(arguments[1], int(arguments[2])))
        return 0
    if arguments[:1] == ["--worker"]:
        work(arguments[1], range(*map(int, arguments[2:5])))
        return 0
    n = int(arguments[0]) if arguments else 2000
    kinds = arguments[1:] or KINDS
    return min(1, sum(report(kind, watch(kind, range(n))) for kind in kinds))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
