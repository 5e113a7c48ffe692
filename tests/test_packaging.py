"""What the wheel holds and owns, what it says of itself, and what importing the loader costs."""

from __future__ import annotations

import ast
import email
import itertools
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from constrain import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {"cli": "constrain/cli", "constrain": "constrain", "tables": "constrain/tables"}
HOSTS = ("llama_cpp", "sglang", "vllm")  # imported by their adapters alone; in no extra
HEAVY = {"typer", "rich", "tokenizers", "referencing", "constrain.pipeline", "constrain.vocabulary"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    # Built from a copy, since setuptools would take modules deleted long ago from a stale build/.
    folder = tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__", ".*")
    source = shutil.copytree(ROOT, folder / "source", symlinks=True, ignore=ignored)
    command = [sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "-w", folder, source], check=True, capture_output=True, text=True
    )
    assert "Package would be ignored" not in done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def shipped(wheel: zipfile.ZipFile) -> set[str]:
    """Return the files of a wheel without what it says of itself."""
    return {name for name in wheel.namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_every_module_and_data_file(wheel: zipfile.ZipFile) -> None:
    expected = {
        f"{target}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, target in FOLDERS.items()
        for path in files(ROOT / folder)
    }
    assert shipped(wheel) == expected


def files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder; links and caches are left out."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink() and path.name != "__pycache__":
            yield from files(path)
        elif path.is_file():
            yield path


def test_the_wheel_owns_one_import_name(wheel: zipfile.ZipFile) -> None:
    assert {name.split("/")[0] for name in shipped(wheel)} == {"constrain"}


def test_what_the_wheel_says_of_itself(wheel: zipfile.ZipFile) -> None:
    (about,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
    fields = email.message_from_bytes(wheel.read(about))
    assert (fields["Name"], fields["Version"]) == ("constrain-tables", __version__)
    assert (fields["License-Expression"], fields["Requires-Python"]) == ("Apache-2.0", ">=3.11")
    licence = about.replace("METADATA", "licenses/LICENSE")
    assert wheel.read(licence).lstrip().startswith(b"Apache License")
    entry_points = about.replace("METADATA", "entry_points.txt")
    assert b"constrain = constrain.__main__:main" in wheel.read(entry_points)


def imported() -> set[str]:
    """Return the packages that the code imports anywhere, the standard library left out."""
    found: set[str] = set()
    for path in itertools.chain.from_iterable(files(ROOT / folder) for folder in FOLDERS):
        if path.suffix != ".py" or path.parent.name == "examples":
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").partition(".")[0])
    return found - sys.stdlib_module_names - {"constrain"}


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed, *optional = (
        {re.split(r"[^\w-]", requirement)[0].replace("-", "_") for requirement in requirements}
        for requirements in (project["dependencies"], *project["optional-dependencies"].values())
    )
    assert needed <= imported()
    assert imported() - needed <= {*HOSTS, *itertools.chain(*optional)}


@pytest.mark.parametrize("names", ["constrain", "constrain.tables", "constrain.tables.load"])
def test_importing_the_loader_loads_neither_compiler_nor_command_line(names: str) -> None:
    code = f"import sys, {names}; print(sorted({HEAVY!r} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"


def test_tables_imports_nothing_but_numpy_and_the_standard_library() -> None:
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import constrain.tables, constrain.tables.verify, constrain.tables.write\n"
        "loaded = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(loaded - sys.stdlib_module_names - {'constrain', 'numpy'}))\n"
        "print(*sorted(n for n in sys.modules if n.startswith('constrain.')"
        " and not n.startswith('constrain.tables')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "\n\n"
