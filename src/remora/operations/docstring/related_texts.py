"""What other docstrings of a project say and leave out."""

import ast
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple, TypeVar

import msgspec

from remora.code.syntax.definitions import DEFINITIONS, DefinitionNode
from remora.code.syntax.docstring_sections import Kind, ParsedDocstring, parse_docstring
from remora.code.syntax.effects import unqualified_name
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source
from remora.operations.docstring.describable_parts import describable_parts
from remora.operations.docstring.exceptions.exception_classes import ExceptionClasses
from remora.operations.docstring.parts import Describable

_Key = TypeVar("_Key", bound=Hashable)
_LONGEST = 160
_ENOUGH = 3
"""Lists of exceptions that show a habit."""
_RESULT: Mapping[Kind, Kind] = {"yields": "returns"}
_DEFAULT = re.compile(r"\bdefault|\bif (?:None|omitted|not given)\b", re.IGNORECASE)


class ParameterText(msgspec.Struct, frozen=True):
    """A description of a parameter in a docstring. `owner` is the enclosing class, or empty."""

    name: str
    text: str
    owner: str


class Descriptions(NamedTuple):
    """The first description of a parameter, how many there are, and if all have the same text."""

    first: ParameterText
    number: int = 1
    agree: bool = True

    def with_others(self, other: "Descriptions") -> "Descriptions":
        agree = self.agree and other.agree and self.first.text == other.first.text
        return Descriptions(self.first, self.number + other.number, agree)


class FileTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Texts found in a file.

    `parameters` contains the descriptions of parameters by name, `of_classes` those of a class by
    its name and that of the parameter, and `left_out` counts the docstrings whose list leaves out a
    parameter. `methods` contains classes with the methods that have a docstring, `bases` maps a
    class to its base classes, and `extended` contains all base classes. `possible` counts the
    sections that documented public functions could have, and `written` those that they have, where
    `returns` includes `yields`.
    """

    parameters: Mapping[str, Descriptions] = {}
    of_classes: Mapping[tuple[str, str], Descriptions] = {}
    left_out: Mapping[str, int] = {}
    methods: frozenset[tuple[str, str]] = frozenset()
    bases: Mapping[str, frozenset[str]] = {}
    extended: frozenset[str] = frozenset()
    possible: Mapping[Kind, int] = {}
    written: Mapping[Kind, int] = {}


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
        for functions, written in self._counts("raises"):
            if functions > _ENOUGH:
                return written >= _ENOUGH and 2 * written >= functions
        return False

    def leaves_out(self, kind: Kind) -> bool:
        """Return True if most docstrings that could have a section of a kind have none.

        The file itself decides if it has two of them, and otherwise its folder.
        """
        own, every = self._counts(kind)
        functions, written = own if own[0] > 1 else every
        return 2 * written < functions

    def _counts(self, kind: Kind) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return how many functions of the file, and of its folder, could have and have a section."""
        counts = [(each.possible.get(kind, 0), each.written.get(kind, 0)) for each in self.files]
        return counts[0], (sum(each[0] for each in counts), sum(each[1] for each in counts))

    def is_usually_left_out(self, name: str) -> bool:
        """Return True if lists of parameters leave out this name more often than they have it."""
        left_out = sum(file.left_out.get(name, 0) for file in self.files)
        listed = sum(file.parameters[name].number for file in self.files if name in file.parameters)
        return left_out > 1 and left_out > listed

    def inherits_docstring(self, name: str) -> bool:
        """Return True if a base class of the owner documents a method of this name."""
        bases = {base for file in self.files for base in file.bases.get(self.owner, ())}
        return any((base, name) in each.methods for each in self.files for base in bases)

    def parameter_text(self, name: str) -> ParameterText | None:
        """Return the description on which the docstrings of a class, file or folder agree.

        At least two docstrings of the class or three of the file or folder must describe the
        parameter. Descriptions that state a default are left out, because defaults differ.
        """
        known = [file.parameters[name] for file in self.files if name in file.parameters]
        choices = (
            (self.own.of_classes.get((self.owner, name)) if self.owner else None, 2),
            (self.own.parameters.get(name), 3),
            (reduce(Descriptions.with_others, known) if known else None, 3),
        )
        for found, least in choices:
            if found is not None and found.number >= least:
                stated = _DEFAULT.search(found.first.text)
                return found.first if found.agree and not stated else None
        return None


def collect_texts(source: Source) -> FileTexts:
    parameters: list[ParameterText] = []
    left_out: list[str] = []
    methods: set[tuple[str, str]] = set()
    bases: dict[str, set[str]] = {}
    possible: Counter[Kind] = Counter()
    written: Counter[Kind] = Counter()
    for node, owner in _definitions(source.tree.body, ""):
        text = docstring_text(node.body)
        if isinstance(node, ast.ClassDef):
            bases.setdefault(node.name, set()).update(map(unqualified_name, node.bases))
        elif text and owner:
            methods.add((owner, node.name))
        if not text:
            continue
        parsed = parse_docstring(text)
        describable = describable_parts(node)
        parameters += _described(node, parsed, owner)
        left_out += _left_out(describable, parsed)
        if not node.name.startswith("_"):
            kinds = {_RESULT.get(section.kind, section.kind) for section in parsed.sections}
            could = list(possible_sections(describable))
            possible.update(could)
            written.update(each for each in could if each in kinds)
    return FileTexts(
        parameters=_grouped((each.name, each) for each in parameters),
        of_classes=_grouped(((each.owner, each.name), each) for each in parameters if each.owner),
        left_out=Counter(left_out),
        methods=frozenset(methods),
        bases={name: frozenset(found) for name, found in bases.items()},
        extended=frozenset().union(*bases.values()),
        possible=possible,
        written=written,
    )


def _grouped(texts: Iterable[tuple[_Key, ParameterText]]) -> dict[_Key, Descriptions]:
    found: dict[_Key, Descriptions] = {}
    for key, text in texts:
        alone = Descriptions(text)
        found[key] = found[key].with_others(alone) if key in found else alone
    return found


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


def possible_sections(describable: Describable) -> Iterator[Kind]:
    if describable.parameters:
        yield "parameters"
    if describable.outcome != "nothing":
        yield "returns"
    if describable.raises:
        yield "raises"


def _left_out(describable: Describable, parsed: ParsedDocstring) -> list[str]:
    listed = {
        name
        for section in parsed.sections
        if section.kind == "parameters"
        for item in section.items
        for name in item.names
    }
    names = [each.name for each in describable.parameters]
    return [name for name in names if name not in listed] if listed else []
