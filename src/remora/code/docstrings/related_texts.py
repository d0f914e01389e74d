"""Words and omissions of a project's other docstrings."""

import ast
import collections.abc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from remora.code.docstrings.docstring_sections import Item, Kind, ParsedDocstring, parse_docstring
from remora.code.docstrings.documented_exceptions import ExceptionClasses, listable_exceptions
from remora.code.syntax.definitions import DEFINITIONS, DefinitionNode, FunctionNode
from remora.code.syntax.effects import (
    is_none_or_missing,
    is_stub,
    returns_or_yields,
    unqualified_name,
)
from remora.code.syntax.signature import docstring_text
from remora.code.syntax.source import Source

_ENOUGH = 3
"""Lists of exceptions that show a habit."""
_RECEIVERS = ("self", "cls", "mcs", "mcls", "metacls")
_PROPERTIES = ("property", "cached_property")
_RESULT: Mapping[Kind, Kind] = {"yields": "returns"}


class FileTexts(msgspec.Struct, frozen=True, kw_only=True):
    """Texts found in a file.

    `listed` and `left_out` count the docstrings whose list has, or leaves out, a parameter.
    `methods` contains classes with the methods that have a docstring, `bases` maps a class to its
    base classes, and `extended` contains all base classes. `possible` counts the sections that
    documented public functions could have, and `written` those that they have, where `returns`
    includes `yields`.
    """

    listed: Mapping[str, int] = {}
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
        counts = [(file.possible.get(kind, 0), file.written.get(kind, 0)) for file in self.files]
        return counts[0], (sum(count[0] for count in counts), sum(count[1] for count in counts))

    def is_usually_left_out(self, name: str) -> bool:
        """Return True if lists of parameters leave out this name more often than they have it."""
        left_out = sum(file.left_out.get(name, 0) for file in self.files)
        listed = sum(file.listed.get(name, 0) for file in self.files)
        return left_out > 1 and left_out > listed

    def inherits_docstring(self, name: str) -> bool:
        """Return True if a base class of the owner documents a method of this name.

        Base classes of other folders are not known, except those of `collections.abc`.
        """
        waiting, found = self._bases(self.owner), set[str]()
        while waiting:
            base = waiting.pop()
            if self._documents(base, name):
                return True
            found.add(base)
            waiting |= self._bases(base) - found
        return False

    def _documents(self, base: str, name: str) -> bool:
        if any(base in file.bases for file in self.files):
            return any((base, name) in file.methods for file in self.files)
        inherited = getattr(getattr(collections.abc, base, None), name, None)
        return inherited is not None and bool(inherited.__doc__)

    def _bases(self, owner: str) -> set[str]:
        return {base for file in self.files for base in file.bases.get(owner, ())}


def collect_texts(source: Source) -> FileTexts:
    listed: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
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
        names = {name for item in _items(parsed) for name in item.names}
        listed.update(names)
        if names:
            left_out.update({*_public_parameters(node)} - names)
        if not node.name.startswith("_"):
            kinds = {_RESULT.get(section.kind, section.kind) for section in parsed.sections}
            could = list(possible_sections(node))
            possible.update(could)
            written.update(kind for kind in could if kind in kinds)
    return FileTexts(
        listed=listed,
        left_out=left_out,
        methods=frozenset(methods),
        bases={name: frozenset(names) for name, names in bases.items()},
        extended=frozenset().union(*bases.values()),
        possible=possible,
        written=written,
    )


def _definitions(body: Sequence[ast.stmt], owner: str) -> Iterator[tuple[DefinitionNode, str]]:
    """Yield all definitions outside functions, with the name of the enclosing class or `""`."""
    for node in body:
        if isinstance(node, DEFINITIONS):
            yield node, owner
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, node.name)


def possible_sections(node: DefinitionNode) -> Iterator[Kind]:
    """Yield the sections that a docstring may have. That of a property describes its value."""
    if isinstance(node, ast.ClassDef):
        return
    if _public_parameters(node):
        yield "parameters"
    if _has_result(node):
        yield "returns"
    if listable_exceptions(node):
        yield "raises"


def _has_result(node: FunctionNode) -> bool:
    if any(unqualified_name(decorator) in _PROPERTIES for decorator in node.decorator_list):
        return False
    is_promised = is_stub(node, node.body) and not is_none_or_missing(node.returns)
    return returns_or_yields(node.body) or is_promised


def _public_parameters(node: DefinitionNode) -> list[str]:
    """Return the names of parameters, without those that are private and `self` or `cls`."""
    if isinstance(node, ast.ClassDef):
        return []
    args = node.args
    plain = [argument.arg for argument in (*args.posonlyargs, *args.args)]
    named = [argument.arg for argument in args.kwonlyargs]
    stars = [argument.arg for argument in (args.vararg, args.kwarg) if argument is not None]
    own = plain[1:] if plain[:1] and plain[0] in _RECEIVERS else plain
    return [name for name in (*own, *named) if not name.startswith("_")] + stars


def _items(parsed: ParsedDocstring) -> Iterator[Item]:
    """Yield the entries of parameters."""
    for section in parsed.sections:
        if section.kind == "parameters":
            yield from (item for item in section.items if item.names)
