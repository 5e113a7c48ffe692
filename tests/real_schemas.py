"""Compile real schemas, judge their test instances, and print what came out.

    python tests/real_schemas.py [--sample N] [--jobs 2] [--open] [--only NAME] [--json FILE]

Reads ../shared/data/real_schemas.jsonl.xz (one object a line: name, schema, and tests that say
whether each instance is valid). Each schema is compiled in a process of its own, within 20 seconds
and 2 GB, up to the byte machine (no tokenizer: membership needs none), and each instance is put to
it in the layouts of ``tests/oracles/instance_layout.py``:

* a valid instance in the order it came in: *right*; accepted only when its members are put in the
  order of the schema: *key order*; accepted in no order: *valid refused*;
* an invalid instance must be refused in every order: else *INVALID ACCEPTED*.

Prints the counts, the reasons of failure with examples, most frequent first, and the time that
compiling took. ``--json`` writes all of it for other programs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import os
import re
import resource
import selectors
import signal
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # threads reserve memory that the limit would count

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from oracles.instance_layout import (  # noqa: E402
    Arranger,
    candidates,
    load,
    permutations,
    text_of,
)
from schema_suite import compile_machine  # noqa: E402

from constrain.errors import ConstrainError, LimitError, SchemaError  # noqa: E402

DATA = ROOT.parent / "shared" / "data" / "real_schemas.jsonl.xz"
SECONDS = 20.0
MEMORY = 2 << 30
GRACE = 40.0  # seconds on the clock beyond SECONDS of a processor, for judging and busy machines
EXAMPLES = 4


def judge_schema(case: dict[str, Any], open_: bool) -> dict[str, Any]:
    """Return the outcome of one schema: how compiling ended, and a verdict for each instance."""
    started = time.process_time()
    outcome: dict[str, Any] = {"name": case["name"], "status": "compiled", "verdicts": []}
    machine = None
    try:
        machine = compile_machine(case["schema"], open_=open_, seconds=SECONDS)
    except Exception as error:
        status, why = failure(error)
        outcome |= {"status": status, "why": why, "message": str(error)[:300]}
    outcome["ms"] = (time.process_time() - started) * 1000
    if machine is not None:
        outcome |= {"states": machine.n_states, "plain": machine.is_plain}
        arranger = Arranger(case["schema"])
        outcome["verdicts"] = [verdict(machine, arranger, test) for test in case["tests"]]
    return outcome


def failure(error: Exception) -> tuple[str, str]:
    """Return the kind of an error, and the reason it is counted under."""
    name = type(error).__name__
    if isinstance(error, LimitError):
        return "limit", error.what
    if isinstance(error, SchemaError):
        return name, error.keyword or re.sub(r"'[^']*'", "...", error.reason)[:80]
    if isinstance(error, ConstrainError):
        return "other", name
    return ("memory", "2 GB") if isinstance(error, MemoryError) else ("crash", name)


def verdict(machine: Any, arranger: Arranger, test: dict[str, Any]) -> str:
    """Return how the machine judges one instance."""
    given = [text_of(test["data"], plain=plain) for plain in (False, True)]
    if test["valid"] and any(machine.matches(text.encode()) for text in given):
        return "right"
    others = (text_of(order, plain=True) for order in permutations(test["data"], 200))
    texts = itertools.chain(given, candidates(arranger, test["data"]), others)
    accepted = any(machine.matches(text.encode()) for text in texts)
    if test["valid"]:
        return "key order" if accepted else "valid refused"
    return "INVALID ACCEPTED" if accepted else "right"


@dataclass
class Child:
    """A process that judges one schema, and the pipe that its outcome comes through."""

    pid: int
    name: str
    pipe: int
    deadline: float
    received: bytearray = field(default_factory=bytearray)


def start(case: dict[str, Any], open_: bool) -> Child:
    """Fork a process that judges one schema under the limits."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        limit = int(SECONDS + GRACE)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        try:
            outcome = judge_schema(case, open_)
        except BaseException as error:  # the parent must hear of anything
            message = f"{type(error).__name__}: {error}"
            outcome = {"name": case["name"], "status": "harness", "why": message, "verdicts": []}
        with os.fdopen(writer, "wb") as stream:
            stream.write(json.dumps(outcome).encode())
        os._exit(0)
    os.close(writer)
    return Child(pid, case["name"], reader, time.monotonic() + SECONDS + GRACE)


def finish(child: Child) -> dict[str, Any]:
    """Return the outcome of a child whose pipe is closed or whose time is up."""
    os.close(child.pipe)
    os.waitpid(child.pid, 0)
    try:
        outcome: dict[str, Any] = json.loads(child.received)
    except ValueError:
        why = "killed" if time.monotonic() < child.deadline else f"{SECONDS:.0f} s"
        outcome = {"name": child.name, "status": "timeout", "why": why, "verdicts": []}
    return outcome


def run_all(cases: list[dict[str, Any]], jobs: int, open_: bool) -> list[dict[str, Any]]:
    """Judge all schemas, ``jobs`` at a time."""
    outcomes: list[dict[str, Any]] = []
    waiting = iter(cases)
    running: dict[int, Child] = {}
    selector = selectors.DefaultSelector()
    exhausted = False
    while True:
        while not exhausted and len(running) < jobs:
            case = next(waiting, None)
            if case is None:
                exhausted = True
                break
            child = start(case, open_)
            running[child.pipe] = child
            selector.register(child.pipe, selectors.EVENT_READ)
        if not running:
            return outcomes
        for key, _ in selector.select(timeout=1.0):
            child = running[key.fd]
            data = os.read(child.pipe, 1 << 16)
            child.received += data
            if not data:
                selector.unregister(child.pipe)
                del running[child.pipe]
                outcomes.append(finish(child))
        for child in [c for c in running.values() if time.monotonic() > c.deadline]:
            os.kill(child.pid, signal.SIGKILL)  # its pipe closes, and the loop above takes it
            child.deadline = time.monotonic() + 5
        _progress(len(outcomes), len(cases))


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty() and done % 20 == 0:
        print(f"\r{done}/{total}", end="", file=sys.stderr, flush=True)


def percentile(numbers: list[float], share: float) -> float:
    """Return the number below which a share of the numbers lies."""
    ordered = sorted(numbers)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def summary(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the counts of all outcomes."""
    compiled = [o for o in outcomes if o["status"] == "compiled"]

    def having(verdict: str) -> int:
        return sum(verdict in o["verdicts"] for o in compiled)

    times = [o["ms"] for o in compiled]
    return {
        "schemas": len(outcomes),
        "compiled": len(compiled),
        "compiled_share": len(compiled) / max(1, len(outcomes)),
        "all_right": sum(set(o["verdicts"]) <= {"right"} for o in compiled),
        "right_or_key_order": sum(set(o["verdicts"]) <= {"right", "key order"} for o in compiled),
        "with_key_order": having("key order"),
        "with_valid_refused": having("valid refused"),
        "with_invalid_accepted": having("INVALID ACCEPTED"),
        "instances": dict(Counter(v for o in compiled for v in o["verdicts"])),
        "failures": dict(Counter(o["status"] for o in outcomes if o["status"] != "compiled")),
        "plain": sum(bool(o["plain"]) for o in compiled),
        "compile_ms": {f"p{p}": round(percentile(times, p / 100), 1) for p in (50, 90, 99)},
        "states": {
            f"p{p}": percentile([float(o["states"]) for o in compiled], p / 100)
            for p in (50, 90, 99)
        },
    }


def report(outcomes: list[dict[str, Any]], stream: IO[str]) -> None:
    """Print counts, then failures by reason, then the schemas judged wrongly."""
    for key, value in summary(outcomes).items():
        print(
            f"{key:22} {value:.2%}" if isinstance(value, float) else f"{key:22} {value}",
            file=stream,
        )
    reasons: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for outcome in outcomes:
        if outcome["status"] != "compiled":
            reasons[f"{outcome['status']}: {outcome['why']}"].append(outcome)
    print("\nwhy schemas do not compile, most frequent first", file=stream)
    for reason, failed in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(failed):5}  {reason}", file=stream)
        for outcome in failed[:EXAMPLES]:
            print(f"         {outcome['name']}: {outcome.get('message', '')[:150]}", file=stream)
    for wrong in ("INVALID ACCEPTED", "valid refused", "key order"):
        names = [o["name"] for o in outcomes if wrong in o["verdicts"]]
        print(f"\n{wrong}: {len(names)} schemas", *names[:20], sep="\n    ", file=stream)


def read_cases(only: str, sample: int) -> list[dict[str, Any]]:
    """Return the schemas to run; a sample is spread evenly over the file."""
    with lzma.open(DATA, "rt", encoding="utf-8") as lines:
        cases = [load(line) for line in lines if only in line[:200]]
    cases = [case for case in cases if only in case["name"]]
    step = max(1, len(cases) // sample) if sample else 1
    return cases[::step][:sample] if sample else cases


def main() -> int:
    """Run the command; exit 1 if an invalid instance was accepted or something crashed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sample", type=int, default=0, help="this many schemas, evenly spread")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--open", action="store_true", help="absent additionalProperties is true")
    parser.add_argument("--only", default="", help="schemas whose name contains this")
    parser.add_argument("--json", default="", help="write counts and outcomes to this file")
    options = parser.parse_args()
    outcomes = run_all(read_cases(options.only, options.sample), options.jobs, options.open)
    report(outcomes, sys.stdout)
    counts = summary(outcomes)
    if options.json:
        document = {"counts": counts, "outcomes": outcomes}
        Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
    bad = {"crash", "harness"} & counts["failures"].keys()
    return 1 if counts["with_invalid_accepted"] or bad else 0


if __name__ == "__main__":
    sys.exit(main())
