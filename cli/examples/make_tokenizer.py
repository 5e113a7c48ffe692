"""Make the example tokenizer: a byte-level BPE of 8,000 tokens, and the file that names its end.

    python make_tokenizer.py [FOLDER]

trains with the ``tokenizers`` library on text that every Python installation carries (the language
reference in ``pydoc_data.topics`` and the source of a few standard modules, both under the PSF
licence) and on JSON that this script invents. It writes ``tokenizer.json`` and
``tokenizer_config.json`` into FOLDER (by default, beside itself) and prints a hash of the training
text: the same text gives the same files, but another version of Python brings another text.
"""

import hashlib
import importlib
import inspect
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

N_TOKENS = 8000
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
END = "<|im_end|>"
MODULES = """
    argparse ast calendar collections configparser csv datetime decimal difflib email.message
    fractions functools heapq http.client inspect json.decoder json.encoder logging pathlib random
    shutil statistics string subprocess tarfile textwrap threading typing unittest.case
    urllib.parse zipfile
"""
WORDS = """
    city country name title date time days hours email phone address street price currency
    amount total count unit units celsius fahrenheit query language user id status type role content
    message result error code value active enabled tags items list options description start end
    latitude longitude weather forecast temperature humidity wind Oslo Paris London Tokyo Berlin
    Nairobi Lima Delhi Zürich São Kraków
"""
NAMES = WORDS.split()


def invented_value(rng: random.Random, depth: int) -> object:
    """Return a random JSON value of the kind that tool calls carry."""
    makers: list[Callable[[], object]] = [
        lambda: " ".join(rng.choices(NAMES, k=rng.randint(1, 4))),
        lambda: " ".join(rng.choices(NAMES, k=rng.randint(1, 4))),
        lambda: rng.randint(-20, 3000),
        lambda: round(rng.uniform(-180, 180), rng.randint(1, 4)),
        lambda: rng.choice([True, False, None]),
        lambda: f"20{rng.randint(10, 30)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        lambda: [invented_value(rng, depth - 1) for _ in range(rng.randint(0, 4))],
        lambda: invented_object(rng, depth - 1),
    ]
    return makers[rng.randrange(8 if depth else 6)]()


def invented_object(rng: random.Random, depth: int) -> dict[str, object]:
    """Return a random JSON object, its values nested ``depth`` deep at most."""
    return {rng.choice(NAMES): invented_value(rng, depth) for _ in range(rng.randint(1, 5))}


def training_text() -> Iterator[str]:
    """Yield the pieces of the training text, always in the same order."""
    topics = importlib.import_module("pydoc_data.topics").topics
    yield from (topics[name] for name in sorted(topics))
    yield from (inspect.getsource(importlib.import_module(name)) for name in MODULES.split())
    rng = random.Random(8000)
    for number in range(12_000):
        separators = (",", ":") if number % 3 else (", ", ": ")
        yield json.dumps(
            invented_object(rng, 2), ensure_ascii=number % 2 == 0, separators=separators
        )


def train(pieces: list[str]) -> Tokenizer:
    """Return a byte-level BPE tokenizer of ``N_TOKENS`` tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=N_TOKENS,
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(pieces, trainer)
    return tokenizer


def main() -> None:
    """Train the tokenizer and write both files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    pieces = list(training_text())
    tokenizer = json.loads(train(pieces).to_str())
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END}
    for name, document in (("tokenizer.json", tokenizer), ("tokenizer_config.json", config)):
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        (folder / name).write_text(text + "\n", encoding="utf-8", newline="\n")
    digest = hashlib.sha256("".join(pieces).encode()).hexdigest()
    print(f"Python {sys.version.split()[0]}, training text {sum(map(len, pieces)):,} characters")
    print(f"sha256 of the training text: {digest}")


if __name__ == "__main__":
    main()
