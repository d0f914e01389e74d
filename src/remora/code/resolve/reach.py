"""In which files a node is looked for under a name: in all, or where too many mention it, nearby.

Both directions follow the same rule: what calls a node from a place that is not looked at is not
among the node's callers, nor the node among the callees there.
"""

from collections.abc import Collection, Iterator
from functools import cached_property

from remora.code.lowered import CLASS_SCOPE
from remora.code.resolve.context import Context
from remora.code.resolve.files import File
from remora.code.resolve.flows import places
from remora.code.resolve.unique import KNOWN_ELSEWHERE

MOST_CALLING = 256
"""Files in which calls by one name are looked at, be they near or not."""
MOST_COMMON = 48
"""The same, for methods of names that built-in types have too: most calls are of those."""
MOST_NAMING = 128
"""Files from which the name of a class above or below tells anything: many have a TestCase."""
MOST_CARRYING = 32
"""Files in which a value is followed from one name to another."""


class Reach:
    """The files that matter for one node."""

    def __init__(self, ctx: Context, file: File, scope: int) -> None:
        self._ctx = ctx
        self._file = file
        self._scope = scope

    def calling(self, name: str, *, own: bool) -> Collection[str]:
        """Paths of the files in which the node may be called by `name`, sorted; `own`: by its own,
        or its class's."""
        common = name in KNOWN_ELSEWHERE and self._class_around() is not None
        return self._within(name, _most(own=own, common=common))

    def carrying(self, name: str) -> Collection[str]:
        """Paths of the files in which the node may get further names than `name`, sorted."""
        near = self._within(name, MOST_CARRYING)
        if len(near) <= MOST_CARRYING:
            return near
        return [self._file.path] if self._file.path in near else []

    def _within(self, name: str, most: int) -> Collection[str]:
        mentioning = places(self._ctx.program, name)
        if len(mentioning) > most:
            mentioning = [path for path in mentioning if path in self._near]
        return sorted(mentioning)

    @cached_property
    def _near(self) -> frozenset[str]:
        """Files that name what the node is got from: a method from its class, one above or below;
        anything from its module, what is no method from the packages around that too."""
        program, path = self._ctx.program, self._file.path
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        owner = self._class_around()
        if owner is None:
            names = {*parts}
            folder = path.rpartition("/")[0]
            found = {p for p in program.paths() if p.rpartition("/")[0] == folder}
        else:
            names = {parts[-1], *self._family(owner)}
            found = {path}
        own = "" if owner is None else self._file.scopes[owner].name
        for name in sorted(names):
            mentioning = program.mentioning(name)
            if name == own or len(mentioning) <= MOST_NAMING or owner is None:
                found.update(mentioning)
        return frozenset(found)

    def _class_around(self) -> int | None:
        """The class of which the node is a method, or in a method."""
        number = self._file.scopes[self._scope].parent
        while number > 0 and self._file.scopes[number].kind != CLASS_SCOPE:
            number = self._file.scopes[number].parent
        return number if number > 0 else None

    def _family(self, owner: int) -> Iterator[str]:
        yield self._file.scopes[owner].name
        for rule in ("derived", "mro"):
            for value, _ in self._ctx.solve((rule, self._file.path, owner)):
                other = self._ctx.file(value[1]) if len(value) > 2 else None
                if other is not None:
                    yield other.scopes[value[2]].name


def _most(*, own: bool, common: bool) -> int:
    if not own:
        return MOST_CARRYING
    return MOST_COMMON if common else MOST_CALLING
