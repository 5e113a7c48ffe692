"""``constrain demo``: compile, inspect and sample the example files that come with the package."""

from __future__ import annotations

import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).with_name("examples")
_N_SAMPLES = 5


def demo() -> None:
    """Compile, inspect and sample the examples that come with the package.

    It works in a temporary folder and leaves nothing behind. The commands it shows can be repeated
    with files of your own.
    """
    from rich.text import Text

    from constrain.cli.compiling import Job, run_job
    from constrain.cli.drawing import texts
    from constrain.cli.facts import facts
    from constrain.cli.report import compiled, inspected
    from constrain.cli.terminal import out
    from constrain.tables import load

    console = out()

    def say(command: str) -> None:
        console.print(Text.assemble(("\n$ ", "dim"), (command, "bold")), soft_wrap=True)

    schema = EXAMPLES / "tool_call.json"
    console.print(
        "The examples: the schema of a tool call, and a tokenizer of 8,000 tokens, in", style="dim"
    )
    console.print(str(EXAMPLES), soft_wrap=True)
    with tempfile.TemporaryDirectory(prefix="constrain-demo-") as folder:
        path = Path(folder) / "tool.npz"
        say("constrain compile tool_call.json --tokenizer tokenizer.json -o tool.npz")
        outcome = run_job(
            Job("tool_call.json", str(schema), None, path), EXAMPLES, {"cache": False}
        )
        assert outcome.facts is not None, outcome.error
        compiled({**outcome.facts, "file": "tool.npz"}, console, verbose=False)
        say("constrain inspect tool.npz")
        table = load(path)
        inspected({**facts(table, path), "file": "tool.npz"}, console)
        say(f"constrain sample tool.npz -n {_N_SAMPLES}")
        for data, _ in texts(table, _N_SAMPLES, 0):
            console.print(data.decode(), soft_wrap=True)
        del table
    console.print("\nAnd while a model samples:\n")
    console.print(
        "    from constrain.tables import Constraint, load\n"
        '    run = Constraint(load("tool.npz"))\n'
        "    run.mask()             # which tokens may come next: bool[V]\n"
        "    run.advance(token_id)  # the one that was sampled"
    )
