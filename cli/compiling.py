"""One compile or many, with what the command line adds: names, reports, workers.

A ``Job`` is one table to make. ``run_job`` makes it and says how that went; it never raises for a
mistake in the input, so that one bad schema among thirty costs one table. Several jobs may run in
worker processes. They leave interrupts to the parent, which terminates them; a worker that is
terminated takes its half-written file with it.
"""

from __future__ import annotations

import importlib
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constrain.cli.errors import as_json, describe
from constrain.cli.facts import facts
from constrain.cli.inputs import SchemaText, read_schema
from constrain.cli.terminal import Stages
from constrain.errors import ConstrainError, LimitError
from constrain.limits import Limits
from constrain.pipeline import compile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from constrain.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Job:
    """One table to make.

    Attributes
    ----------
    name : str
        What is compiled, for people.
    schema : str | None
        The schema file, or ``-``; None for a pattern.
    regex : str | None
        The pattern.
    output : Path
    """

    name: str
    schema: str | None
    regex: str | None
    output: Path


@dataclass(slots=True)
class Outcome:
    """How a job went.

    Attributes
    ----------
    job : Job
    facts : dict | None
        What there is to say of the table; None if there is none.
    error : Text | None
        What went wrong, for people.
    details : dict
        The error as JSON values; empty if there is none.
    warnings : list[str]
    """

    job: Job
    facts: dict[str, Any] | None = None
    error: Text | None = None
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    warnings: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as JSON values."""
        about: dict[str, Any] = {"input": self.job.name, "output": str(self.job.output)}
        about["ok"] = self.facts is not None
        about |= self.details
        return about | {"warnings": self.warnings} | (self.facts or {})


def run_job(
    job: Job,
    tokenizer: Path | Vocabulary,
    options: dict[str, Any],
    *,
    quiet: bool = False,
    verbose: bool = False,
    n_samples: int = 3,
) -> Outcome:
    """Make one table.

    Parameters
    ----------
    options : dict
        Keyword arguments of ``constrain.compile``.
    n_samples : int
        How many random texts the facts hold.
    """
    outcome = Outcome(job)
    text: SchemaText | None = None
    stages = Stages(quiet=quiet, verbose=verbose)
    try:
        with stages:
            if job.schema is not None:
                stages("load the compiler")
                remarks_of = importlib.import_module("constrain.schema.remarks").remarks
                stages("read the schema")
                schema, text = read_schema(job.schema, options.get("limits") or Limits())
                outcome.warnings = remarks_of(schema, options.get("refs", ()))
            table = compile(
                None if text is None else text.data,
                tokenizer,
                regex=job.regex,
                output=job.output,
                progress=stages,
                **options,
            )
        outcome.facts = facts(table, job.output, n_samples) | {"seconds": stages.times}
    except ConstrainError as error:
        outcome.error, outcome.details = describe(error, text), as_json(error, text)
        if isinstance(error, LimitError):
            stage = list(stages.times)[-1]
            outcome.error.append(f"\n  reached at the stage: {stage}")
            outcome.details["stage"] = stage
    except OSError as error:
        if str(error.filename).endswith(".tmp"):  # a table is written beside its place, then moved
            error.filename = job.output
        error.filename = error.filename or job.name
        outcome.error, outcome.details = describe(error), as_json(error)
    return outcome


def run_jobs(
    jobs: Sequence[Job],
    tokenizer: Vocabulary,
    options: dict[str, Any],
    n_workers: int,
    n_samples: int,
) -> Iterator[Outcome]:
    """Make several tables, in the order of the jobs, in worker processes if more than one."""
    if n_workers <= 1:
        for job in jobs:
            yield run_job(job, tokenizer, options, quiet=True, n_samples=n_samples)
        return
    import multiprocessing  # a single table does without

    with multiprocessing.Pool(
        min(n_workers, len(jobs)), _begin_worker, (tokenizer, options, n_samples)
    ) as pool:
        yield from pool.imap(_work, jobs)


_shared: dict[str, Any] = {}


def _begin_worker(tokenizer: Vocabulary, options: dict[str, Any], n_samples: int) -> None:
    """Set up a worker: what all jobs share, and how it is stopped."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    _shared.update(tokenizer=tokenizer, options=options, n_samples=n_samples)


def _stop(signum: int, frame: object) -> None:
    raise SystemExit(128 + signum)


def _work(job: Job) -> Outcome:
    return run_job(job, **_shared, quiet=True)
