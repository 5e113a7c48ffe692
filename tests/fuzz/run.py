"""The coverage-guided fuzzer: ``python tests/fuzz/run.py TARGET SECONDS`` or ``... all SECONDS``.

Each target of ``subjects.py`` runs for the given time in a process of its own, from the corpus in
``corpus/TARGET`` and adding to it; an input that ends in a fault is kept in ``crashes/TARGET`` and replayed
by ``test_fuzz.py`` for ever. Inputs that take longer than 10 seconds or 1 GiB are faults too.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

N_SEEDS = 80  # random inputs to begin with, besides the corpus
TARGETS = ("pattern", "schema", "tokenizer", "table")


def fuzz(target: str, seconds: int) -> None:
    """Fuzz a target in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=["constrain"]):
        from constrain.tables import constraint
        from fuzz import subjects

    constraint.MAX_FORCED = 256  # going round in a circle teaches nothing

    def run(data: bytes) -> None:
        subjects.outcome(subjects.SUBJECTS[target], data)

    corpus, crashes = FOLDER / "corpus" / target, FOLDER / "crashes" / target
    for folder in (corpus, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={seconds}", f"-artifact_prefix={crashes}/", "-timeout=10", "-rss_limit_mb=2048",
        "-max_len=600", "-reload=0", "-print_final_stats=1", "-verbosity=0",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as seeds:
        for number in range(N_SEEDS):
            (Path(seeds) / str(number)).write_bytes(
                random.Random(number).randbytes(20 + 4 * number)
            )
        atheris.Setup([sys.argv[0], *options, str(corpus), seeds], run)
        atheris.Fuzz()


def main(arguments: list[str]) -> int:
    """Fuzz one target here, or all one after the other; return the exit code."""
    target, seconds = arguments[0], int(arguments[1])
    if target != "all":
        fuzz(target, seconds)
        return 0
    codes = [
        subprocess.run([sys.executable, __file__, each, str(seconds)], check=False).returncode
        for each in TARGETS
    ]
    return max(map(abs, codes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
