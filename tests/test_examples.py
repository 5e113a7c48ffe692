"""The example scripts run as they are, and write what their tables allow."""

import ast
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tokenizers_on_disk import EXAMPLES

from constrain.pipeline import compile as compile_table

SCHEMA = json.loads((EXAMPLES / "tool_call.json").read_text())


def run(name: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


@pytest.mark.parametrize("budget", [[], ["9"]])
def test_the_sampling_loop(
    budget: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "tool.npz"
    compile_table(SCHEMA, str(EXAMPLES), output=path)
    run("sampling_loop.py", [str(path), *budget], monkeypatch)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    for line in lines:
        jsonschema.validate(json.loads(line), SCHEMA)


def test_generate_of_transformers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    run("with_transformers.py", [], monkeypatch)
    answers: list[Any] = [ast.literal_eval(line) for line in capsys.readouterr().out.splitlines()]
    assert len(answers) == 2
    for answer in answers:
        jsonschema.validate(answer, SCHEMA)
