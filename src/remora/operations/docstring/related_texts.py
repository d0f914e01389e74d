"""What other docstrings of a project say and leave out, and comments above definitions."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from remora.code.syntax.definitions import DEFINITIONS, DefinitionNode
from remora.code.syntax.effects import unqualified_name
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source
from remora.operations.docstring.describable_parts import describable_parts
from remora.operations.docstring.exception_classes import ExceptionClasses
from remora.operations.docstring.parse import parse_docstring
from remora.operations.docstring.parts import ParsedDocstring

_LONGEST = 160
_MIN_AGREEING = 3
_MIN_WITH_SECTION = 3
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

    `parameters` contains descriptions of parameters, and `left_out` the parameters that a list
    leaves out, once per docstring. `methods` contains classes with the methods that have a
    docstring, and `subclasses` maps a base class to its subclasses. `raising` is the number of
    documented public functions with a `raise` statement, and `listed` is how many of them have a
    list of exceptions.
    """

    parameters: tuple[ParameterText, ...] = ()
    left_out: tuple[str, ...] = ()
    methods: frozenset[tuple[str, str]] = frozenset()
    subclasses: Mapping[str, tuple[str, ...]] = {}
    raising: int = 0
    listed: int = 0

    def bases_of(self, owner: str) -> list[str]:
        return [base for base, below in self.subclasses.items() if owner in below]


class RelatedTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Texts from the node's file (`own`) and from other files in its folder (`near`).

    `owner` is the class that contains the node, if there is one. `classes` contains the exception
    classes of the project.
    """

    own: FileTexts = FileTexts()
    near: tuple[FileTexts, ...] = ()
    owner: str = ""
    classes: ExceptionClasses = ExceptionClasses()

    @property
    def files(self) -> tuple[FileTexts, ...]:
        return (self.own, *self.near)

    @property
    def lists_exceptions(self) -> bool:
        """True if most docstrings of functions that raise list their exceptions."""
        for files in ((self.own,), self.files):
            raising = sum(each.raising for each in files)
            listed = sum(each.listed for each in files)
            if raising > _MIN_WITH_SECTION:
                return listed >= _MIN_WITH_SECTION and 2 * listed >= raising
        return False

    def is_usually_left_out(self, name: str) -> bool:
        """Return True if lists of parameters leave out this name more often than they have it."""
        left_out = sum(each.left_out.count(name) for each in self.files)
        listed = sum(known.name == name for each in self.files for known in each.parameters)
        return left_out > 1 and left_out > listed

    def inherits_docstring(self, name: str) -> bool:
        """Return True if a base class of the owner documents a method of this name."""
        bases = [base for each in self.files for base in each.bases_of(self.owner)]
        return any((base, name) in each.methods for each in self.files for base in bases)

    def parameter_text(self, name: str) -> str:
        """Return the description that other docstrings give to a parameter of this name.

        If at least two docstrings in the same class describe the parameter and they all agree, that
        description is used. Otherwise, it is the description that most docstrings in the folder
        use, if there is one.
        """
        found = [each for file in self.files for each in file.parameters if each.name == name]
        of_class = [each.text for each in found if self.owner and each.owner == self.owner]
        if len(of_class) > 1 and len(set(of_class)) == 1:
            return of_class[0]
        return _majority_text([each.text for each in found])


def collect_texts(source: Source) -> FileTexts:
    parameters: list[ParameterText] = []
    left_out: list[str] = []
    methods: set[tuple[str, str]] = set()
    subclasses: dict[str, list[str]] = {}
    raising = listed = 0
    for node, owner in _definitions(source.tree.body, ""):
        text = docstring_text(node.body)
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                subclasses.setdefault(unqualified_name(base), []).append(node.name)
        elif text and owner:
            methods.add((owner, node.name))
        if not text:
            continue
        parsed = parse_docstring(text)
        parameters += _described(node, parsed, owner)
        left_out += _left_out(node, parsed)
        if not node.name.startswith("_") and describable_parts(node).raises:
            raising += 1
            listed += any(section.kind == "raises" for section in parsed.sections)
    return FileTexts(
        parameters=tuple(parameters),
        left_out=tuple(left_out),
        methods=frozenset(methods),
        subclasses={base: tuple(dict.fromkeys(found)) for base, found in subclasses.items()},
        raising=raising,
        listed=listed,
    )


def _definitions(body: Sequence[ast.stmt], owner: str) -> Iterator[tuple[DefinitionNode, str]]:
    """Yield all definitions outside functions, with the name of the enclosing class or `""`."""
    for node in body:
        if isinstance(node, DEFINITIONS):
            yield node, owner
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, node.name)


def _described(
    node: DefinitionNode, parsed: ParsedDocstring, owner: str
) -> Iterator[ParameterText]:
    owner = node.name if isinstance(node, ast.ClassDef) else owner
    for section in parsed.sections:
        for item in section.items if section.kind in ("parameters", "attributes") else ():
            if item.text and len(item.text) <= _LONGEST and item.text.isprintable():
                yield from (ParameterText(name, item.text, owner) for name in item.names)


def _left_out(node: DefinitionNode, parsed: ParsedDocstring) -> list[str]:
    listed = {
        name
        for section in parsed.sections
        if section.kind == "parameters"
        for item in section.items
        for name in item.names
    }
    names = [each.name for each in describable_parts(node).parameters]
    return [name for name in names if name not in listed] if listed else []


def _majority_text(texts: Iterable[str]) -> str:
    """Return the most common text if it occurs at least three times and in 60% of cases.

    Otherwise, return an empty string.
    """
    counts = Counter(texts)
    best = counts.most_common(1)
    if best and best[0][1] >= _MIN_AGREEING and 5 * best[0][1] >= 3 * counts.total():
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
