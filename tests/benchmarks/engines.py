"""The systems under test behind one small interface, and the process that each of them runs in.

Run as a script it is a worker: it reads one JSON command a line and answers with one JSON line. Each
engine has a process of its own, with one thread, so that no engine disturbs another's memory, and the
driver (``driver.py``) sends every input to all engines in turn. Times are CPU times of the process.

Peers are told to write what constrain writes by default: compact JSON, properties in declared order.
"""

from __future__ import annotations

import gc
import importlib
import json
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np

WORD = 32


class Run(Protocol):
    """One text being generated: fill a packed row, then go on by a token."""

    def fill(self) -> None:
        """Make the packed row of what may come next."""

    def advance(self, token: int) -> bool:
        """Go on by a token; return whether it was allowed."""
        ...


class Engine(Protocol):
    """A system: made for a tokenizer, it compiles schemas."""

    def __init__(self, folder: Path) -> None: ...

    def compile(self, schema: Any) -> Any:
        """Compile a schema; raises whatever the system raises."""

    def run(self, compiled: Any) -> Run:
        """Begin a text."""
        ...


class Constrain:
    """This project, by the stages of ``constrain.compile`` after the tokenizer was read."""

    open = False

    def __init__(self, folder: Path) -> None:
        self.pipeline = importlib.import_module("constrain.pipeline")
        self.assemble = importlib.import_module("constrain.assemble").assemble
        limits = importlib.import_module("constrain.limits")
        self.limits, self.meter = limits.Limits, limits.Meter
        self.runs = importlib.import_module("constrain.tables").Constraint
        self.vocabulary, self.trie = self.pipeline.read_tokenizer(
            folder, eos=(), vocab_size=None, allow_token=(), forbid_token=(), cache=True,
            limits=self.limits(),
        )  # fmt: skip
        self.longest = self.pipeline.longest_runs(self.vocabulary)
        getattr(self.trie, "outline", None)  # belongs to the vocabulary, as the trie does

    def compile(self, schema: Any) -> Any:
        meter = self.meter(self.limits(timeout=600.0))

        def source(frames: str) -> Any:
            return self.pipeline.schema_source(
                schema, "", meter, layout="compact", open=self.open, relax=(), refs=(),
                frames=frames, cap_length=None, cap_items=None,
            )  # fmt: skip

        _, machine = self.pipeline.find_machine(source, "needed", meter, self.longest)
        return self.assemble(machine, self.vocabulary, self.trie, meter).table

    def run(self, compiled: Any) -> Run:
        return ConstrainRun(self.runs(compiled))


class ConstrainOpen(Constrain):
    """With open objects, the standard's default."""

    open = True


class ConstrainRun:
    def __init__(self, constraint: Any) -> None:
        self.constraint = constraint
        self.fill = constraint.bitmask

    def advance(self, token: int) -> bool:
        if not self.constraint.allowed(token):
            return False
        self.constraint.advance(token)
        return True


class XGrammar:
    """xgrammar in its strict mode (closed objects)."""

    strict = True

    def __init__(self, folder: Path) -> None:
        self.xgrammar = importlib.import_module("xgrammar")
        transformers = importlib.import_module("transformers")
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json")
        )
        stop = end_tokens(folder)
        info = self.xgrammar.TokenizerInfo.from_huggingface(tokenizer, stop_token_ids=stop)
        self.width = info.vocab_size
        self.compiler = self.xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def compile(self, schema: Any) -> Any:
        return self.compiler.compile_json_schema(
            json.dumps(schema),
            any_whitespace=False,
            separators=(",", ":"),
            strict_mode=self.strict,
        )

    def run(self, compiled: Any) -> Run:
        return XGrammarRun(self.xgrammar, compiled, self.width)


class XGrammarOpen(XGrammar):
    """xgrammar with open objects."""

    strict = False


class XGrammarRun:
    def __init__(self, xgrammar: Any, compiled: Any, width: int) -> None:
        matcher = xgrammar.GrammarMatcher(compiled)
        row = xgrammar.allocate_token_bitmask(1, width)
        self.fill = lambda: matcher.fill_next_token_bitmask(row)
        self.advance = matcher.accept_token


class LLGuidance:
    """llguidance, which works out masks while it generates."""

    def __init__(self, folder: Path) -> None:
        self.llguidance = importlib.import_module("llguidance")
        self.numpy = importlib.import_module("llguidance.numpy")
        text = (folder / "tokenizer.json").read_text(encoding="utf-8")
        self.tokenizer = self.llguidance.LLTokenizer(text, eos_token=end_tokens(folder)[0])

    def compile(self, schema: Any) -> Any:
        grammar = self.llguidance.LLMatcher.grammar_from_json_schema(
            json.dumps(schema),
            overrides={"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"},
        )
        matcher = self.llguidance.LLMatcher(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return matcher

    def run(self, compiled: Any) -> Run:
        return LLGuidanceRun(self.numpy, compiled.deep_copy(), self.tokenizer.vocab_size)


class LLGuidanceRun:
    def __init__(self, numpy: Any, matcher: Any, width: int) -> None:
        row = numpy.allocate_token_bitmask(1, width)
        self.fill = lambda: numpy.fill_next_token_bitmask(matcher, row)
        self.advance = matcher.consume_token


class OutlinesCore:
    """outlines-core: the schema as a regular expression, then an index over states and tokens."""

    def __init__(self, folder: Path) -> None:
        self.core = importlib.import_module("outlines_core")
        build = importlib.import_module("outlines_core.json_schema")
        self.regex = build.build_regex_from_schema
        vocabulary = importlib.import_module("constrain.vocabulary").read_vocabulary(folder)
        self.width = vocabulary.n_tokens
        ids: dict[bytes, list[int]] = {}
        for number, token in enumerate(vocabulary.tokens):
            if token and number not in vocabulary.eos:
                ids.setdefault(token, []).append(number)
        self.vocabulary = self.core.Vocabulary(vocabulary.eos[0], ids)

    def compile(self, schema: Any) -> Any:
        return self.core.Index(self.regex(json.dumps(schema), ""), self.vocabulary)

    def run(self, compiled: Any) -> Run:
        return OutlinesRun(self.core.Guide(compiled), self.width)


class OutlinesRun:
    def __init__(self, guide: Any, width: int) -> None:
        self.guide = guide
        self.row = np.zeros(-(-width // WORD), dtype=np.int32)

    def fill(self) -> None:
        self.guide.write_mask_into(self.row.ctypes.data, len(self.row), self.row.itemsize)

    def advance(self, token: int) -> bool:
        try:
            self.guide.advance(token)
        except ValueError:
            return False
        return True


#: Name -> (class, module whose absence means that the engine is not installed, distribution).
ENGINES: dict[str, tuple[type[Engine], str, str]] = {
    "constrain": (Constrain, "constrain", "constrain-tables"),
    "constrain-open": (ConstrainOpen, "constrain", "constrain-tables"),
    "xgrammar": (XGrammar, "xgrammar", "xgrammar"),
    "xgrammar-open": (XGrammarOpen, "xgrammar", "xgrammar"),
    "llguidance": (LLGuidance, "llguidance", "llguidance"),
    "outlines-core": (OutlinesCore, "outlines_core", "outlines-core"),
}


def end_tokens(folder: Path) -> list[int]:
    """Return the end-of-sequence tokens, as constrain finds them beside the tokenizer."""
    read = importlib.import_module("constrain.vocabulary").read_vocabulary
    return list(read(folder).eos)


class Worker:
    """Answers commands; what was compiled last is kept for the walks."""

    def __init__(self, name: str, folder: Path) -> None:
        self.engine = ENGINES[name][0](folder)
        self.compiled: Any = None

    def compile(self, schema: Any, repeats: int) -> dict[str, Any]:
        """Compile a schema some times and return the shortest time in milliseconds."""
        times: list[float] = []
        while len(times) < repeats and sum(times) < 1.0:
            self.compiled = None
            gc.collect()
            begin = time.process_time()
            self.compiled = self.engine.compile(schema)
            times.append(time.process_time() - begin)
        return {"ms": 1000 * min(times)}

    def walk(self, tokens: list[int], repeats: int) -> dict[str, Any]:
        """Follow tokens and return the median times of the rows and of the steps, each token's."""
        rows: list[list[float]] = []
        steps: list[list[float]] = []
        clock = time.perf_counter
        for _ in range(repeats):
            run = self.engine.run(self.compiled)
            fill, advance = run.fill, run.advance
            row_times: list[float] = []
            step_times: list[float] = []
            for token in tokens:
                begin = clock()
                fill()
                middle = clock()
                allowed = advance(token)
                step_times.append(clock() - middle)
                row_times.append(middle - begin)
                if not allowed:
                    return {"refused": token}
            rows.append(row_times)
            steps.append(step_times)
        return {
            "row_us": [1e6 * statistics.median(times) for times in zip(*rows, strict=True)],
            "step_us": [1e6 * statistics.median(times) for times in zip(*steps, strict=True)],
        }

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to one command; an engine's error is an answer, too."""
        answer: dict[str, Any]
        try:
            if "schema" in command:
                answer = self.compile(command["schema"], command["repeats"])
            else:
                answer = self.walk(command["tokens"], command["repeats"])
        except BaseException as error:  # engines raise all sorts, panics among them
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        answer["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return answer


def main() -> None:
    """Serve commands from standard input until it ends."""
    replies, sys.stdout = sys.stdout, sys.stderr
    worker = Worker(sys.argv[1], Path(sys.argv[2]))
    print(json.dumps({"ready": True}), file=replies, flush=True)
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main()
