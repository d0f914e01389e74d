"""A question with several texts of which one is known to be right, and the words of code."""

import builtins
import io
import keyword
import re
import tokenize
from dataclasses import dataclass, field, replace

_WORD = re.compile(r"[A-Za-z]+|\d+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_KEPT = {*dir(builtins), *keyword.kwlist, *keyword.softkwlist, "self", "cls"}

Features = dict[str, float]


@dataclass(frozen=True)
class Question:
    """Texts for one place in a piece of code.

    `context` and `empty` are prompts that end where the text begins: with the code, and without it.
    If `single` is true, only the first tokens of the options are compared.
    """

    package: str
    name: str
    code: str
    context: str
    empty: str
    options: tuple[str, ...]
    right: int
    single: bool = False
    facts: tuple[Features, ...] = field(default=(), compare=False)
    """For each option, what rules know about it, by name."""


def with_facts(question: Question, facts: list[Features]) -> Question:
    """Return the question with other facts about its options."""
    return replace(question, facts=tuple(facts))


def words_of(text: str) -> list[str]:
    """Return the words of code or prose in lower case; names are split.

    >>> words_of("read_allLines(URLPath)")
    ['read', 'all', 'lines', 'url', 'path']
    """
    return [part.lower() for word in _WORD.findall(text) for part in _PART.findall(word)]


def stem(word: str) -> str:
    """Return a word without a common ending, so that `returns` equals `returned`."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def stems_of(text: str) -> list[str]:
    """Return the stems of the words of a text."""
    return [stem(word) for word in words_of(text)]


def neutral_names(code: str, kept: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return a neutral name (`f1`, `a1`, `a2`) for each identifier of a piece of code.

    Keywords, built-in names, special methods, `self` and `cls` keep their names.
    """
    names: dict[str, str] = {}
    previous = ""
    for token in _tokens(code):
        if token.type == tokenize.NAME and not _is_kept(token.string, kept):
            letter = "f" if previous in ("def", "class") else "a"
            names.setdefault(token.string, f"{letter}{len(names) + 1}")
        previous = token.string
    return names


def renamed_code(code: str, names: dict[str, str]) -> str:
    """Return code with other identifiers. Strings and comments are changed like prose."""
    lines = code.split("\n")
    for token in reversed(_tokens(code)):
        (line, start), (last, end) = token.start, token.end
        if token.type == tokenize.NAME and token.string in names:
            old = lines[line - 1]
            lines[line - 1] = old[:start] + names[token.string] + old[end:]
        elif token.type in (tokenize.STRING, tokenize.COMMENT) and line == last:
            old = lines[line - 1]
            lines[line - 1] = old[:start] + renamed_prose(token.string, names) + old[end:]
    return "\n".join(lines)


def renamed_prose(text: str, names: dict[str, str]) -> str:
    """Return a text in which identifiers that are mentioned have their other names."""
    return re.sub(r"[A-Za-z_]\w*", lambda match: names.get(match[0], match[0]), text)


def _is_kept(name: str, kept: frozenset[str]) -> bool:
    return name in _KEPT or name in kept or (name.startswith("__") and name.endswith("__"))


def _tokens(code: str) -> list[tokenize.TokenInfo]:
    """Return the tokens of a piece of code up to the first error; it may end in a block."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            found.append(token)  # noqa: PERF402 (keeps what precedes an error)
    except (tokenize.TokenError, SyntaxError):
        pass
    return found
