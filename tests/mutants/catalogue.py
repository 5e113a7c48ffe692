r"""The mistakes that are easy to make here, as edits of the source, and the tests that must see them.

Each mutant is a few textual replacements and the names of tests in ``test_seed_contract.py``; on a
copy of the package with the replacements made, one of these tests must fail. The pitfall is the row
of the list of pitfalls in the text that defines the contract (1 to 12), and the numbers s01 to s27
are that text's names for its mutants; x.. are others, for promises that its list does not name.

When the source changes so that an edit no longer applies, ``test_mutants.py`` fails and says which:
rewrite the edit so that it makes the same mistake in the new source.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """Replace ``old``, which occurs once in the file, by ``new``."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutant:
    """A named mistake, the pitfall it belongs to (0: none), its edits, and tests that must see it."""

    name: str
    pitfall: int
    mistake: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


def mutant(name, pitfall, mistake, file, old, new, *tests):
    return Mutant(name, pitfall, mistake, (Edit(file, old, new),), tests)


DIALECTS, PARSER = "constrain/dialects.py", "constrain/pattern_parser.py"
PORTABLE, MINIMIZE = "constrain/schema/portable.py", "constrain/minimize.py"

MUTANTS = [
    mutant(
        "s01", 1, ". matches the line end",
        DIALECTS, "dot=difference(((0, 0xFF),), ((0x0A, 0x0A),)),", "dot=((0, 0xFF),),",
        "test_matches_python_re",
    ),
    mutant(
        "s02", 1, "[^...] is the complement in ASCII only",
        DIALECTS, "universe=((0, 0xFF),),", "universe=((0, 0x7F),),",
        "test_matches_python_re",
    ),
    mutant(
        "s08", 1, r"\w without the underscore",
        DIALECTS, "(0x41, 0x5A), (0x5F, 0x5F), ", "(0x41, 0x5A), ",
        "test_matches_python_re",
    ),
    mutant(
        "s11", 1, "ranges miss their upper end",
        PARSER, "return ((low, high),)", "return ((low, max(low, high - 1)),)",
        "test_matches_python_re",
    ),
    mutant(
        "s03", 2, "no minimization",
        MINIMIZE, "return number_states(classes, class_of[0])", "return number_states(nodes, 0)",
        "test_canonical_form", "test_hand_example",
    ),
    mutant(
        "s04", 3, "states numbered with the bytes descending",
        MINIMIZE, "sorted((b & -b, b, t) for t, b in classes.moves[node].items()):",
        "sorted(((b & -b, b, t) for t, b in classes.moves[node].items()), reverse=True):",
        "test_hand_example",
    ),
    mutant(
        "s05", 4, "EOS allowed everywhere",
        "constrain/masks.py", "accept[first].nonzero()[0]", "np.arange(len(first))",
        "test_hand_example_masks",
    ),
    Mutant(
        "s12", 4, "states with no way to an end are kept",
        (
            Edit("constrain/nfa.py", "        _drop_dead(builder.nfa)\n", "        pass\n"),
            Edit(MINIMIZE, "    return live\n", "    return bytearray(b'\\1' * len(moves))\n"),
        ),
        ("test_every_state_is_live",),
    ),
    mutant(
        "s06", 5, "the trie walk stops at the first dead byte",
        "constrain/actions.py", "        node = node.take(kept)\n",
        "        node = node.take(kept) if len(kept) >= len(node) else node[:0]\n",
        "test_masks_match_brute_force",
    ),
    mutant(
        "s14", 5, "the state after a token is that after its first byte",
        "constrain/index.py",
        "self.dfa.step(state, token) if", "self.dfa.step(state, token[:1]) if",
        "test_masks_match_brute_force",
    ),
    mutant(
        "s09", 6, "one optional copy too few",
        "constrain/nfa.py",
        "for _ in range(node.maximum - node.minimum):",
        "for _ in range(node.maximum - node.minimum - 1):",
        "test_matches_python_re",
    ),
    mutant(
        "s10", 6, "+ read as *",
        PARSER, '"+": (1, None)', '"+": (0, None)',
        "test_matches_python_re",
    ),
    mutant(
        "s13", 7, "anchors read as literal characters",
        PARSER, 'elif char in "^$":', 'elif char in "":',
        "test_unsupported_syntax_raises",
    ),
    mutant(
        "s15", 8, "JSON strings with raw control bytes",
        PORTABLE, r"""r'"(?:[ !#-\[\]-~]'""", r"""r'"(?:[\x00-!#-\[\]-~]'""",
        "test_constrained_generation_parses", "test_json_schema_documents_refused",
    ),
    mutant(
        "s16", 8, "JSON strings with any high byte",
        PORTABLE, r'r"|[\xc2-\xdf][\x80-\xbf]"', r'r"|[\x80-\xff]"',
        "test_constrained_generation_parses", "test_json_schema_documents_refused",
    ),
    mutant(
        "s23", 8, "integers with leading zeros",
        PORTABLE, 'INTEGER = r"-?(?:0|[1-9][0-9]*)"', 'INTEGER = r"-?[0-9]+"',
        "test_constrained_generation_parses", "test_json_schema_documents_refused",
    ),
    mutant(
        "s24", 8, "an exponent without digits",
        PORTABLE, "(?:[eE][+-]?[0-9]+)?", "(?:[eE][+-]?[0-9]*)?",
        "test_json_schema_documents_refused",
    ),
    mutant(
        "s17", 9, "optional properties required after the first member",
        PORTABLE, 'f"(?:,{member})?{some}"', 'f",{member}{some}"',
        "test_json_schema_documents",
    ),
    mutant(
        "s18", 10, "maxItems off by one",
        PORTABLE, "str(most - 1)", "str(most)",
        "test_json_schema_documents_refused",
    ),
    mutant(
        "s25", 11, "unknown schema keywords ignored",
        PORTABLE, "if keyword not in known:", "if keyword is None:",
        "test_json_schema_rejects_keywords_outside_the_subset",
    ),
    mutant(
        "s26", 12, "token strings as UTF-8, the byte map not undone",
        "constrain/spelling.py",
        "strangers = np.flatnonzero(values == _UNMAPPED)", "strangers = np.arange(len(values))",
        "test_vocab_bytes",
    ),
    mutant(
        "s27", 12, "special tokens given bytes",
        "constrain/vocabulary.py", "        elif token.special:\n", "        elif token.id < 0:\n",
        "test_vocab_bytes",
    ),
    mutant(
        "x01", 0, "the mask is right, but the run drifts from the text",
        "tables/plain.py", "target = trans[target << 8 | byte]", "target = trans[state << 8 | byte]",
        "test_constraint_lifecycle", "test_masks_match_the_golden_file",
        "test_constrained_generation_parses",
    ),
    mutant(
        "x02", 0, "a token outside the mask is taken",
        "tables/constraint.py",
        "or not words[number >> 5] >> (number & 31) & 1:", "or number < 0:",
        "test_constraint_lifecycle",
    ),
    mutant(
        "x03", 0, "something may follow EOS",
        "tables/constraint.py", "            self._held = self._runner.nothing\n", "",
        "test_constraint_lifecycle",
    ),
    mutant(
        "x04", 0, "a mask that allows nothing is applied",
        "tables/bitmask.py", "if not allowed.any():", "if not allowed.size:",
        "test_apply_mask",
    ),
    mutant(
        "x05", 0, "ties go to the highest id",
        "constrain/sampling.py",
        "int(np.argmax(scores))", "len(scores) - 1 - int(np.argmax(scores[::-1]))",
        "test_greedy_takes_the_best_allowed_token",
    ),
    mutant(
        "x06", 0, "the logprob counts tokens that are not allowed",
        "constrain/sampling.py",
        "sample(apply_mask(logits, c.mask()), p, history, rng, prompt)",
        "sample(apply_mask(logits, c.mask()), p, history, rng, prompt)[0], "
        "sample(logits, p, history, rng, prompt)[1]",
        "test_greedy_takes_the_best_allowed_token",
    ),
    mutant(
        "x07", 0, "a bad repeat is read as something else",
        PARSER, "if maximum is not None and maximum < minimum:", "if maximum == -1:",
        "test_unsupported_syntax_raises",
    ),
    mutant(
        "x08", 0, "the empty language compiles",
        "constrain/pattern.py", "if dfa.is_empty:", "if dfa is None:",
        "test_unsupported_syntax_raises",
    ),
]  # fmt: skip
