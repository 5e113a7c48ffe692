"""The coverage-guided fuzzer: ``python tests/fuzz/run.py TARGET SECONDS``, or ``... all SECONDS``.

Each target of ``subjects.py`` runs for the given time in a process of its own, from the inputs in
``corpus/TARGET`` and what earlier runs found (``build/fuzz/TARGET``). An input that ends in a fault is kept
in ``crashes/TARGET`` and replayed by ``test_fuzz.py`` for ever; one that takes more than 20 seconds of
processor time (forty times its own limit, whatever else the machine does) or 2 GiB is a fault too.

What costs time is not what is looked at: a target counts the branches of its own front end only, and the
automata behind it, which take nearly all of the time and would take five times as much if counted, are
small (``SMALL``). With a third argument, the seed, runs differ little but in how far they come.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
sys.path.insert(0, str(FOLDER.parent))

PROCESSOR_SECONDS = 20.0
N_SEEDS = 20  # random inputs to begin with, besides the corpus
TARGETS = {  # the files of the package whose branches are counted
    "pattern": "pattern pattern_parser dialects anchors counting properties syntax utf8",
    "schema": "schema/*",
    "tokenizer": "tokenizer_json vocabulary spelling plain_vocabulary",
    "table": "tables/*",
}


def modules(places: str) -> set[str]:
    """Return the names of our modules in some places, separated by spaces."""
    files = [file for place in places.split() for file in (ROOT / "constrain").glob(f"{place}.py")]
    return {".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files}


def fuzz(target: str, options: list[str]) -> None:
    """Fuzz a target in this process, which ends with it."""
    import atheris

    others = modules("* schema/* tables/*") - modules(TARGETS[target])
    with atheris.instrument_imports(include=["constrain"], exclude=sorted(others)):
        from constrain.tables import constraint
        from fuzz import subjects

    constraint.MAX_FORCED = 256  # going round in a circle teaches nothing

    def run(data: bytes) -> None:
        start = time.process_time()
        subjects.outcome(subjects.SUBJECTS[target], data)
        spent = time.process_time() - start
        assert spent < PROCESSOR_SECONDS, f"{spent:.1f} seconds"

    atheris.Setup([sys.argv[0], *options], run)
    atheris.Fuzz()


def fuzz_in_turn(rest: list[str]) -> int:
    """Fuzz all targets one after the other; print a line of each, and all of one that fails."""
    worst = 0
    for target in TARGETS:
        command = [sys.executable, __file__, target, *rest]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            errors="replace",
        )  # fmt: skip
        count = re.search(r"number_of_executed_units: (\d+)", done.stdout)
        told = f"{count[1]} inputs" if count else "it did not start"
        print(f"{target}: {told}, exit code {done.returncode}", flush=True)
        if done.returncode or not count:
            print(done.stdout[-10_000:], flush=True)
            worst = 1
    return worst


def main(arguments: list[str]) -> int:
    """Fuzz one target here, or all; return the exit code."""
    target, *rest = arguments
    if target == "all":
        return fuzz_in_turn(rest)
    found, corpus, crashes = (
        folder / target for folder in (ROOT / "build/fuzz", FOLDER / "corpus", FOLDER / "crashes")
    )
    for folder in (found, corpus, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={int(rest[0])}", f"-artifact_prefix={crashes}/", "-rss_limit_mb=2048",
        # The clock on the wall is for what never ends; a busy machine does not run it out.
        "-timeout=240", "-report_slow_units=240",
        "-max_len=240", "-entropic_scale_per_exec_time=1",  # small inputs, and more of the quick ones
        "-reload=0", "-print_final_stats=1", "-verbosity=0",
        *(f"-seed={int(each)}" for each in rest[1:]),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as seeds:
        for number in range(N_SEEDS):
            data = random.Random(number).randbytes(20 + 8 * number)
            (Path(seeds) / str(number)).write_bytes(data)
        fuzz(target, [*options, str(found), str(corpus), seeds])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
