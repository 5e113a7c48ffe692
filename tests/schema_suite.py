"""Run the JSON-Schema-Test-Suite and keep a ratchet: no test may get worse.

    python tests/schema_suite.py            print the counts, and what differs from the ratchet
    python tests/schema_suite.py --update   rewrite the ratchet, tests/golden/schema_suite.json

Each test of the suite is a schema, an instance and whether it is valid. Its outcome, best first:

    pass             a valid instance is accepted in one of its layouts, an invalid one in none
    refused: K       the schema is refused, by the name of keyword K (or by a limit)
    key_order        a valid instance is accepted only in an order that the rule does not give
    false_negative   a valid instance is refused in every order
    crash: E         an error that is not one of this package's
    false_positive   an invalid instance is accepted

A schema whose error says that nothing can satisfy it counts as one that accepts nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from oracles.instance_layout import Arranger, candidates, load, permutations, text_of  # noqa: E402

from constrain.errors import ConstrainError, LimitError, SchemaError, UnsupportedSchema  # noqa: E402
from constrain.limits import Limits, Meter  # noqa: E402
from constrain.machine import Machine  # noqa: E402
from constrain.pipeline import find_machine, schema_source  # noqa: E402

SUITE = ROOT.parent / "shared" / "data" / "json-schema-test-suite"
RATCHET = ROOT / "tests" / "golden" / "schema_suite.json"
DRAFTS = {
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
RANKS = ("pass", "refused", "key_order", "false_negative", "crash", "false_positive")


def compile_machine(
    schema: Any, *, open_: bool = False, refs: tuple[Any, ...] = (), seconds: float = 20.0
) -> Machine:
    """Return the byte machine of a schema, as the pipeline makes it but without a tokenizer."""
    meter = Meter(Limits(timeout=seconds))

    def source(frames: Any) -> Any:
        return schema_source(
            schema,
            "",
            meter,
            layout="compact",
            open=open_,
            relax=(),
            refs=refs,
            frames=frames,
            cap_length=None,
            cap_items=None,
        )

    return find_machine(source, "needed", meter)[1]


def files() -> list[str]:
    """Return the files of the suite that are run: required ones, and formats."""
    found: list[Path] = []
    for draft in DRAFTS:
        base = SUITE / "tests" / draft
        found += [*base.glob("*.json"), *(base / "optional" / "format").glob("*.json")]
    return sorted(path.relative_to(SUITE / "tests").as_posix() for path in found)


@cache
def remotes(draft: str) -> dict[str, Any]:
    """Return the documents that the suite expects at http://localhost:1234/."""
    base = SUITE / "remotes"
    others = set(DRAFTS) - {draft} | {"draft3", "draft4", "draft6", "draft2019-09", "v1"}
    return {
        f"http://localhost:1234/{path.relative_to(base).as_posix()}": load(path.read_bytes())
        for path in sorted(base.rglob("*.json"))
        if path.relative_to(base).parts[0] not in others
    }


def run_file(name: str) -> dict[str, str]:
    """Return the outcome of each test of a file, by group and description."""
    draft = name.split("/", maxsplit=1)[0]
    outcomes: dict[str, str] = {}
    for group in load((SUITE / "tests" / name).read_bytes()):
        schema = group["schema"]
        if isinstance(schema, dict) and "$schema" not in schema:
            schema = {"$schema": DRAFTS[draft], **schema}
        for test, outcome in run_group(schema, group["tests"], draft):
            outcomes[f"{group['description']} / {test['description']}"] = outcome
    return outcomes


def run_group(schema: Any, tests: list[Any], draft: str) -> list[tuple[Any, str]]:
    """Return the outcome of each test of one schema."""
    machine: Machine | None = None
    try:
        machine = compile_machine(schema, open_=True, refs=tuple(remotes(draft).items()))
    except UnsupportedSchema as error:
        return [(test, f"refused: {error.keyword}") for test in tests]
    except SchemaError:
        pass  # nothing can satisfy it: at this point no text is accepted
    except LimitError as error:
        return [(test, f"refused: {error.what}") for test in tests]
    except ConstrainError as error:
        return [(test, f"refused: {type(error).__name__}") for test in tests]
    except Exception as error:
        return [(test, f"crash: {type(error).__name__}: {error}") for test in tests]
    arranger = Arranger(schema, remotes(draft), DRAFTS[draft])
    return [(test, judge(machine, arranger, test["data"], test["valid"])) for test in tests]


def accepts(machine: Machine | None, text: str) -> bool:
    """Return whether the machine, if there is one, accepts a text."""
    return machine is not None and machine.matches(text.encode())


def judge(machine: Machine | None, arranger: Arranger, instance: Any, valid: bool) -> str:
    """Return the outcome of one instance."""
    if any(accepts(machine, text) for text in candidates(arranger, instance)):
        return "pass" if valid else "false_positive"
    orders = (text_of(order, plain=True) for order in permutations(instance))
    if any(accepts(machine, text) for text in orders):
        return "key_order" if valid else "false_positive"
    return "false_negative" if valid else "pass"


def rank(outcome: str) -> int:
    """Return how far an outcome is from the right one."""
    return RANKS.index(outcome.split(":", maxsplit=1)[0])


def regressions(name: str, outcomes: dict[str, str], ratchet: dict[str, Any]) -> list[str]:
    """Return what got worse, and every false positive and crash, as lines to read."""
    before = ratchet.get(name, {})
    return [
        f"{name}: {test}: {before.get(test, 'new')} -> {outcome}"
        for test, outcome in outcomes.items()
        if rank(outcome) >= RANKS.index("crash")
        or rank(outcome) > rank(before.get(test, "refused"))
    ]


@cache
def read_ratchet() -> dict[str, dict[str, str]]:
    """Return the recorded outcomes: file -> test -> outcome."""
    recorded: dict[str, dict[str, str]] = json.loads(RATCHET.read_text())["tests"]
    return recorded


def main() -> int:
    """Run everything, print the counts, compare or update."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--update", action="store_true", help="rewrite the ratchet")
    parser.add_argument("--only", default="", help="run files whose name contains this")
    options = parser.parse_args()
    results = {name: run_file(name) for name in files() if options.only in name}
    ratchet = read_ratchet() if RATCHET.exists() else {}
    for draft in DRAFTS:
        counts = Counter(
            outcome.split(":")[0]
            for name, tests in results.items()
            if name.startswith(draft + "/")
            for outcome in tests.values()
        )
        print(draft, ", ".join(f"{kind} {counts[kind]}" for kind in RANKS))
    reasons = Counter(o for tests in results.values() for o in tests.values() if ":" in o)
    for reason, n in reasons.most_common(25):
        print(f"{n:6} {reason}")
    for name, tests in results.items():
        for test, outcome in tests.items():
            if rank(outcome) >= RANKS.index("key_order"):
                print(f"{outcome:15} {name}: {test}")
    if options.update:
        counts = Counter(o.split(":")[0] for tests in results.values() for o in tests.values())
        document = {"command": "python tests/schema_suite.py --update", "counts": counts}
        RATCHET.write_text(json.dumps({**document, "tests": results}, indent=1) + "\n")
        return 0
    worse = [line for name, tests in results.items() for line in regressions(name, tests, ratchet)]
    print("\n".join(["WORSE than the ratchet:", *worse]) if worse else "nothing is worse")
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
