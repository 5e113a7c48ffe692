"""``constrain diff``: are two languages equal, and if not, which shortest text tells them apart.

The two sides become automata, and set differences answer everything. A side with frames is unrolled
to a depth: an ordinary automaton of its texts in which at most so many frames are open at once. If
no text needs more, the answer is exact; else it says up to which depth it holds. A text that is
said to tell the two apart is always tried on the whole machines first, so it always does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from constrain.cli import options as o

if TYPE_CHECKING:
    from constrain.dfa import DFA
    from constrain.limits import Meter
    from constrain.machine import Machine

EQUAL, WIDER, NARROWER, OTHER = 0, 3, 4, 5
_PATTERN = "re:"
_DEEPER = 4  # depths by which the other side is unrolled further, to see through a spurious witness


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two languages.

    Attributes
    ----------
    name : str
    machine : Machine
    choices : dict
        What a table says of how it was made.
    """

    name: str
    machine: Machine
    choices: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Difference:
    """How two languages differ.

    Attributes
    ----------
    only_a, only_b : bytes or None
        A shortest text of one alone.
    depth : int or None
        The number of open frames up to which it was looked; None if the answer is exact.
    """

    only_a: bytes | None
    only_b: bytes | None
    depth: int | None

    @property
    def code(self) -> int:
        """The exit code."""
        if self.only_a is None:
            return EQUAL if self.only_b is None else WIDER
        return NARROWER if self.only_b is None else OTHER


def diff(
    a: Annotated[
        str, typer.Argument(metavar="A", help="A table (.npz), a JSON schema file, or re:PATTERN.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The same for the other side.")],
    *,
    depth: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="With frames: how many may be open at once."),
    ] = 3,
    layout: o.LayoutOption = o.Layout.compact,
    open: o.Open = False,
    ref: o.Ref = [],  # noqa: B006
    relax: o.Relax = [],  # noqa: B006
    dialect: o.DialectOption = o.Dialect.text,
    json: o.Json = False,
) -> None:
    """Compare two languages: equal, or a shortest text that only one of them has.

    constrain diff old.json new.json
    constrain diff tool.npz tool.json
    constrain diff 're:[0-9]+' 're:[0-9]{1,3}'

    Exit code: 0 equal, 3 B has all of A and more, 4 A has all of B and more, 5 each has texts of
    its own. So a change of a schema that may only widen it is one that exits 0 or 3.
    """
    from constrain.limits import Limits, Meter

    meter = Meter(Limits())
    chosen = {"layout": layout.value, "open": open, "relax": relax, "refs": ref}
    sides = [read_side(name, meter, dialect.value, chosen) for name in (a, b)]
    found = compare(sides[0].machine, sides[1].machine, depth, meter)
    if json:
        from constrain.cli.terminal import print_json

        print_json(
            {
                "relation": _RELATIONS[found.code],
                "only_a": _text(found.only_a),
                "only_b": _text(found.only_b),
                "exact": found.depth is None,
                "depth": found.depth,
            }
        )
    else:
        _draw(found, *sides)
    raise typer.Exit(found.code)


_RELATIONS = {EQUAL: "equal", WIDER: "a in b", NARROWER: "b in a", OTHER: "neither"}


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", errors="backslashreplace")


def read_side(name: str, meter: Meter, dialect: Any, chosen: dict[str, Any]) -> Side:
    """Return the language of an argument."""
    from constrain.errors import ConstrainError, SchemaError
    from constrain.pipeline import find_machine, pattern_source, schema_source

    if name.startswith(_PATTERN):
        pattern = name.removeprefix(_PATTERN)
        source = pattern_source(pattern, dialect, meter)
        return Side(pattern, find_machine(lambda _: source, "needed", meter)[1])
    if not Path(name).exists():
        raise ConstrainError(f"{name}: no such file; a pattern is written {_PATTERN}PATTERN")
    with Path(name).open("rb") as file:
        is_table = file.read(2) == b"PK"
    if is_table:
        from constrain.cli.inputs import load_table
        from constrain.cli.told import told

        table = load_table(Path(name))
        meta = told(table.meta)
        about = {**meta["options"], "relaxed": meta["relaxed"]}
        return Side(name, _machine_of(table), about | {"tokenizer": table.fingerprint})
    from constrain.cli.inputs import Mistake, read_refs, read_schema

    schema, text = read_schema(name, meter.limits)
    options: dict[str, Any] = chosen | {"refs": read_refs(chosen["refs"], meter.limits)}
    caps: dict[str, Any] = {"cap_length": None, "cap_items": None}
    try:
        machine: Machine = find_machine(
            lambda mode: schema_source(schema, text.text, meter, frames=mode, **caps, **options),
            "needed",
            meter,
        )[1]
    except SchemaError as error:
        raise Mistake(error, text) from error
    return Side(name, machine)


def _machine_of(table: Any) -> Machine:
    """Return the machine that a table holds."""
    import numpy as np

    from constrain.dfa import DFA
    from constrain.machine import Machine

    dfa = DFA(table.trans, table.accept)
    if table.frames is None:
        return Machine.of(dfa)
    frames = table.frames
    zeros = np.zeros(table.n_states, dtype=np.int64)
    return Machine(
        dfa, frames.pop, frames.call_target, frames.call_return, frames.tick, frames.escape,
        frames.escape_at, zeros,
    )  # fmt: skip


def compare(a: Machine, b: Machine, depth: int, meter: Meter) -> Difference:
    """Return how the languages of two machines differ."""
    if _same(a, b):
        return Difference(None, None, None)
    left, left_whole = unroll(a, depth, meter)
    right, right_whole = unroll(b, depth, meter)
    only_a = _witness(left, b, right, depth, whole=right_whole, meter=meter)
    only_b = _witness(right, a, left, depth, whole=left_whole, meter=meter)
    return Difference(only_a, only_b, None if left_whole and right_whole else depth)


def _same(a: Machine, b: Machine) -> bool:
    """Return whether two machines are the same arrays; then their languages are equal."""
    import numpy as np

    return a.dfa.same_as(b.dfa) and all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("pop", "call_target", "call_return", "tick", "escape", "escape_at")
    )


def _witness(
    left: DFA, other: Machine, right: DFA, depth: int, *, whole: bool, meter: Meter
) -> bytes | None:
    """Return a shortest text of ``left`` that the other machine refuses.

    Where ``right`` is only a part of the other language, a text outside of it may be in the rest;
    then a larger part is looked at.
    """
    from constrain.algebra import difference, shortest
    from constrain.errors import ConstrainError

    for deeper in range(1, _DEEPER + 2):
        found = shortest(difference(left, right, meter))
        if found is None or not other.matches(found):
            return found
        if whole:
            break
        right, whole = unroll(other, depth + deeper, meter)
    raise ConstrainError(
        f"undecided: the two nest their frames so differently that depth {depth + _DEEPER} does not"
        " tell; a smaller --depth may"
    )


def unroll(machine: Machine, depth: int, meter: Meter) -> tuple[DFA, bool]:
    """Return the texts of a machine with at most so many frames open, and whether that is all.

    Raises
    ------
    LimitError
        If that takes more than ``max_states`` configurations.
    """
    from constrain.minimize import minimal_dfa

    if machine.is_plain:
        return machine.dfa, True
    edges = machine.dfa.edges
    accept = machine.dfa.accept.tolist()
    numbers: dict[Any, int] = {(0, 0, ()): 0}
    order: list[Any] = [(0, 0, ())]
    moves: list[dict[int, int]] = []
    whole = True
    for config in order:
        row: dict[int, int] = {}
        for bits, target in edges[config[0]]:
            after = _after(machine, config, target)
            if after is None:
                continue
            if len(after[2]) > depth:
                whole = False
                continue
            number = numbers.setdefault(after, len(order))
            if number == len(order):
                order.append(after)
            row[number] = row.get(number, 0) | bits
        moves.append(row)
        if len(moves) % 512 == 0:
            meter.require("states of the unrolled frames", len(order), meter.limits.max_states)
    kinds = [accept[state] and not stack for state, _, stack in order]
    return minimal_dfa(kinds, moves, meter), whole


def _after(machine: Machine, config: Any, target: int) -> Any:
    """Return the configuration after an edge with that target; None if it is dead."""
    state, n_ticks, stack = config
    if target < -1:
        site = -2 - target
        return int(machine.call_target[site]), 0, (*stack, (site, n_ticks))
    state = target
    if machine.tick[state]:
        n_ticks += 1
        if machine.escape[state] >= 0 and n_ticks == machine.escape_at[state]:
            state = int(machine.escape[state])
    while (label := int(machine.pop[state])) >= 0:
        if not stack:
            return None
        *rest, (site, n_ticks) = stack
        stack = tuple(rest)
        state = int(machine.call_return[site, label])
        if state < 0:
            return None
    return state, n_ticks, stack


_WORDS = {
    EQUAL: ("equal", "the two have the same texts"),
    WIDER: ("wider", "B has every text of A, and more"),
    NARROWER: ("narrower", "A has every text of B, and more"),
    OTHER: ("different", "each has texts that the other has not"),
}


def _draw(found: Difference, a: Side, b: Side) -> None:
    from rich.text import Text

    from constrain.cli.terminal import facts_grid, out, show
    from constrain.cli.words import cropped, shown

    console = out()
    name, words = _WORDS[found.code]
    style = "bold green" if found.code == EQUAL else "bold yellow"
    console.print(Text.assemble((name, style), f": {words}"))
    width = 3 * (console.width - 12)
    rows: list[tuple[str, str | Text]] = [
        ("A", cropped(a.name, width)),
        ("B", cropped(b.name, width)),
    ]
    for label, text in (("only A", found.only_a), ("only B", found.only_b)):
        if text is not None:
            rows.append((label, Text(shown(text, width) or "(the empty text)", style="green")))
    if found.depth is not None:
        rows.append(
            (
                "depth",
                f"looked at texts with at most {found.depth} frames open; --depth looks deeper",
            )
        )
    for key in sorted(a.choices.keys() & b.choices.keys()):
        if a.choices[key] != b.choices[key]:
            rows.append((key, f"A {_choice(a.choices[key])}, B {_choice(b.choices[key])}"))
    show(console, facts_grid(rows))


def _choice(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value)[:12] if isinstance(value, str) else str(value)
