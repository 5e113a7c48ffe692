"""The machine of the table format, byte by byte in plain Python, and tables built by brute force.

Nothing here is shared with the package but the dataclasses that hold arrays. A machine is a dict:
``trans`` (list of {byte: next}), ``accept`` (set of states), and with frames ``pop`` ({state:
label}), ``calls`` ([target, {label: return}]), ``tick`` (set), ``escape`` ({state: (count, state)})
and ``zones`` ({state: (tokens to the next tick, pace, count waited for, state then)}). A transition
to a frame is ``("call", site)``.
"""

from __future__ import annotations

import numpy as np

from constrain.tables.format import NO_END, FrameArrays, Table


class Text:
    """A text being read: state (None: dead), count, stack of (site, count)."""

    def __init__(self, machine, state=0, count=0, stack=()):
        self.machine, self.state, self.count, self.stack = machine, state, count, list(stack)

    def copy(self):
        return Text(self.machine, self.state, self.count, self.stack)

    def read(self, byte):
        """Read a byte; return the label if it closed a frame that is not on the stack."""
        machine = self.machine
        target = None if self.state is None else machine["trans"][self.state].get(byte)
        if isinstance(target, tuple):
            site = target[1]
            self.stack.append((site, self.count))
            self.state, self.count = machine["calls"][site][0], 0
            return None
        self.state = target
        if target in machine.get("tick", ()):
            self.count += 1
            at, other = machine.get("escape", {}).get(target, (None, None))
            if at == self.count:
                self.state = other
        label = machine.get("pop", {}).get(self.state)
        if label is None:
            return None
        if not self.stack:
            self.state = None
            return label
        site, self.count = self.stack.pop()
        self.state = machine["calls"][site][1].get(label)
        return None

    def after(self, data):
        twin = self.copy()
        for byte in data:
            twin.read(byte)
        return twin

    @property
    def complete(self):
        return not self.stack and self.state in self.machine["accept"]

    def mask(self, vocab, eos):
        """Return the ids of the tokens that may come next."""
        return [
            token_id
            for token_id, token in enumerate(vocab)
            if (self.complete if token_id in eos else token and self.after(token).state is not None)
        ]


def token_lists(vocab, eos):
    """Return (id, bytes) of the tokens that stand for text."""
    return [(i, token) for i, token in enumerate(vocab) if token and i not in eos]


def build(machine, vocab, eos, meta=None):
    """Return the table of a machine."""
    tokens = token_lists(vocab, eos)
    n = len(machine["trans"])
    trans = np.full((n, 256), -1, dtype=np.int32)
    for state, row in enumerate(machine["trans"]):
        for byte, target in row.items():
            trans[state, byte] = -2 - target[1] if isinstance(target, tuple) else target
    width = -(-len(vocab) // 32)
    rows, row_of = {}, []
    for state in range(n):
        allowed = [i for i in eos if state in machine["accept"]]
        allowed += [i for i, token in tokens if outcome(machine, state, token)[0] != "dead"]
        words = np.zeros(width * 32, dtype=np.uint8)
        words[allowed] = 1
        packed = np.packbits(words, bitorder="little").tobytes()
        row_of.append(rows.setdefault(packed, len(rows)))
    to_end, to_pop = distances(machine, tokens)
    return Table(
        trans=trans,
        accept=np.array([s in machine["accept"] for s in range(n)]),
        masks=np.frombuffer(b"".join(rows), dtype="<i4").reshape(len(rows), width).copy(),
        mask_row=np.array(row_of, dtype=np.int32),
        token_bytes=np.frombuffer(b"".join(token or b"" for token in vocab), dtype=np.uint8),
        token_offsets=np.cumsum([0] + [len(token or b"") for token in vocab]).astype(np.int64),
        eos=np.array(eos, dtype=np.int32),
        tokens_to_end=to_end,
        meta=meta or {},
        frames=frame_arrays(machine, tokens, to_pop) if machine.get("calls") else None,
    )


def outcome(machine, state, token):
    """Return what a token does within the frame it starts in, counts far from any bound.

    ("dead",), ("inside", state, sites) or ("exit", label).
    """
    text = Text({**machine, "escape": {}}, state)
    for at, byte in enumerate(token):
        label = text.read(byte)
        if label is not None:
            return ("exit", label) if at + 1 == len(token) else ("dead",)
        if text.state is None:
            return ("dead",)
    return ("inside", text.state, tuple(site for site, _ in text.stack))


def exits(machine, state, token):
    """Return (prefix, label) where a token closes the frame it starts in, or None."""
    text = Text({**machine, "escape": {}}, state)
    for at, byte in enumerate(token):
        label = text.read(byte)
        if label is not None:
            return token[: at + 1], label
    return None


def distances(machine, tokens):
    """Return fewest tokens to an accepting state, and to each pop, by iterating to a fixed
    point."""
    n, calls = len(machine["trans"]), machine.get("calls", [])
    labels = sorted({label for _, backs in calls for label in backs}) or [0]
    goals = ["end", *labels]
    best = {(s, "end"): 0 for s in machine["accept"]}

    def cost(state, sites, goal):
        if not sites:
            return best.get((state, goal), NO_END)
        backs = calls[sites[-1]][1]
        ways = [
            best.get((state, label), NO_END) + cost(r, sites[:-1], goal)
            for label, r in backs.items()
        ]
        return min([NO_END, *ways])

    outcomes = [{outcome(machine, s, token) for _, token in tokens} for s in range(n)]
    changed = True
    while changed:
        changed = False
        for state in range(n):
            for goal in goals:
                ways = [best.get((state, goal), NO_END)]
                for result in outcomes[state]:
                    if result == ("exit", goal):
                        ways.append(1)
                    elif result[0] == "inside":
                        ways.append(1 + cost(result[1], result[2], goal))
                zone = machine.get("zones", {}).get(state)
                if zone and goal != "end":
                    ways.append(zone[0] + best.get((zone[3], goal), NO_END))
                if min(ways) < best.get((state, goal), NO_END):
                    best[state, goal] = min(ways)
                    changed = True
    table = np.array([[best.get((s, goal), NO_END) for goal in goals] for s in range(n)])
    return table[:, 0].astype(np.int32), table[:, 1:].astype(np.int32)


def frame_arrays(machine, tokens, to_pop):
    """Return the arrays of frames; exit nodes are numbers of prefixes."""
    n, calls, n_labels = len(machine["trans"]), machine["calls"], to_pop.shape[1]
    nodes = {}
    longer = {token[:k] for _, token in tokens for k in range(1, len(token))}

    def found(state, under=b""):
        every = set()
        for _, token in tokens:
            if token.startswith(under) and len(token) > len(under):
                hit = exits(machine, state, token[len(under) :])
                if hit and under + hit[0] in longer and under + hit[0] != token:
                    every.add((nodes.setdefault(under + hit[0], len(nodes) + 1), hit[1]))
        return sorted(every)

    residues = [found(state) for state in range(n)]
    backs = sorted({back for _, returns in calls for back in returns.values()})
    pairs = {}
    grown = True
    while grown:  # pairs name nodes of their own, which are looked at in the next round
        before = len(nodes)
        for back in backs:
            for prefix, node in list(nodes.items()):
                stay = [
                    i
                    for i, token in tokens
                    if token.startswith(prefix)
                    and token != prefix
                    and outcome(machine, back, token[len(prefix) :])[0] != "dead"
                ]
                more = found(back, prefix)
                if stay or more:
                    pairs[back, node] = (stay, more)
        grown = len(nodes) != before
    keys = sorted(pairs)
    distinct = sorted(map(tuple, {tuple(each) for each in residues}))
    returns = np.full((len(calls), n_labels), -1, dtype=np.int32)
    for site, (_, back) in enumerate(calls):
        for label, state in back.items():
            returns[site, label] = state
    zones, escape = machine.get("zones", {}), machine.get("escape", {})
    return FrameArrays(
        pop=np.array([machine["pop"].get(s, -1) for s in range(n)], dtype=np.int32),
        call_target=np.array([target for target, _ in calls], dtype=np.int32),
        call_return=returns,
        tick=np.array([s in machine.get("tick", ()) for s in range(n)]),
        escape=np.array([escape.get(s, (0, -1))[1] for s in range(n)], dtype=np.int32),
        escape_at=np.array([escape.get(s, (0, -1))[0] for s in range(n)], dtype=np.int64),
        tokens_to_pop=to_pop,
        pace=np.array([zones.get(s, (0, 0, 0))[1] for s in range(n)], dtype=np.int32),
        pace_until=np.array([zones.get(s, (0, 0, 0))[2] for s in range(n)], dtype=np.int64),
        residue_row=np.array([distinct.index(tuple(each)) for each in residues], dtype=np.int32),
        residue_offsets=_offsets(distinct),
        residues=_pairs(distinct),
        exit_pair=np.array(keys, dtype=np.int32).reshape(-1, 2),
        exit_token_offsets=_offsets([pairs[key][0] for key in keys]),
        exit_tokens=np.array([i for key in keys for i in pairs[key][0]], dtype=np.int32),
        exit_residue_offsets=_offsets([pairs[key][1] for key in keys]),
        exit_residues=_pairs([pairs[key][1] for key in keys]),
    )


def _offsets(lists):
    return np.cumsum([0] + [len(each) for each in lists]).astype(np.int64)


def _pairs(lists):
    return np.array([pair for each in lists for pair in each], dtype=np.int32).reshape(-1, 2)
