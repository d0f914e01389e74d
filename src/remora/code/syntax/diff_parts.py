"""The lines of a diff of Python files, with what their parts are: syntax, and words that changed."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_KINDS = {"+": "add", "-": "del"}
_MOST_WORDS, _MOST_PAIRS = 100, 50
"""Words and separators of a line, and lines of a hunk, that are compared: it takes a second."""
_MOST_CHARACTERS = 50_000
"""Characters of a hunk whose syntax is read, which takes a second if it is unusual."""
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


def diff_lines(diff: str) -> list[DiffLine]:
    """Return the lines of a unified diff, split at `\\n` only.

    Within a hunk, a line such as `--- x` is a deleted `-- x`.
    """
    lines = diff.removesuffix("\n").split("\n") if diff else []
    kinds = zip(_line_kinds(lines), lines, strict=True)
    found: list[DiffLine] = []
    for is_head, group in groupby(kinds, lambda pair: pair[0] in ("head", "hunk")):
        pairs = [*group]
        heads = (DiffLine(kind, (Part(line),)) for kind, line in pairs)
        found += heads if is_head else _hunk(pairs)
    return found


def _line_kinds(lines: Sequence[str]) -> Iterator[str]:
    """Yield the kind of each line. The head of a hunk says how many lines of both versions follow."""
    old = new = 0
    for line in lines:
        mark = line[:1]
        if head := _HUNK.match(line) if old <= 0 and new <= 0 else None:
            old, new = (int(number or 1) for number in head.groups())
            yield "hunk"
        elif old <= 0 and new <= 0 and line.startswith(("+++", "---")):
            yield "head"
        else:
            old, new = old - (mark not in ("+", "\\")), new - (mark not in ("-", "\\"))
            yield _KINDS.get(mark, "")


def _hunk(pairs: Sequence[tuple[str, str]]) -> Iterator[DiffLine]:
    old = _syntax([line[1:] for kind, line in pairs if kind != "add"])
    new = _syntax([line[1:] for kind, line in pairs if kind != "del"])
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
    words, others = _WORD.findall(line), _WORD.findall(version[1:])
    match = SequenceMatcher(None, words, others, autojunk=False)
    is_compared = version and max(len(words), len(others)) <= _MOST_WORDS
    if not is_compared or match.ratio() < _LEAST_ALIKE:
        return [False] * len(line)
    codes = match.get_opcodes()
    return [tag != "equal" for tag, start, end, _, _ in codes for _ in "".join(words[start:end])]


def _syntax(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the kind of each character of each line."""
    from pygments.lexers.python import PythonLexer  # slow to import
    from pygments.token import Comment, Keyword, Operator, String

    known = {Keyword: "keyword", Operator.Word: "keyword", String: "string", Comment: "comment"}
    begin = 4 if _begins_inside(lines) else 0
    text = '"""\n'[:begin] + "\n".join(lines)
    kinds = [""] * len(text)
    shown = text if len(text) <= _MOST_CHARACTERS else ""
    for start, token, part in PythonLexer().get_tokens_unprocessed(shown):
        kind = next((kind for parent, kind in known.items() if token in parent), "")
        kinds[start : start + len(part)] = [kind] * len(part)
    for line in lines:
        yield kinds[begin : begin + len(line)]
        begin += len(line) + 1


def _begins_inside(lines: Sequence[str]) -> bool:
    """Return True if the first `\"\"\"` closes a string: it is alone on its line, after no colon.

    Of 22,201 parts of 7 lines with a `\"\"\"` in installed packages, 33 % begin inside a string: with
    this rule 7 % are read wrongly, and 33 % without it.
    """
    at = next((place for place, line in enumerate(lines) if '"""' in line), -1)
    is_odd = sum(line.count('"""') for line in lines) % 2
    before = lines[at - 1].rstrip() if at > 0 else ""
    return bool(is_odd) and lines[at].strip() == '"""' and not before.endswith(":")


def _parts(line: str, syntax: Sequence[str], others: Sequence[bool]) -> Iterator[Part]:
    yield Part(line[:1])
    characters = zip(line[1:], syntax, others, strict=True)
    for (kind, is_other), group in groupby(characters, lambda character: character[1:]):
        yield Part("".join(character for character, *_ in group), kind, is_other)
