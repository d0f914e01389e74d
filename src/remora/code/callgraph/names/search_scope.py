"""In which files a node is looked for under a name: in all, or where too many mention it, nearby.

Both directions follow the same rule: what calls a node from a place that is not looked at is not
among the node's callers, nor the node among the callees there.
"""

from collections.abc import Collection, Iterator
from typing import Final

from remora.code.callgraph.context import Context
from remora.code.callgraph.files.answer_inputs import Crowd
from remora.code.callgraph.files.dataflow import mentioned_as, only_place
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.names.unique_method import KNOWN_ELSEWHERE
from remora.code.ir.model import CLASS_SCOPE

MOST_CALLING: Final = 256
"""Files in which calls by one name are looked at, be they near or not."""
MOST_COMMON: Final = 48
"""The same, for methods of names that built-in types have too: most calls are of those."""
MOST_NAMING: Final = 128
"""Files from which the name of a class above or below tells anything: many have a TestCase."""
MOST_CARRYING: Final = 32
"""Files in which a value is followed from one name to another."""


class Reach:
    """The files that matter for one node; its own is not held: there are as many as nodes."""

    def __init__(self, ctx: Context, file: File, scope: int) -> None:
        self._ctx = ctx
        self._path = file.path
        self._owner = _class_around(file, scope)
        self._own = "" if self._owner is None else file.scopes[self._owner].name
        self._kept: dict[str, tuple[frozenset[str], int]] = {}

    def calling(self, name: str, *, own: bool) -> Collection[str]:
        """Paths of the files in which the node may be called by `name`, sorted; `own`: by its own,
        or its class's."""
        return self._within(name, self._most(name, own=own))

    def is_calling(self, path: str, name: str, *, own: bool) -> bool:
        """Whether `calling` holds the path of a file that mentions the name."""
        mentioned = mentioned_as(name)
        if not mentioned:
            return path == only_place(name)
        return not self._ctx.crowded(mentioned, self._most(name, own=own)) or path in self.near

    def _most(self, name: str, *, own: bool) -> Crowd:
        if not own:
            return MOST_CARRYING
        common = name in KNOWN_ELSEWHERE and self._owner is not None
        return MOST_COMMON if common else MOST_CALLING

    def carrying(self, name: str) -> Collection[str]:
        """Paths of the files in which the node may get further names than `name`, sorted."""
        near = self._within(name, MOST_CARRYING)
        if len(near) <= MOST_CARRYING:
            return near
        return [self._path] if self._path in near else []

    def _within(self, name: str, most: Crowd) -> Collection[str]:
        mentioned = mentioned_as(name)
        if not mentioned:
            return [only_place(name)]
        mentioning = self._ctx.mentioning(mentioned)
        if self._ctx.crowded(mentioned, most):
            mentioning = [path for path in mentioning if path in self.near]
        return sorted(mentioning)

    @property
    def near(self) -> frozenset[str]:
        """Files that name what the node is got from: a method from its class, one above or below;
        anything from its module, what is no method from the packages around that too."""
        return self._ctx.remembered(self._kept, "near", self._find_near)

    def _find_near(self) -> frozenset[str]:
        path, owner = self._path, self._owner
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        if owner is None:
            names = {*parts}
            found = set(self._ctx.beside(path))
        else:
            names = {parts[-1], *self._family(owner)}
            found = {path}
        for name in sorted(names):
            if name == self._own or owner is None or not self._ctx.crowded(name, MOST_NAMING):
                found.update(self._ctx.mentioning(name))
        return frozenset(found)

    def _family(self, owner: int) -> Iterator[str]:
        yield self._own
        for rule in ("derived", "mro"):
            for value, _ in self._ctx.solve((rule, self._path, owner)):
                other = self._ctx.head(value[1], value[2]) if len(value) > 2 else None
                if other is not None:
                    yield other.scopes[value[2]].name


def _class_around(file: File, scope: int) -> int | None:
    """The class of which a node is a method, or in a method."""
    number = file.scopes[scope].parent
    while number > 0 and file.scopes[number].kind != CLASS_SCOPE:
        number = file.scopes[number].parent
    return number if number > 0 else None
