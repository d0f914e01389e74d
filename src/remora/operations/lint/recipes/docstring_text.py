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
_THIRD_PERSON = re.compile(r"(?P<stem>[a-z]*[a-z])s")
_NOT_VERBS = frozenset(
    "this its class always is has was does as less access process address bus status yes us plus "
    "thus series news lens alias axis basis analysis canvas bias gas".split()
)


def separate_summary(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """D205: put the first sentence of a docstring on a line of its own.

    The words stay as they are. Returns None if the first sentence does not fit on one line.
    """
    literal = source.docstring_at(finding["line"])
    if literal is None or "\\" in source.text(literal):
        return None
    quotes, first = _opening(source, literal)
    if quotes is None:
        return None
    last = first
    end = literal.end_lineno or first
    while last + 1 < end and source.line(last + 1).strip():
        last += 1
    text = source.line(first)
    lead = text[: len(text) - len(text[quotes:].lstrip())]
    paragraph = [text[quotes:].strip(), *(source.line(n).strip() for n in range(first + 1, last + 1))]
    if len(paragraph) < 2 or any("  " in line for line in paragraph):
        return None
    indent = re.match(r"\s*", source.line(literal.lineno))[0]  # type: ignore[index]
    depths = {re.match(r"\s*", source.line(n))[0] for n in range(first + 1, last + 1)}  # type: ignore[index]
    if depths != {indent}:
        return None  # indented lines are a list, code or a table
    words = " ".join(paragraph)
    cut = _first_sentence(words)
    if cut is None or len(lead) + cut > source.width:
        return None
    summary, rest = words[:cut], words[cut:].strip()
    lines = [lead + summary, ""]
    at = len(paragraph[0])
    if cut == at:
        lines += [source.line(n) for n in range(first + 1, last + 1)]
    elif rest:
        lines += textwrap.wrap(
            rest,
            source.width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    else:
        following = source.line(last + 1).strip()
        lines = lines if following and not following.startswith(('"""', "'''")) else lines[:1]
    start, stop = source.lines[first - 1].start, source.lines[last - 1].stop
    return RecipeFix((Edit(start, stop, source.newline.join(lines)),))


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
    if shape is None or lower in _NOT_VERBS or lower.endswith("ss") or not word[1:].islower():
        return None
    if lower.endswith("ies") and len(lower) > 4:
        verb = lower[:-3] + "y"
    elif re.search(r"(?:ss|sh|ch|x|zz)es$", lower) or lower in ("goes", "does", "echoes", "vetoes"):
        verb = lower[:-2]
    else:
        verb = lower[:-1]
    return verb.capitalize() if word[0].isupper() else verb


def _other_verbs(sentence: str, first: str) -> bool:
    """Return True if the sentence probably has another verb that would have to change, too."""
    return any(
        match[1] not in _NOT_VERBS and match[1] != first.lower()
        for match in _MOOD_CHANGES.finditer(sentence)
    )


SUMMARY_LINE = Recipe(codes=("D205",), fix=separate_summary, keeps=same_docstring_words)
IMPERATIVE = Recipe(codes=("D401",), fix=use_imperative, keeps=same_tree_but_docstrings)
