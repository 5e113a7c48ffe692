"""Adapters: what the hosts call, with the signatures that the hosts publish.

Where a host is not installed, a stand-in with its published interface takes its place; with
transformers and torch installed, a small random model generates for real.
"""

import inspect
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hand_tables import (
    BRACKETS_EOS,
    BRACKETS_VOCAB,
    PLAIN_EOS,
    PLAIN_VOCAB,
    brackets_table,
    plain_table,
)

from constrain.tables import (
    ConstrainError,
    Constraint,
    TableError,
    TokenRefused,
    llama_cpp,
    sglang,
    vllm,
)
from constrain.tables import transformers as adapter

PLAIN, FRAMES = plain_table(), brackets_table()


def finite(scores: Any) -> list[int]:
    return [int(token_id) for token_id in np.flatnonzero(np.isfinite(np.asarray(scores)))]


# llama-cpp-python.


def test_llama_cpp_a_completion_is_held_to_its_table() -> None:
    processor = llama_cpp.TableProcessor(PLAIN)
    tokens = [500, 501]  # the prompt
    for token_id, allowed in ((0, [0, 4, 8, 9, 10]), (1, [1]), (11, [2, 3, 11]), (13, [13])):
        scores = np.zeros(20, dtype=np.single)
        held = processor(np.array(tokens, dtype=np.intc), scores)
        assert held is scores
        assert finite(held) == allowed
        tokens.append(token_id)
    assert finite(processor(np.array(tokens, dtype=np.intc), np.zeros(20, np.single))) == [13]


def test_llama_cpp_tokens_taken_back_and_replaced() -> None:
    processor = llama_cpp.TableProcessor(PLAIN, prompt_length=1)
    for tokens, allowed in (([9, 4, 5], [6]), ([9, 4], [5]), ([9, 9], [7, 13]), ([9], 5)):
        scores = processor(np.array(tokens, dtype=np.intc), np.zeros(15, np.single))
        assert allowed in (finite(scores), len(finite(scores)))
    with pytest.raises(TokenRefused):
        processor(np.array([9, 12], dtype=np.intc), np.zeros(15, np.single))


# vLLM.


class StructuredOutputGrammar(ABC):
    """The interface of vLLM (vllm/v1/structured_output/backend_types.py)."""

    @abstractmethod
    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool: ...

    @abstractmethod
    def validate_tokens(self, tokens: list[int]) -> list[int]: ...

    @abstractmethod
    def rollback(self, num_tokens: int) -> None: ...

    @abstractmethod
    def fill_bitmask(self, bitmask: Any, batch_index: int) -> None: ...

    @abstractmethod
    def is_terminated(self) -> bool: ...

    @abstractmethod
    def reset(self) -> None: ...


def test_vllm_has_the_methods_of_the_interface_with_their_parameters() -> None:
    for name in StructuredOutputGrammar.__abstractmethods__:
        wanted = inspect.signature(getattr(StructuredOutputGrammar, name)).parameters
        assert list(inspect.signature(getattr(vllm.TableGrammar, name)).parameters) == list(wanted)


def test_vllm_a_request_from_start_to_end() -> None:
    grammar = vllm.TableGrammar(PLAIN, budget=9)
    assert grammar.validate_tokens([8, 2, 12, 7]) == [8, 2]
    assert not grammar.accept_tokens("r", [8, 12])
    assert grammar.accept_tokens("r", [8, 2])
    rows = np.zeros((3, 2), dtype=np.int32)
    grammar.fill_bitmask(rows, 1)
    assert rows.tolist() == [[0, 0], [1 << 7 | 1 << 13, 0], [0, 0]]
    assert grammar.accept_tokens("r", [13])
    assert grammar.is_terminated()
    assert grammar.accept_tokens("r", [0])  # the engine goes on
    grammar.fill_bitmask(rows, 1)
    assert rows[1].tolist() == [1 << 13, 0]
    grammar.rollback(2)
    assert not grammar.is_terminated()
    assert grammar.validate_tokens([2, 13]) == [2, 13]
    grammar.reset()
    assert grammar.accept_tokens("r", [4])
    assert grammar.find_jump_string() == "og"
    assert grammar.validate_tokens([6]) == []


def test_vllm_registers_as_a_grammar_or_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "vllm" not in sys.modules:
        with pytest.raises(ConstrainError, match="vLLM cannot be imported"):
            vllm.register()
    host = ModuleType("vllm.v1.structured_output.backend_types")
    host.StructuredOutputGrammar = StructuredOutputGrammar  # type: ignore[attr-defined]
    for name in ("vllm", "vllm.v1", "vllm.v1.structured_output"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, host.__name__, host)
    assert issubclass(vllm.register(), StructuredOutputGrammar)


# SGLang.


class BaseGrammarObject:
    """The interface of SGLang (sglang/srt/constrained/base_grammar_backend.py)."""

    def __init__(self) -> None:
        self._finished = False
        self.grammar_stats = None

    def accept_token(self, token: int) -> None:
        raise NotImplementedError

    def rollback(self, k: int) -> None:
        raise NotImplementedError

    def is_terminated(self) -> bool:
        return False

    def maybe_init_reasoning(self, reasoning: bool) -> None:
        raise NotImplementedError

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> Any:
        raise NotImplementedError

    def fill_vocab_mask(self, vocab_mask: Any, idx: int) -> None:
        raise NotImplementedError

    @staticmethod
    def move_vocab_mask(vocab_mask: Any, device: Any) -> Any:
        raise NotImplementedError

    @staticmethod
    def apply_vocab_mask(logits: Any, vocab_mask: Any) -> None:
        raise NotImplementedError

    def copy(self) -> Any:
        return self

    @property
    def finished(self) -> bool:
        return self._finished

    @finished.setter
    def finished(self, finished: bool) -> None:
        self._finished = finished

    def try_jump_forward(self, tokenizer: Any) -> Any:
        raise NotImplementedError

    def jump_forward_str_state(self, helper: Any) -> Any:
        raise NotImplementedError

    def jump_and_retokenize(
        self, old_output_ids: list[int], new_output_ids: list[int], next_state: int
    ) -> None:
        raise NotImplementedError


class InvalidGrammarObject(BaseGrammarObject):
    def __init__(self, error_message: str = "Unknown grammar error") -> None:
        super().__init__()
        self.error_message = error_message


class BaseGrammarBackend:
    def dispatch(self, key_type: str, key_string: str) -> Any:
        return getattr(self, f"dispatch_{key_type}")(key_string)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    found: dict[str, Any] = {}
    host = ModuleType("sglang.srt.constrained.base_grammar_backend")
    parts = {
        "BaseGrammarObject": BaseGrammarObject,
        "InvalidGrammarObject": InvalidGrammarObject,
        "BaseGrammarBackend": BaseGrammarBackend,
        "register_grammar_backend": found.__setitem__,
    }
    for name, value in parts.items():
        setattr(host, name, value)
    for name in ("sglang", "sglang.srt", "sglang.srt.constrained"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, host.__name__, host)
    return found


def test_sglang_has_the_methods_of_the_interface_with_their_parameters() -> None:
    for name, method in vars(BaseGrammarObject).items():
        if inspect.isfunction(method) or isinstance(method, staticmethod):
            wanted = inspect.signature(getattr(BaseGrammarObject, name)).parameters
            ours = inspect.signature(getattr(sglang.TableGrammar, name)).parameters
            assert name.startswith("__") or list(ours) == list(wanted)


def test_sglang_requests_name_their_table(registry: dict[str, Any]) -> None:
    sglang.register("constrain", {"words": PLAIN, "lists": FRAMES})
    backend = registry["constrain"](None, None, 64, {13, BRACKETS_EOS[0]})
    for kind, request in (("ebnf", "table:words"), ("json", '"table:words"')):
        grammar = backend.dispatch(kind, request)
        assert isinstance(grammar, BaseGrammarObject)
        assert grammar.run.table is PLAIN
    for request in ("table:nothing", "words", "", '{"type": "object"}'):
        invalid = backend.dispatch("regex", request)
        assert isinstance(invalid, InvalidGrammarObject)
        assert "lists, words" in invalid.error_message


def test_sglang_a_request_from_start_to_end(registry: dict[str, Any]) -> None:
    sglang.register("constrain", {"words": PLAIN})
    grammar = registry["constrain"](None, None, 64, None).dispatch("ebnf", "table:words")
    grammar.accept_token(4)
    assert grammar.try_jump_forward(None) == ([5, 6], "")
    assert grammar.jump_forward_str_state(([5, 6], "")) == ("", -1)
    grammar.jump_and_retokenize([4], [4, 5, 6], -1)
    assert grammar.run.state == 5
    grammar.jump_and_retokenize([4, 5, 6], [10, 7], -1)
    assert grammar.run.state == 6
    assert not grammar.copy().is_terminated()
    assert grammar.copy().run.state == 0
    rows = np.zeros((2, 2), dtype=np.int32)
    grammar.fill_vocab_mask(rows, 1)
    assert rows.tolist() == [[0, 0], [1 << 13, 0]]
    logits = np.zeros((1, 64), dtype=np.float32)
    grammar.apply_vocab_mask(logits, rows[1:])
    assert finite(logits[0]) == [13]
    with pytest.raises(TokenRefused):
        grammar.accept_token(0)
    grammar.accept_token(13)
    grammar.accept_token(0)  # the engine goes on
    assert grammar.is_terminated()
    grammar.finished = True
    assert grammar.finished
    grammar.rollback(1)
    assert not grammar.is_terminated()


def test_sglang_tables_that_do_not_fit_the_server_are_refused(registry: dict[str, Any]) -> None:
    sglang.register("constrain", {"words": PLAIN})
    with pytest.raises(TableError, match="words has 15 tokens, the server 14"):
        registry["constrain"](None, None, 14, {13})
    with pytest.raises(TableError, match=r"words ends with tokens \[13\], the server with \[2\]"):
        registry["constrain"](None, None, 15, {2})


def test_sglang_not_installed_is_said() -> None:
    if "sglang" not in sys.modules:
        with pytest.raises(ConstrainError, match="SGLang cannot be imported"):
            sglang.register("constrain", {})


def test_sglang_masks_are_torch_tensors() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    grammar = sglang.TableGrammar(PLAIN)
    rows = grammar.allocate_vocab_mask(64, 2, "cpu")
    assert (rows.dtype, rows.tolist()) == (torch.int32, [[-1, -1]] * 2)
    grammar.fill_vocab_mask(rows, 1)
    logits = torch.zeros((2, 64))
    grammar.apply_vocab_mask(logits, grammar.move_vocab_mask(rows, "cpu"))
    assert finite(logits[1]) == [0, 4, 8, 9, 10]
    assert len(finite(logits[0])) == 64


# transformers, with a stand-in for tensors.


class Ids(np.ndarray):
    """Rows of tokens with the one method that is used of a tensor."""


class Scores(np.ndarray):
    """Scores with ``clone``."""

    def clone(self) -> "Scores":
        return self.copy()


def call(processor: adapter.TableLogitsProcessor, rows: list[list[int]], width: int = 48) -> list:
    scores = np.zeros((len(rows), width), dtype=np.float32).view(Scores)
    held = processor(np.array(rows).view(Ids), scores)
    assert np.isfinite(scores).all()  # the host's scores are left alone
    return [finite(row) for row in held]


def test_transformers_prompts_of_a_batch_have_their_own_tables() -> None:
    processor = adapter.TableLogitsProcessor([PLAIN, None, FRAMES])
    opening = BRACKETS_VOCAB.index(b"[")
    rows = [[7, 7], [8, 8], [9, 9]]
    first = call(processor, rows)
    assert first[0] == [0, 4, 8, 9, 10]
    assert len(first[1]) == 48
    assert first[2] == [int(i) for i in np.flatnonzero(Constraint(FRAMES).mask())]
    second = call(processor, [[7, 7, 9], [8, 8, 1], [9, 9, opening]])
    assert second[0] == [7, 13]
    run = Constraint(FRAMES)
    run.advance(opening)
    assert second[2] == np.flatnonzero(run.mask()).tolist()
    third = call(processor, [[7, 7, 9, 13], [8, 8, 1, 1], [9, 9, opening, 1]])
    assert third[0] == [13]
    assert call(processor, [[7, 7, 9, 13, 0], [8, 8, 1, 1, 1], [9, 9, opening, 1, 1]])


def test_transformers_beams_change_places() -> None:
    processor = adapter.TableLogitsProcessor(PLAIN)
    assert call(processor, [[5]] * 3) == [[0, 4, 8, 9, 10]] * 3
    assert call(processor, [[5, 0], [5, 4], [5, 12]]) == [[1], [5], [13]]  # 12 is not allowed
    assert call(processor, [[5, 4, 5], [5, 0, 1], [5, 4, 5]]) == [[6], [2, 3, 11], [6]]
    assert call(processor, [[5, 9, 7], [5, 0, 1], [5, 10, 7]]) == [[13], [2, 3, 11], [13]]
    with pytest.raises(TokenRefused, match="serves one call of"):
        call(processor, [[5, 12, 7], [5, 1, 1], [5, 12, 7]])


def test_transformers_a_processor_serves_one_call() -> None:
    processor = adapter.TableLogitsProcessor(PLAIN)
    call(processor, [[5, 5, 5]])
    with pytest.raises(ConstrainError, match="new processor"):
        call(processor, [[5, 5]])
    with pytest.raises(ConstrainError, match="2 tables for 3 rows"):
        call(adapter.TableLogitsProcessor([PLAIN, FRAMES]), [[5]] * 3)


# transformers, for real.


@pytest.fixture(scope="module")
def model() -> Any:
    pytest.importorskip("torch", reason="torch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    import torch

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, pad_token_id=63, eos_token_id=None,
        bos_token_id=62,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


@pytest.mark.parametrize(
    "how",
    [
        {"do_sample": False},
        {"do_sample": True},
        {"do_sample": True, "num_return_sequences": 3},
        {"do_sample": False, "num_beams": 4, "num_return_sequences": 4},
        {"do_sample": True, "num_beams": 3},
    ],
    ids=["greedy", "sampling", "several", "beams", "beam sampling"],
)
def test_transformers_generates_whole_texts_within_the_budget(
    model: Any, how: dict[str, Any]
) -> None:
    import torch

    prompts = torch.tensor([[63, 63, 1, 2], [3, 4, 5, 6]])
    tables, vocabs, ends = [PLAIN, FRAMES], [PLAIN_VOCAB, BRACKETS_VOCAB], [PLAIN_EOS, BRACKETS_EOS]
    for budget in (3, 12):
        processor = adapter.TableLogitsProcessor(tables, budget=budget)
        out = model.generate(
            prompts,
            attention_mask=(prompts != 63).long(),
            logits_processor=[processor],
            stopping_criteria=[adapter.TableStoppingCriteria(processor)],
            max_new_tokens=budget,
            eos_token_id=[PLAIN_EOS[0], BRACKETS_EOS[0]],
            pad_token_id=63,
            **how,
        )
        group = len(out) // 2
        for row, tokens in enumerate(out[:, 4:].tolist()):
            which = row // group
            text = tokens[: tokens.index(ends[which][0]) + 1]
            assert len(text) <= budget
            run = Constraint(tables[which])
            assert run.validate(text) == len(text)
            assert b"".join(vocabs[which][t] or b"" for t in text)


def test_the_adapters_import_no_host() -> None:
    root = Path(__file__).resolve().parent.parent
    for name in ("transformers", "llama_cpp", "sglang", "vllm"):
        source = (root / "tables" / f"{name}.py").read_text()
        assert f"\nimport {name}" not in source
        assert f"\nfrom {name}" not in source
