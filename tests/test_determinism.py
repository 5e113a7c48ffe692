"""The same input gives the same bytes: in any process, whatever the hash seed and the threads.

``DETERMINISM_NUMPY`` may name the Python of an environment with another NumPy, to be compared as well
(``make determinism`` makes one).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CODE = """
import hashlib, sys, tempfile
from pathlib import Path
import constrain
from constrain.vocabulary import Vocabulary

words = [b"true", b"false", b"null", b'{"', b'":', b'",', b"}]", b"]]", b"},{", b"ab", b"00", b"12"]
vocabulary = Vocabulary.of([bytes([b]) for b in range(256)] + words + [None], eos=[256 + len(words)])
tree = {
    "type": "object",
    "properties": {
        "value": {"type": "integer", "minimum": -40, "maximum": 977},
        "children": {"items": {"$ref": "#"}}, "name": {"maxLength": 5000}, "free": {},
    },
    "required": ["value"],
}
flat = {
    "type": "object",
    "properties": {
        "a": {"enum": ["x", "y", 1, None]}, "b": {"format": "date"},
        "c": {"oneOf": [{"type": "null"}, {"multipleOf": 7, "type": "integer"}]},
    },
    "dependentRequired": {"a": ["b"]},
}
options = [{"properties": {f"k{i}": {"const": i}}, "required": [f"k{i}"]} for i in range(6)]
choice = {"anyOf": options}
jobs = [({"source": s}, {}) for s in (tree, flat, choice)]
jobs += [({"source": tree}, {"frames": "always", "open": True})]
jobs += [({"regex": r"(\\\\w+|[^a]){2,9}é?"}, {})]
jobs += [({"regex": "(a|b)*a(a|b){6}"}, {"dialect": "bytes"})]
jobs += [({"source": flat}, {"layout": "flexible"})]
jobs += [({"source": constrain.any_json()}, {})]
with tempfile.TemporaryDirectory() as folder:
    for source, options in jobs:
        for compress in (False, True) if "zlib" in sys.argv else (False,):
            path = Path(folder) / "table.npz"
            schema, regex = source.get("source"), source.get("regex")
            chosen = {**options, "output": path, "compress": compress}
            constrain.compile(schema, vocabulary, regex=regex, **chosen)
            print(hashlib.sha256(path.read_bytes()).hexdigest())
"""


def digests(*, python: str = sys.executable, zlib: bool = True, **environment: str) -> list[str]:
    """Return the hashes of files compiled in a process of its own."""
    settings = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    command = [python, "-c", CODE, *(["zlib"] if zlib else [])]
    done = subprocess.run(
        command, env=settings, capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout.split()


@pytest.fixture(scope="module")
def expected() -> list[str]:
    found = digests(PYTHONHASHSEED="0")
    assert len(found) == len(set(found)) == 16
    return found


@pytest.mark.parametrize(("seed", "threads"), [("1", "1"), ("4242", "2"), ("random", "7")])
def test_whatever_the_hash_seed_and_the_threads(
    expected: list[str], seed: str, threads: str
) -> None:
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    assert digests(PYTHONHASHSEED=seed, **dict.fromkeys(names, threads)) == expected


def test_whatever_numpy(expected: list[str]) -> None:
    python = os.environ.get("DETERMINISM_NUMPY")
    if not python:
        pytest.skip("DETERMINISM_NUMPY does not name the Python of another environment")
    assert digests(python=python, PYTHONHASHSEED="3") == expected


def test_compiles_side_by_side_in_threads(tmp_path: Path) -> None:
    import constrain
    from constrain.vocabulary import Vocabulary

    vocabulary = Vocabulary.of([bytes([b]) for b in range(256)] + [None], eos=[256])
    schema = {
        "type": "object",
        "properties": {"a": {"items": {"$ref": "#"}}, "b": {"type": "string"}},
    }

    def job(number: int) -> None:
        constrain.compile(schema, vocabulary, output=tmp_path / f"{number}.npz")

    threads = [threading.Thread(target=job, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {hashlib.sha256(path.read_bytes()).hexdigest() for path in tmp_path.iterdir()}
    assert (len(list(tmp_path.iterdir())), len(found)) == (4, 1)
