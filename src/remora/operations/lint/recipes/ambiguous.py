"""Recipe for RUF002 and RUF003: plain characters for typographic ones in docstrings and comments."""

from remora.code.edit.edits import Edit
from remora.operations.lint.recipes.base import (
    PythonSource,
    Recipe,
    RecipeFix,
    same_tree_but_docstrings,
)
from remora.tools.host.ruff.finding import Finding

_PLAIN = {
    "\N{LEFT SINGLE QUOTATION MARK}": "'",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{SINGLE HIGH-REVERSED-9 QUOTATION MARK}": "'",
    "\N{PRIME}": "'",
    "\N{ACUTE ACCENT}": "'",
    "\N{HYPHEN}": "-",
    "\N{NON-BREAKING HYPHEN}": "-",
    "\N{EN DASH}": "-",
    "\N{MINUS SIGN}": "-",
    "\N{NO-BREAK SPACE}": " ",
}
_MOST_LETTERS = 10


def use_plain_character(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """Return the edit that replaces a character, if the file is in English otherwise."""
    at = source.position(finding["line"], finding["column"])
    plain = _PLAIN.get(source.body[at])
    literal = source.docstring_at(finding["line"])
    is_doctest = literal is not None and ">>>" in source.text(literal)
    if plain is None or is_doctest or source.once(_letters_beyond_ascii) > _MOST_LETTERS:
        return None
    return RecipeFix((Edit(at, at + 1, plain),))


def _letters_beyond_ascii(source: PythonSource) -> int:
    if source.body.isascii():
        return 0
    return sum(each.isalpha() and not each.isascii() for each in source.body)


PLAIN_CHARACTERS = Recipe(
    codes=("RUF002", "RUF003"), fix=use_plain_character, keeps=same_tree_but_docstrings
)
