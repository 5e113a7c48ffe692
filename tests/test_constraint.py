"""Runs over tables: masks, steps, rollback, forks, budgets, forced text; with and without frames."""

import pickle
import threading
from multiprocessing import get_context

import numpy as np
import pytest
from hand_tables import (
    BRACKETS,
    BRACKETS_EOS,
    BRACKETS_VOCAB,
    PLAIN,
    PLAIN_EOS,
    PLAIN_VOCAB,
    brackets_table,
    plain_table,
)
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from oracles.machine import Text, build

from constrain.tables import (
    BudgetError,
    Constraint,
    StackLimitError,
    Table,
    TableError,
    TokenRefused,
    framed,
    load,
)

KINDS = {
    "plain": (PLAIN, PLAIN_VOCAB, PLAIN_EOS, plain_table()),
    "frames": (BRACKETS, BRACKETS_VOCAB, BRACKETS_EOS, brackets_table()),
}


def ids(run: Constraint) -> list[int]:
    return [int(token_id) for token_id in np.flatnonzero(run.mask())]


def feed(run: Constraint, *tokens: bytes) -> Constraint:
    for token in tokens:
        run.advance(BRACKETS_VOCAB.index(token))
    return run


def walk(kind: str, rng: np.random.Generator, length: int) -> list[tuple[Constraint, Text]]:
    """Return runs and oracles after each token of a random text."""
    machine, vocab, _, table = KINDS[kind]
    run, text = Constraint(table), Text(machine)
    met = [(run.fork(), text)]
    for _ in range(length):
        token_id = int(rng.choice(ids(run)))
        run.advance(token_id)
        if run.done:
            break
        text = text.after(vocab[token_id])
        met.append((run.fork(), text))
    return met


# Masks.


@pytest.mark.parametrize("kind", KINDS)
def test_masks_are_those_of_the_byte_machine_in_every_context(kind: str) -> None:
    _, vocab, eos, _ = KINDS[kind]
    rng = np.random.default_rng(5)
    contexts = 0
    for _ in range(60):
        for run, text in walk(kind, rng, 40):
            expected = text.mask(vocab, eos)
            assert ids(run) == expected
            assert [i for i in range(-2, len(vocab) + 3) if run.allowed(i)] == expected
            assert (run.state, run.is_complete()) == (text.state, text.complete)
            contexts += 1
    assert contexts > 100


def test_counted_frames_hold_their_bounds_exactly() -> None:
    for n in range(12):
        data = b"a" * n
        at_most_6 = Constraint(KINDS["frames"][3])
        feed(at_most_6, b"[", b"<")
        fits = at_most_6.validate([BRACKETS_VOCAB.index(bytes([b])) for b in data + b">"]) == n + 1
        assert fits == (n <= 6)
        at_least_4 = feed(Constraint(KINDS["frames"][3]), b"[", b"{")
        tokens = [BRACKETS_VOCAB.index(b"b")] * n + [BRACKETS_VOCAB.index(b"}")]
        assert (at_least_4.validate(tokens) == n + 1) == (n >= 4)


def test_a_token_is_allowed_for_what_stands_three_frames_down() -> None:
    run = feed(Constraint(KINDS["frames"][3]), b"[", b"[", b"[", b"a")
    assert run.allowed(BRACKETS_VOCAB.index(b"]]]"))
    run = feed(Constraint(KINDS["frames"][3]), b"[", b"[")
    assert not run.allowed(BRACKETS_VOCAB.index(b"]]]"))
    assert run.allowed(BRACKETS_VOCAB.index(b"]]"))


def test_the_label_decides_where_a_frame_returns_to() -> None:
    closing = BRACKETS_VOCAB.index(b"x)!")
    even = feed(Constraint(KINDS["frames"][3]), b"[", b"(")
    assert even.allowed(closing)  # one x: label 1, and the ``!`` must follow
    odd = feed(even.fork(), b"x")
    assert not odd.allowed(closing)  # two x: label 0, and no ``!`` may follow


def test_bitmask_is_the_packed_mask_and_cannot_be_written_to() -> None:
    for kind in KINDS:
        for run, _ in walk(kind, np.random.default_rng(1), 10):
            words = run.bitmask()
            bits = np.unpackbits(words.view(np.uint8), bitorder="little")
            assert (bits[: run.table.n_tokens] == run.mask()).all()
            assert not bits[run.table.n_tokens :].any()
            with pytest.raises(ValueError, match="read-only"):
                words[0] = 0


def test_a_plain_bitmask_is_no_copy() -> None:
    run = Constraint(KINDS["plain"][3])
    assert np.shares_memory(run.bitmask(), run.table.masks)


def test_fill_bitmask_clears_the_words_past_the_table() -> None:
    run = Constraint(KINDS["plain"][3])
    out = np.full((3, 4), -1, dtype=np.int32)
    run.fill_bitmask(out, 1)
    assert out[1].tolist() == [*run.bitmask().tolist(), 0, 0, 0]
    assert (out[[0, 2]] == -1).all()
    for wrong in (np.zeros((3, 4)), np.zeros((3, 0), np.int32), np.zeros(4, np.int32)):
        with pytest.raises(ValueError, match="cannot hold"):
            run.fill_bitmask(wrong, 1)
    with pytest.raises(ValueError, match="cannot hold"):
        run.fill_bitmask(out, 3)
    with pytest.raises(ValueError, match="no row -1"):
        run.fill_bitmask(out, -1)


# Lifecycle.


def test_the_end_may_come_only_where_the_text_is_complete_and_nothing_after_it() -> None:
    run = Constraint(KINDS["plain"][3])
    for token_id in (13, 12, 14, 1):
        with pytest.raises(TokenRefused):
            run.advance(token_id)
    run.advance(9)
    assert run.is_complete()
    assert not run.done
    run.advance(13)
    assert run.done
    assert run.is_complete()
    assert not run.mask().any()
    assert not run.bitmask().any()
    assert run.forced_bytes() == b""
    assert run.validate([13]) == 0
    for token_id in range(15):
        assert not run.allowed(token_id)
        with pytest.raises(TokenRefused, match="has ended"):
            run.advance(token_id)
    run.rollback(1)
    assert not run.done
    assert ids(run) == [7, 13]


@pytest.mark.parametrize(
    ("token_id", "reason"),
    [
        (12, r"b'x'.*at 0 cannot come"),
        (9, r"b'cat'.*b'c' at 0"),
        (11, r"b'x' at 1 cannot"),
        (13, "not complete"),
        (14, "special token"),
        (-1, "from 0 to 14"),
        (999, "from 0 to 14"),
    ],
)
def test_a_refusal_names_the_reason_and_changes_nothing(token_id: int, reason: str) -> None:
    run = Constraint(build(PLAIN, [*PLAIN_VOCAB[:11], b"ox", *PLAIN_VOCAB[12:]], PLAIN_EOS))
    run.advance(4)
    with pytest.raises(TokenRefused, match=reason) as caught:
        run.advance(token_id)
    assert (caught.value.token_id, caught.value.state) == (token_id, 2)
    assert (run.state, ids(run)) == (2, [5])


def test_ids_are_integers_of_any_kind_and_nothing_else() -> None:
    run = Constraint(KINDS["plain"][3])
    run.advance(np.int64(0))
    with pytest.raises(TypeError):
        run.advance(1.0)  # type: ignore[arg-type]


def test_rollback_undoes_any_number_of_tokens_and_refuses_more() -> None:
    run = Constraint(KINDS["frames"][3])
    seen = []
    for token in (b"[", b"[[", b"(x", b")", b"!]]", b"]"):
        seen.append(ids(run))
        feed(run, token)
    run.advance(BRACKETS_EOS[0])
    for steps in (7, 3):
        twin = run.fork()
        twin.rollback(steps)
        assert ids(twin) == [*seen, BRACKETS_EOS][7 - steps]
    for wrong in (-1, 8):
        with pytest.raises(ValueError, match="cannot roll back"):
            run.rollback(wrong)


def test_forks_go_their_own_way() -> None:
    run = feed(Constraint(KINDS["frames"][3]), b"[", b"[")
    twin = run.fork()
    feed(twin, b"]", b"]")
    assert ids(twin) == BRACKETS_EOS
    assert ids(run) == ids(feed(Constraint(run.table), b"[", b"["))


def test_more_open_frames_than_allowed_are_an_error_that_changes_nothing() -> None:
    run = Constraint(KINDS["frames"][3], max_depth=3)
    feed(run, b"[", b"[[")
    before = ids(run)
    with pytest.raises(StackLimitError, match="at most 3") as caught:
        feed(run, b"[")
    assert caught.value.limit == 3
    assert ids(run) == before
    assert run.validate([BRACKETS_VOCAB.index(b"["), BRACKETS_VOCAB.index(b"]")]) == 0


def test_stacks_with_equal_tops_share_rows_and_others_do_not() -> None:
    table = brackets_table()
    shallow, deep = Constraint(table), Constraint(table)
    for run, depth in ((shallow, 2), (deep, 9), (shallow, 6)):
        feed(run, *[b"["] * depth)
        run.bitmask()  # the first time learns how far down tokens can close
    assert np.shares_memory(shallow.bitmask(), deep.bitmask())
    before = deep.mask()
    two = feed(Constraint(table), b"[", b"[")
    three = feed(Constraint(table), b"[", b"[", b"[")
    assert (two.mask() != three.mask()).any()
    runner = table.memo["run"][0]
    runner._forget(1)  # as if there were no room; entries of open runs hold nothing any more
    for run, mask in ((two, two.mask()), (deep, before)):
        run.rollback(1)
        feed(run, b"[")
        assert (run.mask() == mask).all()


def test_ten_thousand_frames_deep() -> None:
    opening, closing = BRACKETS_VOCAB.index(b"["), BRACKETS_VOCAB.index(b"]")
    for depth, budget in ((10_000, None), (1_000, 2_001)):
        run = Constraint(KINDS["frames"][3], budget=budget)
        tokens = [opening] * depth + [closing] * depth + BRACKETS_EOS
        assert run.validate(tokens) == 2 * depth + 1


def test_a_mask_that_the_transitions_contradict_is_a_damaged_table() -> None:
    for kind, state, token in (("plain", 0, 12), ("frames", 2, BRACKETS_VOCAB.index(b"x"))):
        good = KINDS[kind][3]
        masks = good.masks.copy()
        masks[good.mask_row[state], token >> 5] |= 1 << (token & 31)
        arrays = {key: getattr(good, key) for key in good.arrays() if hasattr(good, key)}
        run = Constraint(Table(**{**arrays, "masks": masks, "frames": good.frames}))
        if kind == "frames":
            run.advance(BRACKETS_VOCAB.index(b"["))
        with pytest.raises(TableError, match="damaged"):
            run.advance(token)


# Budgets.


@pytest.mark.parametrize("kind", KINDS)
def test_within_its_budget_every_run_finishes(kind: str) -> None:
    machine, vocab, eos, table = KINDS[kind]
    rng = np.random.default_rng(3)
    least = Constraint(table).table.tokens_to_end[0] + 1
    for budget in range(least, least + 16):
        for _ in range(40):
            run, text = Constraint(table, budget=budget), Text(machine)
            assert run.left == budget
            while not run.done:
                allowed = ids(run)
                assert set(allowed) <= set(text.mask(vocab, eos))
                token_id = int(rng.choice(allowed))
                run.advance(token_id)
                text = text if run.done else text.after(vocab[token_id])
            assert text.complete
            assert run.left is not None
            assert run.left >= 0


def test_a_budget_drops_only_what_cannot_be_finished() -> None:
    """Compare with all ways on, tried out: a token is kept iff some way from it ends in time."""
    table = KINDS["plain"][3]

    def fits(run: Constraint, left: int) -> bool:
        if left <= 0:
            return False
        return any(
            token_id in PLAIN_EOS or fits(_after(run, token_id), left - 1) for token_id in ids(run)
        )

    for budget in range(2, 8):
        held, free = Constraint(table, budget=budget), Constraint(table)
        for token_id in (4, 5, 6):
            left = held.left
            assert left is not None
            kept = [t for t in ids(free) if t in PLAIN_EOS or fits(_after(free, t), left - 1)]
            assert ids(held) == kept
            if token_id not in kept:
                break
            held.advance(token_id)
            free.advance(token_id)


def _after(run: Constraint, token_id: int) -> Constraint:
    twin = run.fork()
    twin.advance(token_id)
    return twin


def test_an_impossible_budget_is_refused_with_the_least_that_would_do() -> None:
    for kind, least in (("plain", 2), ("frames", 3)):
        table = KINDS[kind][3]
        for budget in range(least):
            with pytest.raises(BudgetError, match=f"takes {least} tokens") as caught:
                Constraint(table, budget=budget)
            assert (caught.value.budget, caught.value.needed) == (budget, least)
        assert Constraint(table, budget=least).mask().any()


def test_without_an_end_token_the_budget_is_that_of_the_text() -> None:
    table = build(PLAIN, [*PLAIN_VOCAB[:13], b"", b""], [])
    with pytest.raises(BudgetError):
        Constraint(table, budget=0)
    run = Constraint(table, budget=1)
    assert ids(run) == [9, 10]
    run.advance(9)
    assert run.is_complete()
    assert not run.mask().any()


def test_a_token_refused_for_the_budget_says_so() -> None:
    run = Constraint(KINDS["plain"][3], budget=2)
    with pytest.raises(TokenRefused, match="could not be finished with 2 tokens left"):
        run.advance(0)


def test_tokens_into_traps_are_never_within_a_budget() -> None:
    """``ab1|ac`` without a token for 1: after ``ab`` no tokens lead to an end."""
    row = [{97: 1}, {98: 2, 99: 3}, {49: 3}, {}]
    table = build({"trans": row, "accept": {3}}, [b"a", b"b", b"c", b"ab", None], [4])
    assert ids(Constraint(table)) == [0, 3]
    run = Constraint(table, budget=100)
    assert ids(run) == [0]
    run.advance(0)
    assert ids(run) == [2]


# What must come next.


def test_forced_bytes_go_as_far_as_there_is_no_choice() -> None:
    run = Constraint(KINDS["plain"][3])
    assert run.forced_bytes() == b""
    run.advance(4)
    assert run.forced_bytes() == b"og"
    frames = feed(Constraint(KINDS["frames"][3]), b"[", b"(x", b"x", b")")
    assert frames.forced_bytes() == b""
    assert feed(Constraint(KINDS["frames"][3]), b"[", b"(x", b")").forced_bytes() == b"!"
    assert feed(Constraint(KINDS["frames"][3]), b"[", b"{").forced_bytes() == b"bbbb"


def test_forced_tokens_stop_before_one_that_a_longer_one_could_replace() -> None:
    abc = {"trans": [{97: 1}, {98: 2}, {99: 3, 100: 3}, {}], "accept": {3}}
    vocab = [b"a", b"b", b"ab", b"bc", b"c", b"d", None]
    run = Constraint(build(abc, vocab, [6]))
    assert run.forced_bytes() == b"ab"
    assert run.forced_tokens() == [2]  # nothing begins with ``ab`` and goes on
    run = Constraint(build(abc, [*vocab, b"abc"], [6]))
    assert run.forced_tokens() == []  # ``abc`` could come instead of ``ab``
    run = Constraint(build(abc, [b"a", b"b", b"bc", b"c", b"d", None], [5]))
    assert run.forced_tokens() == [0]  # ``bc`` could come instead of ``b``
    assert ids(run) == [0]  # asking changed nothing


def test_forced_tokens_keep_to_the_budget() -> None:
    row = [{97: 1}, {97: 2}, {97: 3}, {}]
    table = build({"trans": row, "accept": {3}}, [b"a", b"aa", b"aaa", None], [3])
    assert Constraint(table).forced_tokens() == [2]
    assert Constraint(table, budget=2).forced_tokens() == [2]


# Sharing.


def _texts(table: Table, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(20):
        run, text = Constraint(table, budget=24), []
        while not run.done:
            text.append(int(rng.choice(ids(run))))
            run.advance(text[-1])
        texts.append(text)
    return texts


def test_threads_share_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framed, "ROOM", 200)  # so that composed rows are dropped all the time
    expected = [_texts(brackets_table(), seed) for seed in range(8)]
    shared, found = brackets_table(), [[[0]]] * 8

    def work(seed: int) -> None:
        found[seed] = _texts(shared, seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def _texts_of_file(path: str, seed: int) -> list[list[int]]:
    return _texts(load(path), seed)


def test_processes_share_a_mapped_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = str(tmp_path / "table.npz")
    brackets_table().save(path)
    with get_context("spawn").Pool(2) as pool:
        found = pool.starmap(_texts_of_file, [(path, seed) for seed in range(4)])
    assert found == [_texts(brackets_table(), seed) for seed in range(4)]


def test_tables_can_be_sent_to_other_processes_after_use() -> None:
    table = brackets_table()
    feed(Constraint(table, budget=50), b"[", b"[")
    twin = pickle.loads(pickle.dumps(table))
    assert _texts(twin, 1) == _texts(table, 1)


# Any sequence of calls.


class Calls(RuleBasedStateMachine):
    """Any sequence of calls agrees with reading the bytes of all tokens from the start."""

    @initialize(
        kind=st.sampled_from(sorted(KINDS)), budget=st.none() | st.integers(3, 20), data=st.data()
    )
    def start(self, kind: str, budget: int | None, data: st.DataObject) -> None:
        del data
        self.machine, self.vocab, self.eos, table = KINDS[kind]
        self.run, self.budget = Constraint(table, budget=budget), budget
        self.taken: list[int] = []
        self.others: list[tuple[Constraint, list[int]]] = []

    def expected(self, taken: list[int]) -> list[int]:
        """Return the ids that may come next, without looking at a budget."""
        text = Text(self.machine)
        for token_id in taken:
            if token_id in self.eos:
                return []
            text = text.after(self.vocab[token_id])
        return text.mask(self.vocab, self.eos)

    @rule(data=st.data())
    def advance(self, data: st.DataObject) -> None:
        token_id = data.draw(st.integers(-1, len(self.vocab)))
        before = ids(self.run)
        if token_id in before:
            self.run.advance(token_id)
            self.taken.append(token_id)
        else:
            with pytest.raises(TokenRefused):
                self.run.advance(token_id)
            assert ids(self.run) == before

    @precondition(lambda self: self.run.mask().any())
    @rule(data=st.data())
    def advance_allowed(self, data: st.DataObject) -> None:
        token_id = data.draw(st.sampled_from(ids(self.run)))
        self.run.advance(token_id)
        self.taken.append(token_id)

    @rule(data=st.data())
    def rollback(self, data: st.DataObject) -> None:
        n = data.draw(st.integers(0, len(self.taken)))
        self.run.rollback(n)
        self.taken = self.taken[: len(self.taken) - n]

    @rule(tokens=st.lists(st.integers(-1, 46), max_size=6))
    def validate(self, tokens: list[int]) -> None:
        twin, count = self.run.fork(), 0
        for token_id in tokens:
            if not twin.allowed(token_id):
                break
            twin.advance(token_id)
            count += 1
        assert self.run.validate(tokens) == count

    @rule()
    def fork(self) -> None:
        self.others.append((self.run.fork(), list(self.taken)))

    @precondition(lambda self: self.others)
    @rule(data=st.data())
    def go_on_with_another(self, data: st.DataObject) -> None:
        at = data.draw(st.integers(0, len(self.others) - 1))
        other = self.others[at]
        self.others[at] = (self.run, self.taken)
        self.run, self.taken = other

    @rule()
    def reset(self) -> None:
        self.run.reset()
        self.taken = []

    @rule()
    def forced(self) -> None:
        data = self.run.forced_bytes()
        tokens = self.run.forced_tokens()
        assert data.startswith(b"".join(self.vocab[t] for t in tokens))
        assert self.run.validate(tokens) == len(tokens)

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "run"):
            return
        free, held = self.expected(self.taken), ids(self.run)
        assert self.run.done == any(token_id in self.eos for token_id in self.taken)
        if self.budget is None:
            assert held == free
        else:
            assert set(held) <= set(free)
            assert self.run.left == self.budget - len(self.taken)
            assert held or self.run.done


Calls.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
test_any_sequence_of_calls = Calls.TestCase
