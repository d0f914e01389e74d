"""Recipe for D205: separates the summary line of a docstring from the rest."""

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from remora.code.edit.edits import Edit
from remora.operations.lint.recipes.base import (
    PythonSource,
    Recipe,
    RecipeFix,
    same_docstring_words,
)
from remora.tools.host.ruff.finding import Finding

_SENTENCE = re.compile(r"[.!?](?:['\"`)\]]*)(?=\s|$)")
_ABBREVIATION = re.compile(
    r"\b(?:[eE]\.?g|[iI]\.?e|etc|vs|cf|resp|approx|incl|No|Fig|Eq|Mr|Dr|St|al|[A-Z])\.$"
)
STRUCTURE = re.compile(
    r"\s*(?:[-*+•] |\d+[.)] |:\w[^:`]*:(?:\s|$)|@\w+|>>>|\.\. |[-=~^]{3}|"
    r"(?:Args|Arguments|Parameters|Params|Returns?|Raises?|Yields?|Examples?|Notes?|Attributes|Usage|"
    r"Keyword Arg\w+|Warnings?|See Also|References)(?: ?::?)?\s*$)"
)
_ROOM = 10
_USUAL_WIDTH = 72
UNDERLINE = re.compile(r"\s*[-=~^*#]{3}")
_ENDS_SUMMARY = re.compile(r"[\w`)'\"\].!?:]\s*$")
QUOTES = ('"""', "'''")
ENDS_WITH_WORD = re.compile(r"[\w`)'\"\]]$")
LEAST_WORDS = 2


@dataclass(frozen=True)
class _Summary:
    """The first paragraph of a docstring, from `column` of the line `first` to the line `last`.

    `below` is the stripped line after it, and `is_last` is True if that line ends the docstring.
    """

    literal: ast.Constant
    column: int
    first: int
    last: int
    paragraph: tuple[str, ...]
    below: str
    is_last: bool


def separate_summary(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """D205: put the first sentence of a docstring on a line of its own.

    The words stay as they are. Returns None if the first sentence does not fit on one line.
    """
    summary = _summary_at(source, finding["line"])
    if summary is None or UNDERLINE.match(summary.below) or STRUCTURE.match(summary.paragraph[0]):
        return None
    last = summary.last
    if len(summary.paragraph) == 1:
        if not summary.below or summary.is_last or not _ENDS_SUMMARY.search(summary.paragraph[0]):
            return None
        at = source.lines[last - 1].stop  # a list of parameters, for example, follows
        return RecipeFix((Edit(at, at, source.newline),))
    lines = _separated(source, summary)
    if not lines:
        return None
    if len(lines) > 1 and summary.below and not summary.is_last:
        lines.append("")
    if len(lines) == 1 and summary.below in QUOTES and summary.first == summary.literal.lineno:
        whole = lines[0] + summary.below
        if len(whole) <= source.width:  # all of the docstring is on one line now
            lines, last = [whole], last + 1
    start, stop = source.lines[summary.first - 1].start, source.lines[last - 1].stop
    return RecipeFix((Edit(start, stop, source.newline.join(lines)),))


def _summary_at(source: PythonSource, line: int) -> _Summary | None:
    literal = source.docstring_at(line)
    if literal is None or "\\" in source.text(literal):
        return None
    column, first = opening(source, literal)
    if column is None:
        return None
    end = literal.end_lineno or first
    last = first
    while last + 1 < end and continues(source.line(last + 1)):
        last += 1
    paragraph = (source.line(first)[column:], *map(source.line, range(first + 1, last + 1)))
    below = source.line(last + 1).strip() if last < len(source.lines) else ""
    return _Summary(literal, column, first, last, paragraph, below, last + 1 >= end)


def _separated(source: PythonSource, summary: _Summary) -> list[str]:
    """Return the lines of the paragraph with the first sentence alone, or an empty list."""
    paragraph = summary.paragraph
    indent = _indent(source.line(summary.literal.lineno))
    if not _is_plain(paragraph, indent):
        return []
    lead = source.line(summary.first)[: summary.column]
    if _is_line_of_its_own(paragraph, summary.column):
        return [lead + paragraph[0].rstrip(), "", *paragraph[1:]]
    words = " ".join(line.strip() for line in paragraph)
    cut = first_sentence(words)
    if cut is None or summary.column + cut > source.width:
        return []
    if cut == len(paragraph[0].strip()):  # the sentence ends with the line
        return [lead + words[:cut], "", *paragraph[1:]]
    return [lead + words[:cut], *_second_paragraph(words[cut:].strip(), indent, source.width)]


def opening(source: PythonSource, literal: ast.Constant) -> tuple[int | None, int]:
    """Return the column after the opening quotes and the line of the first text."""
    text = source.line(literal.lineno)
    shape = re.search(r"[rRuU]?(?:\"\"\"|''')", text)
    if shape is None:
        return None, literal.lineno
    if text[shape.end() :].strip():
        return shape.end(), literal.lineno
    following = source.line(literal.lineno + 1)
    return len(following) - len(following.lstrip()), literal.lineno + 1


def continues(line: str) -> bool:
    """Return True if a line belongs to the paragraph of the line above."""
    return bool(line.strip()) and not STRUCTURE.match(line)


def first_sentence(words: str) -> int | None:
    for end in _SENTENCE.finditer(words):
        head = words[: end.end()]
        following = words[end.end() :].lstrip()
        if not _ABBREVIATION.search(words[: end.start() + 1]) and (
            not following or following[0].isupper() or following[0] in "`:*\"'(<"
        ):
            return len(head)
    return None


def _is_line_of_its_own(paragraph: Sequence[str], column: int) -> bool:
    """Return True if the first line was ended on purpose, although it has no period."""
    first, second = paragraph[0].strip(), paragraph[1].strip()
    word = second.split()[0]
    longest = max(map(len, paragraph[1:]))
    return (
        bool(ENDS_WITH_WORD.search(first))
        and len(first.split()) > LEAST_WORDS
        and re.fullmatch(r"[A-Z][a-z]+", word) is not None
        and column + len(first) + len(word) + _ROOM < max(longest, _USUAL_WIDTH)
    )


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _is_plain(paragraph: Sequence[str], indent: str) -> bool:
    """Return False for a paragraph of one line, and for lists, code and tables."""
    return (
        len(paragraph) > 1
        and not any(re.search(r"(?<![.!?:]) {2}", line.strip()) for line in paragraph)
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


SUMMARY_LINE = Recipe(codes=("D205",), fix=separate_summary, keeps=same_docstring_words)
