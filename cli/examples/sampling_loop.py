"""Write texts with a table and nothing but NumPy.

    python sampling_loop.py TABLE [BUDGET]

Random scores stand in for the model's. Whatever they are, the text is finished within the budget.
"""

import sys

import numpy as np

from constrain.tables import Constraint, apply_bitmask, load


def main(path: str, budget: str = "60") -> None:
    """Write three texts, a line each."""
    table = load(path)  # mapped, checked; shared by all runs
    rng = np.random.default_rng(0)
    for _ in range(3):
        run, text = Constraint(table, budget=int(budget)), b""
        while not run.done:
            logits = rng.normal(size=table.n_tokens).astype(np.float32)  # model(tokens)
            apply_bitmask(logits, run.bitmask())  # -inf for what may not come next
            token = int(logits.argmax())  # or a sampler of your own
            run.advance(token)
            text += table.token(token)  # the end token stands for no bytes
        print(text.decode())


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
