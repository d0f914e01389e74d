"""The lines of a diff of Python files, with what their parts are: syntax, and words that changed."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import groupby
from keyword import kwlist
from typing import NamedTuple

_TOKEN = re.compile(
    r"(?P<comment>#[^\n]*)"
    r"""|(?P<string>(?:\b[rbfutRBFUT]{1,2})?(?:(\"{3}|'{3})(?:\\?.)*?(?:\3|\Z)"""
    r"""|(["'])(?:\\.|[^\n])*?(?:\4|(?=\n)|\Z)))"""
    rf"|(?P<keyword>\b(?:{'|'.join(kwlist)})\b|(?:(?<=\n)|(?<=  ))(?:match|case)\b(?= [^\n]*:(?:\n|\Z)))",
    re.DOTALL,
)
"""What is shown of the syntax of Python. What is not closed extends to the end of its line or file."""
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_KINDS = {"+": "add", "-": "del"}
_MOST_WORDS, _MOST_PAIRS = 100, 50
"""Words and separators of a line, and lines of a hunk, that are compared: it takes a second."""
_MOST_CHARACTERS = 50_000
"""Characters of a hunk or file whose syntax is read, which takes a second if it is unusual."""
_LEAST_ALIKE = 0.5
"""Lines that share fewer words are not versions of each other (decision)."""


class Part(NamedTuple):
    """A part of a line. `syntax` is `keyword`, `string`, `comment` or empty.

    `is_other` is true if another version of the line does not have it.
    """

    text: str
    syntax: str = ""
    is_other: bool = False


class DiffLine(NamedTuple):
    """A line of a diff. `kind` is `head`, `hunk`, `add`, `del` or empty."""

    kind: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


def diff_lines(diff: str, before: str = "") -> list[DiffLine]:
    """Return the lines of a unified diff, split at `\\n` only.

    Within a hunk, a line such as `--- x` is a deleted `-- x`. `before` is the old version of the
    file. Without it, a hunk below the first line has no syntax: it may begin inside a string.
    """
    lines = diff.removesuffix("\n").split("\n") if diff else []
    kinds = zip(_line_kinds(lines), lines, strict=True)
    found, head = list[DiffLine](), ""
    for is_head, group in groupby(kinds, lambda pair: pair[0] in ("head", "hunk")):
        pairs = [*group]
        heads = (DiffLine(kind, (Part(line),)) for kind, line in pairs)
        head = pairs[-1][1] if is_head else head
        found += heads if is_head else _hunk(pairs, _unclosed(before, head))
    return found


def _line_kinds(lines: Sequence[str]) -> Iterator[str]:
    """Yield the kind of each line. The head of a hunk says how many lines of both versions follow."""
    old = new = 0
    for line in lines:
        mark = line[:1]
        if head := HUNK.match(line) if old <= 0 and new <= 0 else None:
            old, new = (int(number or 1) for number in head.groups()[1::2])
            yield "hunk"
        elif old <= 0 and new <= 0 and line.startswith(("+++", "---")):
            yield "head"
        else:
            old, new = old - (mark not in ("+", "\\")), new - (mark not in ("-", "\\"))
            yield _KINDS.get(mark, "")


def _hunk(pairs: Sequence[tuple[str, str]], unclosed: str | None) -> Iterator[DiffLine]:
    old = _syntax([line[1:] for kind, line in pairs if kind != "add"], unclosed)
    new = _syntax([line[1:] for kind, line in pairs if kind != "del"], unclosed)
    for is_edited, group in groupby(pairs, lambda pair: pair[0] != ""):
        edited = [*group]
        others = _versions(edited) if is_edited else {}
        for kind, line in edited:
            syntax = next(old if kind == "del" else new)
            if not is_edited:
                next(old)
            yield DiffLine(kind, (*_parts(line, syntax, _others(line[1:], others.get(line, ""))),))


def _versions(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the other version of each removed and added line, if they are as many."""
    removed = [line for kind, line in pairs if kind == "del"]
    added = [line for kind, line in pairs if kind == "add"]
    are_versions = len(removed) == len(added) <= _MOST_PAIRS
    other = dict(zip(removed, added, strict=True)) if are_versions else {}
    return other | {line: old for old, line in other.items()}


def _others(line: str, version: str) -> list[bool]:
    """Return for each character of a line if the other version of the line lacks its word."""
    words, others = _WORD.findall(line if version else ""), _WORD.findall(version[1:])
    match = SequenceMatcher(None, words, others, autojunk=False)
    is_compared = version and max(len(words), len(others)) <= _MOST_WORDS
    if not is_compared or match.ratio() < _LEAST_ALIKE:
        return [False] * len(line)
    codes = match.get_opcodes()
    return [tag != "equal" for tag, start, end, _, _ in codes for _ in "".join(words[start:end])]


def _unclosed(before: str, head: str) -> str | None:
    """Return the lines of a string that is open where a hunk starts, or None if that is unknown."""
    begins = HUNK.match(head)
    above = before.split("\n")[: max(0, int(begins[1]) - 1)] if begins else []
    start = end = sum(len(line) + 1 for line in above)
    kinds = _kinds(before)
    while kinds[start - 1 : start] == ["string"]:
        start = before.rfind("\n", 0, start - 1) + 1
    return before[start:end] if kinds or not end else None


def _syntax(lines: Sequence[str], unclosed: str | None) -> Iterator[Sequence[str]]:
    """Yield the kind of each character of each line, which follow an unclosed string."""
    begin, text = len(unclosed or ""), (unclosed or "") + "\n".join(lines)
    kinds = (_kinds(text) if unclosed is not None else []) or [""] * len(text)
    for line in lines:
        yield kinds[begin : begin + len(line)]
        begin += len(line) + 1


@lru_cache(maxsize=4)  # for all hunks of a file
def _kinds(text: str) -> list[str]:
    """Return the kind of each character, or nothing if there are too many."""
    kinds = [""] * len(text) if len(text) <= _MOST_CHARACTERS else []
    for token in _TOKEN.finditer(text) if kinds else ():
        kinds[token.start() : token.end()] = [token.lastgroup or ""] * len(token[0])
    return kinds


def _parts(line: str, syntax: Sequence[str], others: Sequence[bool]) -> Iterator[Part]:
    yield Part(line[:1])
    characters = zip(line[1:], syntax, others, strict=True)
    for (kind, is_other), group in groupby(characters, lambda character: character[1:]):
        yield Part("".join(character for character, *_ in group), kind, is_other)
