"""Runs side by side."""

import numpy as np
import pytest
from hand_tables import BRACKETS_EOS, BRACKETS_VOCAB, PLAIN_EOS, brackets_table, plain_table

from constrain.tables import Constraint, ConstraintBatch, StackLimitError, TokenRefused

PLAIN, FRAMES = plain_table(), brackets_table()


def test_rows_are_those_of_the_runs_and_free_rows_are_all_ones() -> None:
    batch = ConstraintBatch([PLAIN, None, FRAMES, Constraint(PLAIN, budget=2), PLAIN])
    rows = batch.fill()
    assert rows.shape == (5, 2)
    for row, run in zip(rows, batch.runs, strict=True):
        words = [-1, -1] if run is None else [*run.bitmask().tolist(), 0][:2]
        assert row.tolist() == words


def test_a_batch_steps_like_its_runs_alone() -> None:
    rng = np.random.default_rng(0)
    batch = ConstraintBatch([PLAIN, None, FRAMES, FRAMES, PLAIN])
    alone = [None if run is None else run.fork() for run in batch.runs]
    for _ in range(30):
        rows = batch.fill()
        tokens = []
        for row, run in zip(rows, alone, strict=True):
            if run is None or run.done:
                tokens.append(int(rng.integers(1 << 20)))
                continue
            assert (row[: run.table.n_words] == run.bitmask()).all()
            tokens.append(int(rng.choice(np.flatnonzero(run.mask()))))
            run.advance(tokens[-1])
        batch.advance(tokens)
        assert batch.done.tolist() == [run is not None and run.done for run in alone]
    assert batch.done[[0, 4]].all()


def test_ended_rows_allow_the_end_only_and_take_anything() -> None:
    batch = ConstraintBatch([PLAIN, FRAMES])
    batch.advance([9, BRACKETS_VOCAB.index(b"[")])
    batch.advance([13, BRACKETS_VOCAB.index(b"]")])
    batch.advance([12, BRACKETS_EOS[0]])
    for row, eos in zip(batch.fill(), (PLAIN_EOS, BRACKETS_EOS), strict=True):
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        assert np.flatnonzero(bits).tolist() == eos


def test_a_refused_token_moves_no_row() -> None:
    batch = ConstraintBatch([PLAIN, FRAMES, PLAIN])
    before = batch.fill().tolist()
    for wrong in ([9, 0, 12], [9, 1, 9], [12, 0, 9], [9, 0, -1], [9, 0, 10**9]):
        with pytest.raises(TokenRefused, match=r"row \d"):
            batch.advance(wrong)
        assert batch.fill().tolist() == before
    with pytest.raises(ValueError, match="2 tokens for 3 rows"):
        batch.advance([9, 0])
    deep = ConstraintBatch([PLAIN, Constraint(FRAMES, max_depth=0)])
    with pytest.raises(StackLimitError):
        deep.advance([9, 0])
    assert deep.fill().tolist() == before[:2]


def test_runs_stay_with_their_texts_when_rows_come_and_go() -> None:
    batch = ConstraintBatch([PLAIN, PLAIN, PLAIN])
    batch.advance([0, 9, 4])  # c, cat, d
    first, second, third = batch.runs
    batch.runs.remove(second)
    fourth = batch.add(PLAIN)
    assert batch.runs == [first, third, fourth]
    batch.runs.reverse()
    states = [run.state for run in batch.runs if run is not None]
    assert states == [0, 2, 1]


def test_rows_that_change_between_fills_are_looked_at_again() -> None:
    cat, dog = Constraint(PLAIN), Constraint(PLAIN)
    cat.advance(0)
    dog.advance(4)
    batch = ConstraintBatch([cat, dog, None])
    for runs in (
        [cat, dog, None], [dog, cat, None], [None, cat, dog], [cat, cat, dog],
        [cat, Constraint(FRAMES), dog], [cat, Constraint(PLAIN, budget=2), dog], [dog, None], [],
    ):  # fmt: skip
        batch.runs[:] = runs
        for row, run in zip(batch.fill(), runs, strict=True):
            words = [-1, -1] if run is None else [*run.bitmask().tolist(), 0]
            assert row.tolist() == words[: len(row)]
    batch.runs[:] = [cat, dog]
    batch.fill()
    for run, tokens in ((cat, [1, 2, 13]), (dog, [5, 6])):
        for token_id in tokens:
            run.advance(token_id)
    assert batch.fill().tolist() == [[1 << 13], dog.bitmask().tolist()]
    cat.rollback(1)
    assert batch.fill().tolist() == [cat.bitmask().tolist(), dog.bitmask().tolist()]


def test_a_buffer_of_the_host_is_filled_in_place_and_its_spare_rows_are_free() -> None:
    batch = ConstraintBatch([FRAMES, PLAIN])
    out = np.zeros((4, 5), dtype=np.int32)
    assert batch.fill(out) is out
    assert out[:2, :2].tolist() == batch.fill().tolist()
    assert not out[:2, 2:].any()
    assert (out[2:] == -1).all()
    for wrong in (np.zeros((1, 5), np.int32), np.zeros((2, 1), np.int32), np.zeros((2, 5))):
        with pytest.raises(ValueError, match="cannot hold"):
            batch.fill(wrong)


@pytest.mark.parametrize(
    "order", [[0, 0, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0], [None, 0, 0, 0]], ids=str
)
def test_wherever_the_rows_of_a_table_stand_they_are_those_of_its_runs(
    order: list[int | None],
) -> None:
    batch = ConstraintBatch([None if which is None else (PLAIN, FRAMES)[which] for which in order])
    for row, run in enumerate(batch.runs):
        for token_id in [[0, 1], [4], [], [9]][row] if order[row] == 0 and run else []:
            run.advance(token_id)
    for out in (
        np.zeros((4, 2), np.int32),
        np.zeros((5, 3), np.int32),
        np.zeros((2, 4), np.int32).T,
        np.zeros((8, 4), np.int32)[::2, ::2],
    ):
        batch.fill(out)
        for row, run in zip(out, batch.runs, strict=False):
            if run is not None:
                words = run.bitmask()
                assert row.tolist() == [*words.tolist(), *[0] * (len(row) - len(words))]


def test_a_torch_buffer_is_filled_in_place() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    batch = ConstraintBatch([FRAMES, None])
    out = torch.zeros((2, 2), dtype=torch.int32)
    batch.fill(out)
    assert out.tolist() == batch.fill().tolist()
    single = torch.zeros((2, 2), dtype=torch.int32)
    Constraint(FRAMES).fill_bitmask(single, 1)
    assert single[1].tolist() == out[0].tolist()


def test_an_empty_batch() -> None:
    batch = ConstraintBatch()
    assert len(batch) == 0
    assert batch.fill().shape == (0, 0)
    batch.advance([])
