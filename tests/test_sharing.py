"""Runs in threads and in processes that share one mapped file give what a single thread gives."""

import inspect
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from tokenizers_on_disk import EXAMPLES

from constrain.pipeline import compile as compile_table
from constrain.tables import load

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "children": {"type": "array", "items": {"$ref": "#"}, "minItems": 1, "maxItems": 3},
    },
    "required": ["name"],
}
FLAT = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "string"}}}
SEEDS = range(6)


def digest(table: Any, seeds: Any) -> str:
    """Return a hash of all masks and tokens of a few texts, budgeted and not, in a batch."""
    import hashlib

    import numpy as np

    from constrain.tables import Constraint, ConstraintBatch

    found = hashlib.sha256()
    rngs = [np.random.default_rng(seed) for seed in seeds]
    batch = ConstraintBatch([Constraint(table, budget=(None, 25, 40)[seed % 3]) for seed in seeds])
    for _ in range(45):
        found.update(batch.fill().tobytes())
        tokens = []
        for run, rng in zip(batch.runs, rngs, strict=True):
            allowed = [0] if run.done else np.flatnonzero(run.mask())
            tokens.append(int(rng.choice(allowed)))
        batch.advance(tokens)
        found.update(repr([(run.state, *run.forced_tokens()) for run in batch.runs]).encode())
    return found.hexdigest()


@pytest.fixture(scope="module", params=[PERSON, FLAT], ids=["frames", "plain"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("table") / "table.npz"
    table = compile_table(request.param, str(EXAMPLES), output=found)
    assert table.is_plain == (request.param is FLAT)
    return found


def test_threads_agree_with_one_thread(path: Path) -> None:
    expected = digest(load(path), SEEDS)
    shared, start = load(path), Barrier(4)

    def work(_: int) -> str:
        start.wait()
        return digest(shared, SEEDS)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(4))) == {expected}


def test_processes_agree_with_one_thread(path: Path) -> None:
    code = (
        f"{inspect.getsource(digest)}\n"
        "from typing import Any\n"
        "import sys\n"
        "from constrain.tables import load\n"
        f"print(digest(load(sys.argv[1]), range({len(SEEDS)})))"
    )
    code = "from __future__ import annotations\n" + code
    command = [sys.executable, "-c", code, str(path)]
    root = Path(__file__).resolve().parent.parent
    workers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(3)
    ]
    answers = {worker.communicate()[0].strip() for worker in workers}
    assert answers == {digest(load(path), SEEDS)}
