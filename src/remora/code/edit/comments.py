"""Comments that tools read, whose place and text have a meaning."""

import io
import re
import tokenize
from collections import Counter
from contextlib import suppress
from functools import lru_cache

from remora.code.edit.text_lines import split_lines

_FOR_TOOL = re.compile(
    r"#(?:!|\s*(?:"
    r"(?:noqa|nosec|pragma|nosemgrep|nosonar|noinspection|skipcq|sourcery|lgtm)\b|"
    r"(?:type|pylint|pyright|mypy|ruff|isort|flake8|fmt|yapf|doctest|cython|codespell|cspell|"
    r"typos|pytype|coverage|remora|vim?|ex):|"
    r"pyre-|language=|(?:end)?region\b|-\*-|(?:file)?(?:en)?coding[:=]|"
    r"[\w-]+:\s*(?:ignore|disable|enable|skip|off|on)(?:\s*(?:$|[=\[:(,])|-\w)))",
    re.IGNORECASE,
)

_SILENCING = re.compile(
    r"#[ \t]*(noqa|(?:ruff|flake8|isort|pylint)[ \t]*:|(?:type|pyright|mypy)[ \t]*:[ \t]*ignore)"
    r"([^#\n]*)",
    re.IGNORECASE,
)
_RULE = re.compile(r"\b[A-Z]+\d+\b|[\[,=][ \t]*[\w-]+")
"""A code, or a name in a list: `E501`, `[attr-defined`, `=missing-docstring`."""
_NOQA = re.compile(
    r"#\s*((?:flake8|ruff)\s*[:=]\s*)?noqa\b(?:\s*:\s*((?:[a-z]+\d+[,\s]*)*))?", re.IGNORECASE
)
_KEPT_IMPORT = re.compile(
    r"(?:(^#\s*pylint:)|#).*\b(?:unused-import|W0611|reportUnusedImport|type:\s*ignore)\b",
    re.IGNORECASE,
)


def comments_in(text: str) -> list[str]:
    """Return the comments of a file that parses, in order."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def is_for_tool(comment: str) -> bool:
    """Return True if a comment, which starts with `#`, is read by a tool and not only by people."""
    return _FOR_TOOL.match(comment.lstrip()) is not None


def silenced_codes(body: str) -> dict[int, list[str]]:
    """Return the codes of ruff that comments silence, by line, for the whole file as those of line 0.

    There are none in `# NOQA: needed for its side effect`, which flake8 takes for all codes.
    """
    found = dict[int, list[str]]()
    for number, line in enumerate(split_lines(body), 1):
        if noqa := _NOQA.search(line):
            found[0 if noqa[1] else number] = re.findall(r"\w+", (noqa[2] or "").upper())
        elif kept := _KEPT_IMPORT.search(line):
            found[0 if kept[1] else number] = ["F401"]
    return found


def silences_more(before: str, after: str) -> bool:
    """Return True if comments silence what they did not silence before.

    A comment that silenced all rules of a tool may be limited to one of them.
    """
    known, new = _silenced(before), _silenced(after)
    gone = known - new
    return any(not rule or not gone[tool, ""] for tool, rule in new - known)


def _silenced(code: str) -> Counter[tuple[str, str]]:
    """Count what comments silence, by tool and rule. The rule is empty if it is all of them."""
    return Counter(
        (re.sub(r"[ \t]", "", tool).lower(), rule.lstrip("[,= \t"))
        for tool, rules in _SILENCING.findall(code)
        for rule in _RULE.findall(rules) or [""]
    )


@lru_cache(maxsize=8)
def placed_comments(body: str) -> list[tuple[int, int, str, str]]:
    """Return the comments, and the line of a block that one for a tool belongs to, or nothing."""
    lines, found = io.StringIO(body), list[tuple[int, int, str, str]]()
    with suppress(tokenize.TokenError, SyntaxError):
        for kind, text, (line, column), _, code in tokenize.generate_tokens(lines.readline):
            if kind == tokenize.COMMENT:
                is_for_block = code[:column].rstrip().endswith(":") and is_for_tool(text)
                found.append((line, column + 1, text, code.strip() if is_for_block else ""))
    return found


def may_go(comment: str, header: str, replacement: str) -> bool:
    """Return True for a comment that a replacement contains, or that goes with its statement.

    A comment for a tool, such as `# pragma: no cover`, goes with a statement, but not with the
    `header` of a block, such as `else:`.
    """
    goes_along = not replacement.strip() and not header and is_for_tool(comment)
    return goes_along or (header or comment) in replacement
