"""Run the mutants of ``core.py``: ``make mutants-core``, some minutes, so not part of the default run.

    python tests/mutants/run.py            all, with the survivors at the end
    python tests/mutants/run.py counting   those whose file's name contains a word

The default run only makes sure that every edit still applies (``test_mutants_core.py``).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parent.parent
ROOT = TESTS.parent
sys.path.insert(0, str(TESTS))

from mutants.catalogue import Edit, Mutant  # noqa: E402
from mutants.core import CORE  # noqa: E402


def copy_project(folder: Path) -> None:
    """Lay out a copy whose packages and tests can be edited."""
    skip = shutil.ignore_patterns("__pycache__", "cli", "tables", "*.pyc")
    shutil.copytree(ROOT / "constrain", folder / "constrain", ignore=skip)
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tables", folder / "constrain" / "tables", ignore=ignore)
    shutil.copytree(ROOT / "cli", folder / "constrain" / "cli", ignore=ignore)
    shutil.copytree(
        TESTS, folder / "tests", ignore=shutil.ignore_patterns("__pycache__", "mutants")
    )
    (folder / "pytest.ini").write_text(
        "[pytest]\npythonpath = . tests\naddopts = --import-mode=importlib\n", encoding="utf-8"
    )


def path_of(edit: Edit, folder: Path) -> Path:
    parts = Path(edit.file).parts
    return folder.joinpath(*(("constrain", *parts) if parts[0] == "tables" else parts))


def count(edit: Edit) -> int:
    """Return how often what an edit replaces occurs; it must be once."""
    return (ROOT / edit.file).read_text(encoding="utf-8").count(edit.old)


def survives(mutant: Mutant, folder: Path) -> str:
    """Return why a mutant was not killed; empty if some test failed."""
    copy_project(folder)
    for edit in mutant.edits:
        path = path_of(edit, folder)
        path.write_text(
            path.read_text(encoding="utf-8").replace(edit.old, edit.new), encoding="utf-8"
        )
    tests = [test for test in mutant.tests if (folder / test.split("::")[0]).exists()]
    environment = os.environ | {"PYTHONPATH": f"{folder}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
    ]
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
    except subprocess.TimeoutExpired:
        return ""  # it hangs, which is as good as failing
    if done.returncode == 0:
        return f"no test of {', '.join(mutant.tests)} sees it"
    # A crash of the interpreter is a kill, too; a usage error or a missing test is not.
    return "" if done.returncode == 1 or done.returncode < 0 else done.stdout[-500:]


def main(words: list[str]) -> int:
    """Run the mutants; return the number of survivors."""
    survivors = []
    for mutant in CORE:
        if words and not any(word in mutant.edits[0].file for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = [edit.old for edit in mutant.edits if count(edit) != 1]
            told = f"the edit applies {count(mutant.edits[0])} times" if found else ""
            told = told or survives(mutant, Path(folder))
        print(f"{'SURVIVES' if told else 'killed  '} {mutant.name}  {told}", flush=True)
        survivors += [mutant.name] if told else []
    print(f"{len(survivors)} survivors")
    return len(survivors)


if __name__ == "__main__":
    sys.exit(min(1, main(sys.argv[1:])))
