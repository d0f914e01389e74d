"""A contradiction between a docstring and its code."""

import ast
from typing import NamedTuple

import msgspec

from remora.code.docstrings.docstring_sections import ParsedDocstring
from remora.code.docstrings.related_texts import RelatedTexts
from remora.code.syntax.definitions import DefinitionNode, FunctionNode
from remora.code.syntax.effects import unqualified_name

_KEEP_SIGNATURE = frozenset(
    (
        *("staticmethod", "classmethod", "property", "cached_property", "abstractmethod"),
        *("override", "final", "overload", "cache", "lru_cache", "contextmanager"),
        *("asynccontextmanager", "dataclass", "total_ordering", "unique", "runtime_checkable"),
    )
)


class DriftFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A place where a docstring contradicts its code, or leaves out a part of a list."""

    code: str
    """The name of the rule."""
    line: int
    """The line within the docstring, counted from 0."""
    message: str
    """The contradiction, in words."""
    name: str = ""
    """The documented or missing part."""
    old: str = ""
    """The contradicted text on the line, or an empty string if there is none."""
    new: str = ""
    """What the code has instead."""


class DocumentedCode(NamedTuple):
    """A definition with its parsed docstring."""

    node: DefinitionNode
    """The function or class."""
    text: str
    """The docstring."""
    parsed: ParsedDocstring
    """The docstring by section."""
    owner: ast.ClassDef | None
    """The class around the definition."""
    related: RelatedTexts
    """Texts of the same project."""

    @property
    def body(self) -> list[ast.stmt]:
        """The statements after the docstring."""
        return self.node.body[1:]

    @property
    def function(self) -> FunctionNode | None:
        return None if isinstance(self.node, ast.ClassDef) else self.node

    @property
    def signature(self) -> FunctionNode | None:
        """The function, or the constructor of the class, whose parameters are documented."""
        constructors = (
            statement
            for statement in self.node.body
            if isinstance(statement, ast.FunctionDef) and statement.name == "__init__"
        )
        return self.function or next(constructors, None)

    @property
    def decorators(self) -> list[ast.expr]:
        """The decorators of the definition and of its constructor."""
        inner = self.signature
        return [*self.node.decorator_list, *(inner.decorator_list if inner is not None else ())]

    @property
    def keeps_signature(self) -> bool:
        """True if no decorator may give the function other parameters than its `def` has."""
        return {unqualified_name(decorator) for decorator in self.decorators} <= _KEEP_SIGNATURE

    @property
    def is_overridable(self) -> bool:
        """True for methods that a subclass may override, so that their body is not the contract."""
        return self.owner is not None and self.node.name not in ("__init__", "__new__")
