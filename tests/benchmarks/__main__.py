"""Run one benchmark: ``python tests/benchmarks compile|mask|load|command|growth [--help]``.

The peers come with ``pip install torch==2.13.0``, then ``pip install --no-deps xgrammar``, then
``pip install '.[bench]'``; engines that are not installed are left out, and this is said. Run on a
machine that does nothing else.
"""

import importlib
import sys
from pathlib import Path

PARTS = {
    "compile": "compiling",
    "mask": "stepping",
    "load": "loading",
    "command": "command",
    "growth": "growth",
}


def main() -> None:
    """Run the benchmark that the first argument names."""
    here = Path(__file__).resolve().parent
    sys.path[:0] = [str(here.parent), str(here.parent.parent)]
    if len(sys.argv) < 2 or sys.argv[1] not in PARTS:
        sys.exit(__doc__)
    importlib.import_module(f"benchmarks.{PARTS[sys.argv[1]]}").main(sys.argv[2:])


if __name__ == "__main__":
    main()
