"""The plain-Python reader agrees with the loader and the run time."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hand_tables import brackets_table, plain_table

from constrain.tables import Constraint, load
from constrain.tables.plain_reader import PlainTable

TABLES = {"plain": plain_table, "frames": brackets_table}


@pytest.mark.parametrize("kind", TABLES)
def test_the_plain_reader_agrees_with_the_loader(kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "table.npz")
    TABLES[kind](about="ü").save(path)
    table, plain = load(path), PlainTable(path)
    for key, array in table.arrays().items():
        assert plain.arrays[key].tolist() == array.reshape(-1).tolist()
    assert plain.meta == table.meta
    assert [plain.token(t) for t in range(plain.n_tokens)] == [
        table.token(t) for t in range(table.n_tokens)
    ]


@pytest.mark.parametrize("kind", TABLES)
def test_the_plain_reader_allows_what_a_run_allows(kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "table.npz")
    TABLES[kind]().save(path)
    table, plain = load(path), PlainTable(path)
    rng = np.random.default_rng(4)
    for _ in range(30):
        run, text = Constraint(table), plain.start
        for _ in range(30):
            allowed = plain.allowed(text)
            assert allowed == np.flatnonzero(run.mask()).tolist()
            assert plain.complete(text) == run.is_complete()
            token_id = int(rng.choice(allowed))
            run.advance(token_id)
            if run.done:
                break
            after = plain.after(text, token_id)
            assert after is not None
            text = after
    assert plain.after(plain.start, 12) is None


def test_the_plain_reader_stands_alone(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    plain_table().save(path)
    source = Path(__file__).resolve().parent.parent / "tables" / "plain_reader.py"
    copied = tmp_path / "reader.py"
    copied.write_text(source.read_text())
    code = (
        "import sys; from reader import PlainTable; t = PlainTable('table.npz');"
        "print(t.allowed(t.start), 'numpy' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert result.stdout == "[0, 4, 8, 9, 10] False\n"
