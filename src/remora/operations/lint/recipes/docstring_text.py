"""Recipes for findings in the text of docstrings and comments."""

import ast
import re

from remora.code.edit.edits import Edit
from remora.operations.lint.recipes.base import (
    PythonSource,
    Recipe,
    RecipeFix,
    same_tree_but_docstrings,
)
from remora.operations.lint.recipes.summary import (
    ENDS_WITH_WORD,
    LEAST_WORDS,
    QUOTES,
    continues,
    first_sentence,
    opening,
)
from remora.tools.host.ruff.finding import Finding

_WORD = re.compile(r"[A-Za-z]+(?=[\s.,]|$)")
_MOOD_CHANGES = re.compile(r"(?:,|;|\band\b|\bor\b|\bthen\b)\s+(?:\w+ly\s+)?([a-z]+s)\b")
_VERBS = re.compile(
    r"(?:re)?(?:adds|appends|applies|assigns|builds|calls|checks|closes|collects|computes|configures|"
    r"converts|creates|decodes|deletes|displays|encodes|ensures|executes|extracts|generates|gets|"
    r"gives|initiali[sz]es|inserts|invokes|loads|makes|merges|modifies|moves|normali[sz]es|opens|"
    r"parses|performs|prints|produces|provides|puts|raises|reads|registers|removes|replaces|resets|"
    r"resolves|returns|saves|sends|sets|splits|stores|strips|throws|tries|turns|updates|validates|"
    r"waits|writes|yields)"
)
"""Verbs in the third person that are not a plural noun, or seldom."""
_CLAUSE = re.compile(r"\b(?:that|which|who|when|if|where|while|after|before|whose)\b")
_NEXT_SENTENCE = re.compile(r"[.!?]\s+([A-Z][a-z]+s)\b(?! (?:are|is|have|can|will|may|must|of)\b)")
_STATES = ("contains", "accepts", "allows", "represents", "acts", "helps", "serves", "requires")
"""Verbs of what a function is, not of what it does."""
_PLURAL = re.compile(r"\w+ (?:of|are|were|have|which|that are|to be|used|for which|in which)\b")
_IRREGULAR = {"caches": "cache", "echoes": "echo", "goes": "go", "vetoes": "veto"}
_THIRD_PERSON = re.compile(r"(?P<stem>[a-z]*[a-z])s")
_NOT_VERBS = re.compile(
    r"this|its|class|always|is|has|was|does|as|less|access|process|address|bus|status|yes|us|plus|"
    r"thus|series|news|lens|alias|axis|basis|analysis|canvas|bias|gas"
)
"""Words that end in `s` and are not a verb in the third person."""
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


def use_imperative(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """D401: change the first word of a docstring from "Returns" to "Return"."""
    literal = source.docstring_at(finding["line"])
    if literal is None:
        return None
    column, number = opening(source, literal)
    if column is None:
        shape = re.search(r"[rRuU]?[\"']", source.line(number))
        if shape is None:
            return None
        column = shape.end()
    text = source.line(number)
    column += len(text[column:]) - len(text[column:].lstrip())
    word = _WORD.match(text, column)
    verb = _imperative(word[0]) if word is not None else None
    sentence = _paragraph(source, literal, number, column)
    if word is None or verb is None or _PLURAL.match(sentence):
        return None
    others = _other_verbs(sentence, len(text) - column)
    if others is None:
        return None
    start = source.lines[number - 1].start + column
    edits = [Edit(start, start + len(word[0]), verb)]
    for at, other in others:
        edits.append(Edit(start + at, start + at + len(other), _imperative(other) or other))
    return RecipeFix(tuple(edits))


def _paragraph(source: PythonSource, literal: ast.Constant, number: int, column: int) -> str:
    """Return the text from a column of a line to the end of its paragraph."""
    words = [source.line(number)[column:].strip()]
    while number < (literal.end_lineno or 0) and continues(source.line(number + 1)):
        number += 1
        words.append(source.line(number).strip())
    return " ".join(words)


def _imperative(word: str) -> str | None:
    lower = word.lower()
    shape = _THIRD_PERSON.fullmatch(lower)
    if (
        shape is None
        or _NOT_VERBS.fullmatch(lower)
        or lower.endswith("ss")
        or lower in _STATES
        or not word[1:].islower()
    ):
        return None
    if lower in _IRREGULAR:
        verb = _IRREGULAR[lower]
    elif lower.endswith("ies") and len(lower) > 4:
        verb = lower[:-3] + "y"
    elif re.search(r"(?:ss|sh|ch|x|zz)es$", lower):
        verb = lower[:-2]
    else:
        verb = lower[:-1]
    return verb.capitalize() if word[0].isupper() else verb


def _other_verbs(sentence: str, room: int) -> list[tuple[int, str]] | None:
    """Return the verbs of a sentence that change with its first verb, with their offsets.

    Returns None if it is not sure which ones do, or if one is not in the first `room` characters.
    """
    if any(_imperative(match[1]) for match in _NEXT_SENTENCE.finditer(sentence)):
        return None
    found: list[tuple[int, str]] = []
    summary = sentence[: first_sentence(sentence)]
    for match in _MOOD_CHANGES.finditer(summary):
        if _NOT_VERBS.fullmatch(match[1]):
            continue
        is_sure = _VERBS.fullmatch(match[1]) and not _CLAUSE.search(summary, 0, match.start())
        if not is_sure or match.end() > room:
            return None
        found.append((match.start(1), match[1]))
    return found


def end_with_period(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """D400 and D415: add a period to a summary line that is a sentence of its own."""
    literal = source.docstring_at(finding["line"])
    if literal is None or "\\" in source.text(literal):
        return None
    column, number = opening(source, literal)
    if column is None:
        return None
    text = source.line(number)
    last = number == literal.end_lineno
    closing = re.search(r"\s*(?:\"\"\"|''')[^\"']*$", text) if last else None
    stop = closing.start() if closing is not None else len(text.rstrip())
    if (last and closing is None) or (not last and not _ends_paragraph(source, literal, number)):
        return None
    summary = text[column:stop].strip()
    if len(summary.split()) < LEAST_WORDS or not ENDS_WITH_WORD.search(summary):
        return None
    at = source.lines[number - 1].start + stop
    return RecipeFix((Edit(at, at, "."),))


def _ends_paragraph(source: PythonSource, literal: ast.Constant, number: int) -> bool:
    following = source.line(number + 1).strip()
    return not following or (number + 1 == literal.end_lineno and following[:3] in QUOTES)


PERIOD = Recipe(codes=("D400", "D415"), fix=end_with_period, keeps=same_tree_but_docstrings)
IMPERATIVE = Recipe(codes=("D401",), fix=use_imperative, keeps=same_tree_but_docstrings)


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
