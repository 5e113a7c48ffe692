"""``constrain compile``: schemas or a pattern, and a tokenizer, to table files."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from constrain.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constrain.cli.compiling import Job, Outcome
    from constrain.limits import Limits

_LIMITS = "Limits"
_OUTPUT = "Output"
_SUFFIX = ".npz"


def compile(
    schemas: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCHEMA", help="JSON schema files; - is standard input."),
    ] = None,
    *,
    tokenizer: o.Tokenizer,
    regex: Annotated[
        str | None,
        typer.Option("--regex", "-r", metavar="PATTERN", help="A pattern instead of a schema."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            rich_help_panel=_OUTPUT,
            help="The table file, or a folder (with / at the end, or with several schemas)."
            " Without it, SCHEMA.npz in the current folder.",
        ),
    ] = None,
    compress: Annotated[
        bool,
        typer.Option(
            "--compress",
            rich_help_panel=_OUTPUT,
            help="Deflate the file: 3 to 20 times smaller (5 as a rule), but loading takes tens of"
            " milliseconds instead of one, and processes no longer share it.",
        ),
    ] = False,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            metavar="N",
            min=1,
            rich_help_panel=_OUTPUT,
            help="Compile several schemas in N processes.",
        ),
    ] = 1,
    json: o.Json = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing but errors.", rich_help_panel=_OUTPUT)
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Say what each stage takes.", rich_help_panel=_OUTPUT),
    ] = False,
    dialect: o.DialectOption = o.Dialect.text,
    layout: o.LayoutOption = o.Layout.compact,
    open: o.Open = False,
    relax: o.Relax = [],  # noqa: B006
    ref: o.Ref = [],  # noqa: B006
    frames: o.FramesOption = o.Frames.needed,
    cap_length: o.CapLength = None,
    cap_items: o.CapItems = None,
    eos: o.Eos = [],  # noqa: B006
    allow_token: o.AllowToken = [],  # noqa: B006
    forbid_token: o.ForbidToken = [],  # noqa: B006
    vocab_size: o.VocabSize = None,
    no_cache: o.NoCache = False,
    max_states: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            rich_help_panel=_LIMITS,
            help="States of any automaton; 200,000 if not given.",
        ),
    ] = None,
    max_memory: Annotated[
        int | None,
        typer.Option(
            metavar="MIB",
            min=1,
            rich_help_panel=_LIMITS,
            help="MiB of the largest arrays; 2,048 if not given.",
        ),
    ] = None,
    max_output: Annotated[
        int | None,
        typer.Option(
            metavar="MIB",
            min=1,
            rich_help_panel=_LIMITS,
            help="MiB of the table; 2,048 if not given.",
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            rich_help_panel=_LIMITS,
            help="Seconds for one table; 120 if not given.",
        ),
    ] = None,
) -> None:
    """Compile JSON schemas or a pattern, for a tokenizer, into table files.

    constrain compile tool.json --tokenizer tokenizer.json -o tool.npz
    constrain compile tools/*.json -t ./model-folder -o tables/ --jobs 4
    constrain compile --regex '(yes|no)' -t tokenizer.json -o answer.npz
    cat tool.json | constrain compile - -t tokenizer.json -o tool.npz

    Every constraint of a schema is enforced exactly, or the compile fails and names it. If it
    fails, no file is written, and one that was there before stays as it was.
    """
    limits = _limits(max_states, max_memory, max_output, timeout)
    todo = _jobs(schemas or [], regex, output)
    _require_keywords(relax)
    from constrain.cli.inputs import read_refs

    chosen: dict[str, Any] = {"limits": limits, "compress": compress, "frames": frames.value}
    chosen |= {"dialect": dialect.value, "layout": layout.value, "open": open, "relax": relax}
    chosen |= {"refs": read_refs(ref, limits), "cap_length": cap_length, "cap_items": cap_items}
    tokens: dict[str, Any] = {"eos": eos, "vocab_size": vocab_size, "cache": not no_cache}
    tokens |= {"allow_token": allow_token, "forbid_token": forbid_token}
    n_samples = 0 if quiet and not json else 3
    quiet = quiet or json
    with _folder(todo[0].output.parent):
        if len(todo) == 1:
            from constrain.cli.compiling import run_job

            chosen |= tokens
            outcome = run_job(
                todo[0], tokenizer, chosen, quiet=quiet, verbose=verbose, n_samples=n_samples
            )
            outcomes = [outcome]
            _say(outcome, quiet=quiet, verbose=verbose)
        else:
            n_samples = 3 if json else 0
            outcomes = _many(
                todo, tokenizer, chosen, tokens, jobs, quiet=quiet, n_samples=n_samples
            )
    if json:
        from constrain.cli.terminal import print_json

        print_json({"tables": [outcome.as_json() for outcome in outcomes]})
    if any(outcome.error is not None for outcome in outcomes):
        raise typer.Exit(1)


def _limits(
    max_states: int | None, max_memory: int | None, max_output: int | None, timeout: float | None
) -> Limits:
    from constrain.limits import MIB, Limits

    given = {
        "max_states": max_states,
        "max_memory": max_memory and max_memory * MIB,
        "max_output": max_output and max_output * MIB,
        "timeout": timeout,
    }
    return Limits(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


def _require_keywords(relax: Sequence[str]) -> None:
    if relax:
        from constrain.cli.inputs import misspelt_relax

        remark = misspelt_relax(relax)
        if remark:
            raise typer.BadParameter(remark, param_hint="--relax")


def _jobs(schemas: Sequence[str], regex: str | None, output: str | None) -> list[Job]:
    """Return the tables to make, or refuse what cannot be meant."""
    from constrain.cli.compiling import Job

    if regex is not None:
        if schemas:
            raise typer.BadParameter("give either schemas or --regex, not both")
        return [Job(f"--regex {regex}", None, regex, _output(None, output))]
    if not schemas:
        raise typer.BadParameter("give a schema file, - for standard input, or --regex PATTERN")
    if len(schemas) == 1:
        name = schemas[0]
        return [Job(name, name, None, _output(None if name == "-" else name, output))]
    if "-" in schemas:
        raise typer.BadParameter("- stands alone")
    folder = Path(output or ".")
    if output is not None and output.endswith(_SUFFIX) and not folder.is_dir():
        raise typer.BadParameter(
            f"{output} is one table; several schemas make several, so give a folder (--output"
            f" {folder.with_suffix('')}{os.sep}), or leave it out to write them here",
            param_hint="--output",
        )
    if folder.exists() and not folder.is_dir():
        raise typer.BadParameter(
            f"{output} is a file; with several schemas, give a folder", param_hint="--output"
        )
    made: dict[Path, str] = {}
    for name in schemas:
        path = folder / (Path(name).stem + _SUFFIX)
        if path in made:
            raise typer.BadParameter(f"{made[path]} and {name} would both be written to {path}")
        made[path] = name
    return [Job(name, name, None, path) for path, name in made.items()]


def _output(schema: str | None, output: str | None) -> Path:
    """Return the file of a single table."""
    ends = tuple(filter(None, (os.sep, os.altsep)))
    is_folder = output is not None and (output.endswith(ends) or Path(output).is_dir())
    if output is not None and not is_folder:
        folder = Path(output).parent
        if not folder.is_dir():
            raise typer.BadParameter(f"there is no folder {folder}", param_hint="--output")
        return Path(output)
    if schema is None:
        raise typer.BadParameter("say where the table goes: --output FILE", param_hint="--output")
    return Path(output or ".") / (Path(schema).stem + _SUFFIX)


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    """Make a folder for the tables; one that was made and got none is removed again."""
    is_new = not path.exists()
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        if is_new and not any(path.iterdir()):
            path.rmdir()


def _say(outcome: Outcome, *, quiet: bool, verbose: bool) -> None:
    from constrain.cli.report import compiled
    from constrain.cli.terminal import err, out

    _say_remarks(outcome)
    if outcome.facts is not None and not quiet:
        compiled(outcome.facts, out(), verbose=verbose)
    elif outcome.error is not None:
        _say_error(outcome)
    err().file.flush()


def _say_remarks(outcome: Outcome, name: str = "") -> None:
    from rich.text import Text

    from constrain.cli.terminal import err

    for warning in outcome.warnings:
        err().print(Text.assemble(("warning: ", "bold yellow"), name, warning), soft_wrap=True)


def _say_error(outcome: Outcome) -> None:
    from rich.text import Text

    from constrain.cli.terminal import err

    assert outcome.error is not None
    err().print(Text.assemble(("error: ", "bold red"), outcome.error), soft_wrap=True)


def _many(
    todo: Sequence[Job],
    tokenizer: Path,
    chosen: dict[str, Any],
    tokens: dict[str, Any],
    n_workers: int,
    *,
    quiet: bool,
    n_samples: int,
) -> list[Outcome]:
    """Compile several schemas; the vocabulary is read once."""
    from constrain.cli.compiling import run_jobs
    from constrain.cli.terminal import Stages, out
    from constrain.cli.words import count, size
    from constrain.pipeline import read_tokenizer

    outcomes: list[Outcome] = []
    with Stages(quiet=quiet) as stages:
        stages("read the tokenizer")
        vocabulary, _ = read_tokenizer(tokenizer, limits=chosen["limits"], **tokens)
        stages(f"compile {todo[0].name} (1 of {len(todo)})")
        for number, outcome in enumerate(
            run_jobs(todo, vocabulary, chosen, n_workers, n_samples), start=1
        ):
            outcomes.append(outcome)
            _say_remarks(outcome, f"{outcome.job.name}: ")
            if outcome.error is not None:
                _say_error(outcome)
            elif outcome.facts is not None and not quiet:
                about = f"{size(outcome.facts['bytes'])}, {count(outcome.facts['states'], 'state')}"
                out().print(f"{outcome.job.output}  {about}", soft_wrap=True)
            if number < len(todo):
                stages(f"compile {todo[number].name} ({number + 1} of {len(todo)})")
    if not quiet:
        failed = [outcome.job.name for outcome in outcomes if outcome.error is not None]
        bad = f", {len(failed)} failed: {', '.join(failed)}" if failed else ""
        written = count(len(todo) - len(failed), "table")
        out().print(f"{written} written{bad}", soft_wrap=True)
    return outcomes
