"""Every deliberate mistake of ``mutants/catalogue.py`` is seen by a test.

For each mutant the package is copied, the copy edited, and the tests named in the catalogue run on it
in a process of their own; they must fail, as tests (a copy that cannot be imported proves nothing).
Two seconds each, so without CONSTRAIN_MUTANTS (`make mutants` sets it) there is one for each pitfall.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mutants.catalogue import MUTANTS

TESTS = Path(__file__).parent
ROOT = TESTS.parent
FIRSTS = list({mutant.pitfall: mutant for mutant in reversed(MUTANTS)}.values())
CHOSEN = MUTANTS if os.environ.get("CONSTRAIN_MUTANTS") else FIRSTS
SUITE = "test_seed_contract.py"
PASSED, FAILED = 0, 1  # exit codes of pytest

# The copy must be what is tested, not an installed package.
CONFTEST = """
from pathlib import Path
import constrain, constrain.tables
for module in (constrain, constrain.tables):
    assert Path(module.__file__).is_relative_to(Path(__file__).parent), module.__file__
"""


def copy_package(folder):
    """Lay out the package as it is installed, with the tests beside it."""
    skip = shutil.ignore_patterns("__pycache__", "cli", "tables", "*.pyc")
    shutil.copytree(ROOT / "constrain", folder / "constrain", ignore=skip)
    shutil.copytree(
        ROOT / "tables", folder / "constrain" / "tables", ignore=shutil.ignore_patterns("*.pyc")
    )
    for name in ("oracles", "golden"):
        shutil.copytree(TESTS / name, folder / name)
    shutil.copy(TESTS / SUITE, folder)
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")


def source_of(edit):
    """Return where the file of an edit lies in the copy."""
    file = Path(edit.file)
    return Path("constrain") / file if file.parts[0] == "tables" else file


def run_suite(folder, tests):
    """Run tests by name on a copy; return the exit code and what was printed."""
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += [f"{SUITE}::{test}" for test in tests]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def run_mutant(mutant, folder):
    """Apply the edits of a mutant to a copy and run its tests."""
    copy_package(folder)
    for edit in mutant.edits:
        path = folder / source_of(edit)
        text = path.read_text(encoding="utf-8")
        if text.count(edit.old) != 1:
            message = f"{edit.old!r} occurs {text.count(edit.old)} times in {edit.file}, not once"
            return None, message
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")
    return run_suite(folder, mutant.tests)


@pytest.mark.parametrize("mutant", CHOSEN, ids=lambda mutant: mutant.name)
def test_mutant_is_killed(mutant, tmp_path):
    code, output = run_mutant(mutant, tmp_path)
    assert code is not None, f"the edit of {mutant.name} no longer applies: {output}"
    assert code == FAILED, f"{mutant.mistake}: no test of {mutant.tests} sees it\n{output}"


def test_the_copy_without_a_mistake_passes(tmp_path):
    """Otherwise the failures above would prove nothing."""
    copy_package(tmp_path)
    tests = sorted({test for mutant in MUTANTS for test in mutant.tests})
    code, output = run_suite(tmp_path, tests)
    assert code == PASSED, output


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_edit_applies_once(mutant):
    for edit in mutant.edits:
        assert (ROOT / edit.file).read_text(encoding="utf-8").count(edit.old) == 1, edit


def test_every_pitfall_has_a_mutant():
    assert {mutant.pitfall for mutant in MUTANTS} >= set(range(1, 13))
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
