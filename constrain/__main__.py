"""The command ``constrain``, also as ``python -m constrain``.

Importing the command line takes longer than anything a person interrupts by accident, so an
interrupt during that ends like one during the work: with a word and exit code 130.
"""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from constrain.cli.main import app

        app(prog_name="constrain")
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing was written\n")
        raise SystemExit(130) from None


if __name__ == "__main__":  # worker processes import this module, too
    main()
