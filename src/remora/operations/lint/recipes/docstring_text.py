"""Recipes for findings in the text of docstrings."""

import ast
import re
import textwrap

from remora.operations.lint.recipes.base import (
    PythonSource,
    Recipe,
    RecipeFix,
    same_docstring_words,
    same_tree_but_docstrings,
)
from remora.tools.host.ruff.ruff_process import Finding
from remora.tools.host.ruff.text_edits import Edit

_SENTENCE = re.compile(r"[.!?](?:['\"`)\]]*)(?=\s|$)")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|resp|approx|No|Fig|Eq)\.$")
_WORD = re.compile(r"[A-Za-z]+(?=[\s.,:]|$)")
_MOOD_CHANGES = re.compile(r"(?:,|;|\band\b|\bor\b|\bthen\b)\s+(?:\w+ly\s+)?([a-z]+s)\b")
_ENDS_WITH_WORD = re.compile(r"[\w`)'\"\]]$")
_LEAST_WORDS = 2
_QUOTES = ('"""', "'''")
_IRREGULAR = {"caches": "cache", "echoes": "echo", "goes": "go", "vetoes": "veto"}
_THIRD_PERSON = re.compile(r"(?P<stem>[a-z]*[a-z])s")
_NOT_VERBS = re.compile(
    r"this|its|class|always|is|has|was|does|as|less|access|process|address|bus|status|yes|us|plus|"
    r"thus|series|news|lens|alias|axis|basis|analysis|canvas|bias|gas"
)
"""Words that end in `s` and are not a verb in the third person."""


def separate_summary(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """D205: put the first sentence of a docstring on a line of its own.

    The words stay as they are. Returns None if the first sentence does not fit on one line.
    """
    literal = source.docstring_at(finding["line"])
    if literal is None or "\\" in source.text(literal):
        return None
    column, first = _opening(source, literal)
    if column is None:
        return None
    last = first
    while last + 1 < (literal.end_lineno or first) and source.line(last + 1).strip():
        last += 1
    paragraph = [source.line(first)[column:], *map(source.line, range(first + 1, last + 1))]
    indent = _indent(source.line(literal.lineno))
    if not _is_plain(paragraph, indent):
        return None
    words = " ".join(line.strip() for line in paragraph)
    cut = _first_sentence(words)
    if cut is None or column + cut > source.width:
        return None
    lead = source.line(first)[:column]
    if cut == len(paragraph[0].strip()):  # the sentence ends with the line
        lines = [lead + words[:cut], "", *paragraph[1:]]
    else:
        lines = [lead + words[:cut], *_second_paragraph(words[cut:].strip(), indent, source.width)]
    start, stop = source.lines[first - 1].start, source.lines[last - 1].stop
    return RecipeFix((Edit(start, stop, source.newline.join(lines)),))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _is_plain(paragraph: list[str], indent: str) -> bool:
    """Return False for a paragraph of one line, and for lists, code and tables."""
    return (
        len(paragraph) > 1
        and not any("  " in line.strip() for line in paragraph)
        and all(_indent(line) == indent for line in paragraph[1:])
    )


def _second_paragraph(words: str, indent: str, width: int) -> list[str]:
    if not words:
        return []
    wrapped = textwrap.wrap(
        words,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return ["", *wrapped]


def _first_sentence(words: str) -> int | None:
    for end in _SENTENCE.finditer(words):
        head = words[: end.end()]
        following = words[end.end() :].lstrip()
        if not _ABBREVIATION.search(words[: end.start() + 1]) and (
            not following or following[0].isupper() or following[0] in "`:*\"'(<"
        ):
            return len(head)
    return None


def _opening(source: PythonSource, literal: ast.Constant) -> tuple[int | None, int]:
    """Return the column after the opening quotes and the line of the first text."""
    text = source.line(literal.lineno)
    shape = re.search(r"[rRuU]?(?:\"\"\"|''')", text)
    if shape is None:
        return None, literal.lineno
    if text[shape.end() :].strip():
        return shape.end(), literal.lineno
    following = source.line(literal.lineno + 1)
    return len(following) - len(following.lstrip()), literal.lineno + 1


def use_imperative(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """D401: change the first word of a docstring from "Returns" to "Return"."""
    literal = source.docstring_at(finding["line"])
    if literal is None:
        return None
    column, number = _opening(source, literal)
    if column is None:
        shape = re.search(r"[rRuU]?[\"']", source.line(number))
        if shape is None:
            return None
        column = shape.end()
    text = source.line(number)
    column += len(text[column:]) - len(text[column:].lstrip())
    word = _WORD.match(text, column)
    verb = _imperative(word[0]) if word is not None else None
    sentence = text[column:]
    if word is None or verb is None or _other_verbs(sentence, word[0]):
        return None
    start = source.lines[number - 1].start + column
    return RecipeFix((Edit(start, start + len(word[0]), verb),))


def _imperative(word: str) -> str | None:
    lower = word.lower()
    shape = _THIRD_PERSON.fullmatch(lower)
    if (
        shape is None
        or _NOT_VERBS.fullmatch(lower)
        or lower.endswith("ss")
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


def _other_verbs(sentence: str, first: str) -> bool:
    """Return True if the sentence probably has another verb that would have to change, too."""
    return any(
        not _NOT_VERBS.fullmatch(match[1]) and match[1] != first.lower()
        for match in _MOOD_CHANGES.finditer(sentence)
    )


def end_with_period(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """D400 and D415: add a period to a summary line that is a sentence of its own."""
    literal = source.docstring_at(finding["line"])
    if literal is None or "\\" in source.text(literal):
        return None
    column, number = _opening(source, literal)
    if column is None:
        return None
    text = source.line(number)
    last = number == literal.end_lineno
    closing = re.search(r"\s*(?:\"\"\"|''')[^\"']*$", text) if last else None
    stop = closing.start() if closing is not None else len(text.rstrip())
    if (last and closing is None) or (not last and not _ends_paragraph(source, literal, number)):
        return None
    summary = text[column:stop].strip()
    if len(summary.split()) < _LEAST_WORDS or not _ENDS_WITH_WORD.search(summary):
        return None
    at = source.lines[number - 1].start + stop
    return RecipeFix((Edit(at, at, "."),))


def _ends_paragraph(source: PythonSource, literal: ast.Constant, number: int) -> bool:
    following = source.line(number + 1).strip()
    return not following or (number + 1 == literal.end_lineno and following[:3] in _QUOTES)


PERIOD = Recipe(codes=("D400", "D415"), fix=end_with_period, keeps=same_tree_but_docstrings)
SUMMARY_LINE = Recipe(codes=("D205",), fix=separate_summary, keeps=same_docstring_words)
IMPERATIVE = Recipe(codes=("D401",), fix=use_imperative, keeps=same_tree_but_docstrings)
