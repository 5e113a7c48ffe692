"""The errors of the loader and the run time, and the root of every error of this package.

    ConstrainError              everything this package raises on purpose (a ValueError)
    |- TableError               a file is not a table, or not one this version can trust
    |- TokenRefused             a token that the constraint does not allow was offered
    |- BudgetError              the text cannot be finished within the tokens given
    |- StackLimitError          a document nests deeper than the run time allows
    `- (the compiler's errors)  see ``constrain.errors``

The root lives here, in the layer that imports nothing but NumPy, so that a program which only
loads tables can catch every error without importing the compiler.
"""


class ConstrainError(ValueError):
    """Root of all errors that this package raises on purpose."""


class TableError(ConstrainError):
    """A table file is damaged, hostile, of another version, or made for another tokenizer.

    Attributes
    ----------
    key : str | None
        The member of the file that is at fault, where one is.
    """

    def __init__(self, message: str, *, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


class TokenRefused(ConstrainError):
    """A token outside the mask was offered; the run has not changed.

    Attributes
    ----------
    token_id : int
        The token that was offered.
    state : int
        The state in which it was offered.
    """

    def __init__(self, message: str, *, token_id: int, state: int) -> None:
        super().__init__(message)
        self.token_id = token_id
        self.state = state


class BudgetError(ConstrainError):
    """No text of the language is known to fit into the tokens given.

    Attributes
    ----------
    budget, needed : int
        The tokens given, and the fewest that would do (end-of-sequence token included); with
        frames the fewest that are known to do.
    """

    def __init__(self, message: str, *, budget: int, needed: int) -> None:
        super().__init__(message)
        self.budget = budget
        self.needed = needed


class StackLimitError(ConstrainError):
    """A document nests deeper than the run-time stack limit.

    Attributes
    ----------
    limit : int
        The number of open frames that was allowed.
    """

    def __init__(self, message: str, *, limit: int) -> None:
        super().__init__(message)
        self.limit = limit
