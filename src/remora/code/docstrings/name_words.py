"""Detection of summaries that only repeat the names of the documented code."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from remora.code.docstrings.documented_node import DocumentedNode
from remora.code.docstrings.documented_parameters import lower_words
from remora.code.syntax.definitions import FunctionNode

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ENDINGS = (
    "ations", "ation", "ers", "ors", "er", "or", "ings", "ing", "ies", "ied", "ed", "es", "s", "e", "y",
)  # fmt: skip
_LEAST = 3
"""Characters of the shortest stem."""
_SAY_NOTHING = frozenset(
    (
        *("a", "an", "the", "this", "that", "these", "its", "it", "is", "are", "be", "of", "for"),
        *("from", "to", "in", "on", "with", "by", "as", "and", "or", "if", "into", "at", "given"),
        *("whether", "which", "new", "current", "specified", "provided", "some", "any", "all"),
        *("get", "return", "set", "do", "make", "create", "perform", "handle", "process", "run"),
        *("method", "function", "class", "object", "instance", "value", "data", "result", "item"),
        *("thing", "true", "false", "none", "parameter", "argument", "represent", "define"),
        *("provide", "use", "call", "execute", "will", "can", "based", "using", "self"),
        *("docstrings", "one", "line", "what", "show", "describe", "explain", "does", "code"),
    )
)
"""The last line is for small models, which repeat the task: "A one-line docstring that shows what the
code does". Of 78,395 summaries people wrote, it makes 127 say nothing (3,736 without it).
"""


def only_repeats_name(summary: str, found: DocumentedNode) -> bool:
    """Return True if every word of a summary is a word of the names, or says nothing by itself.

    The names are those of the definition, its class, its parameters and its annotations.
    """
    known = {_stem(word) for name in _names(found) for word in _words(name)}
    said = {_stem(word) for word in _words(summary) if word not in _SAY_NOTHING}
    return said - {_stem(word) for word in _SAY_NOTHING} <= known


def _names(found: DocumentedNode) -> Iterator[str]:
    yield from found.qualname.split(".")
    if isinstance(found.node, FunctionNode):
        yield from (node.arg for node in ast.walk(found.node.args) if isinstance(node, ast.arg))
        yield from (
            node.id
            for part in (found.node.args, found.node.returns)
            if part is not None
            for node in ast.walk(part)
            if isinstance(node, ast.Name)
        )


def _words(text: str) -> list[str]:
    return lower_words(_CAMEL.sub(" ", text))


@cache
def _stem(word: str) -> str:
    """Return a word without its ending: "decodes", "decoding" and "decoder" are the same word."""
    endings = (
        ending for ending in _ENDINGS if word.endswith(ending) and len(word) - len(ending) >= _LEAST
    )
    ending = next(endings, "")
    if not ending or word.endswith("ss"):
        return word
    short = word[: -len(ending)]
    if short[-1] in "ey" and len(short) > _LEAST:  # "copying" and "copy", "seeing" and "see"
        return short[:-1]
    is_doubled = short[-1] == short[-2] and short[-1] not in "ls"
    return short[:-1] if is_doubled else short
