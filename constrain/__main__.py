"""``python -m constrain`` is the command ``constrain``."""

from constrain.cli.main import app

if __name__ == "__main__":  # worker processes import this module, too
    app(prog_name="constrain")
