"""Texts related to a node, taken from other docstrings, call sites and comments."""

import ast
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from remora.code.syntax.definitions import DEFINITIONS, DefinitionNode
from remora.code.syntax.effects import unqualified_name
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source
from remora.operations.docstring.code_quotes import code_text
from remora.operations.docstring.describable_parts import describable_parts
from remora.operations.docstring.parse import parse_docstring

_Key = TypeVar("_Key", bound=Hashable)
_LONGEST = 160
_NOT_A_COMMENT = re.compile(
    r"#(?:!| *(?:-\*-|noqa|type:|pragma|pylint|mypy|fmt:|ruff:|TODO|FIXME|XXX|HACK|remora:|[-=#*]{3}))"
)
_LEGAL = re.compile(r"copyright|licen[sc]e|all rights reserved|spdx", re.IGNORECASE)


class ParameterText(msgspec.Struct, frozen=True):
    """A description of a parameter in a docstring.

    `owner` is the enclosing class, if there is one.
    """

    name: str
    text: str
    owner: str


class FileTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Texts found in a file.

    `parameters` contains descriptions of parameters. `methods` maps a class and a method to the
    method's summary. `raisers` maps an exception to the functions that raise it. `subclasses` maps
    a base class to its subclasses. `constants` maps a function and a parameter to the constants
    passed to it.
    """

    parameters: tuple[ParameterText, ...] = ()
    methods: Mapping[tuple[str, str], str] = {}
    raisers: Mapping[str, tuple[str, ...]] = {}
    subclasses: Mapping[str, tuple[str, ...]] = {}
    constants: Mapping[tuple[str, str], tuple[str, ...]] = {}

    def bases_of(self, owner: str) -> list[str]:
        return [base for base, below in self.subclasses.items() if owner in below]


class RelatedTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Texts from the node's file (`own`), other files in its folder (`near`) and its callers.

    `owner` is the class that contains the node, if there is one.
    """

    own: FileTexts = FileTexts()
    near: tuple[FileTexts, ...] = ()
    callers: tuple[FileTexts, ...] = ()
    owner: str = ""


def collect_texts(source: Source) -> FileTexts:
    parameters: list[ParameterText] = []
    methods: dict[tuple[str, str], str] = {}
    raisers: dict[str, list[str]] = {}
    subclasses: dict[str, list[str]] = {}
    for node, owner in _definitions(source.tree.body, ""):
        text = docstring_text(node.body)
        if text:
            parameters += _described(node, text, owner)
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                subclasses.setdefault(unqualified_name(base), []).append(node.name)
            continue
        if text and owner:
            methods[owner, node.name] = parse_docstring(text).summary
        for each in describable_parts(node).raises:
            raisers.setdefault(each.name.rpartition(".")[2], []).append(node.name)
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    return FileTexts(
        parameters=tuple(parameters),
        methods=methods,
        raisers=_frozen(raisers),
        subclasses=_frozen(subclasses),
        constants=_frozen(_constants(calls)),
    )


def _frozen(lists: Mapping[_Key, list[str]]) -> dict[_Key, tuple[str, ...]]:
    return {key: tuple(dict.fromkeys(found)) for key, found in lists.items()}


def _definitions(body: Sequence[ast.stmt], owner: str) -> Iterator[tuple[DefinitionNode, str]]:
    """Yield all definitions outside functions, with the name of the enclosing class or `""`."""
    for node in body:
        if isinstance(node, DEFINITIONS):
            yield node, owner
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, node.name)


def _described(node: DefinitionNode, text: str, owner: str) -> Iterator[ParameterText]:
    owner = node.name if isinstance(node, ast.ClassDef) else owner
    for section in parse_docstring(text).sections:
        for item in section.items if section.kind in ("parameters", "attributes") else ():
            if item.text and len(item.text) <= _LONGEST and item.text.isprintable():
                yield from (ParameterText(name, item.text, owner) for name in item.names)


def _constants(calls: Iterable[ast.Call]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for call in calls:
        for keyword in call.keywords:
            value = keyword.value
            if (
                keyword.arg
                and isinstance(value, ast.Constant)
                and _is_quotable_constant(value.value)
            ):
                text = code_text(value)
                if text:
                    found.setdefault((unqualified_name(call), keyword.arg), []).append(text)
    return found


def _is_quotable_constant(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


def majority_text(texts: Sequence[str], *, least: int) -> str:
    """Return the most common text if it occurs at least `least` times and in at least 60% of cases.

    Otherwise, return an empty string.
    """
    best = Counter(texts).most_common(1)
    if best and best[0][1] >= least and 5 * best[0][1] >= 3 * len(texts):
        return best[0][0]
    return ""


def comment_above(node: DefinitionNode | ast.Module, source: Source) -> str:
    """Return the first sentence of the comment above a definition or at the top of a module."""
    lines = source.utf8.decode("utf-8", "replace").split("\n")
    if isinstance(node, ast.Module):
        first = node.body[0].lineno - 1 if node.body else len(lines)
        return _sentence(lines[:first])
    start = node.decorator_list[0].lineno if node.decorator_list else node.lineno
    return _sentence(_contiguous(lines[: start - 1]))


def _contiguous(lines: Sequence[str]) -> list[str]:
    found: list[str] = []
    for line in reversed(lines):
        if not line.strip().startswith("#"):
            break
        found.insert(0, line)
    return found


def _sentence(lines: Sequence[str]) -> str:
    """Return the first sentence of a comment, or an empty string if the comment is not prose."""
    stripped = [line.strip() for line in lines if line.strip()]
    if not stripped or not all(line.startswith("#") for line in stripped):
        return ""
    if any(_NOT_A_COMMENT.match(line) for line in stripped) or _LEGAL.search(" ".join(stripped)):
        return ""
    text = " ".join(line.lstrip("#: ").strip() for line in stripped).strip()
    first = re.split(r"(?<=[a-z0-9)`][.!?])\s+(?=[A-Z`])", text)[0]
    fit = first[:1].isupper() and len(first.split()) > 2 and first.isprintable()
    return first if fit and "=" not in first and first.endswith(".") else ""
