"""In which files a node is looked for under a name: in all, or where too many mention it, nearby.

Both directions follow the same rule: what calls a node from a place that is not looked at is not
among the node's callers, nor the node among the callees there.
"""

from collections.abc import Collection, Iterator

from remora.code.lowered import CLASS_SCOPE
from remora.code.resolve.context import Context
from remora.code.resolve.files import File
from remora.code.resolve.flows import places

MOST_CALLING = 256
"""Files in which calls by one name are looked at."""
MOST_CARRYING = 32
"""Files in which a value is followed from one name to another."""


class Reach:
    """The files that matter for one node."""

    def __init__(self, ctx: Context, file: File, scope: int) -> None:
        self._ctx = ctx
        self._file = file
        self._scope = scope
        self._folder = file.path.rpartition("/")[0]
        self._naming: frozenset[str] | None = None

    def places(self, name: str, most: int) -> Collection[str]:
        """Paths of the files in which the node may go by `name`, at most so many; sorted."""
        mentioning = places(self._ctx.program, name)
        if len(mentioning) <= most:
            return sorted(mentioning)
        near = sorted(path for path in mentioning if self._is_near(path))
        if len(near) <= most:
            return near
        return [self._file.path] if self._file.path in near else []

    def _is_near(self, path: str) -> bool:
        """Whether a file names the node's class, one above or below, or its module or a package."""
        if self._naming is None:
            program = self._ctx.program
            found = (program.mentioning(owner) for owner in set(self._owners()))
            self._naming = frozenset(path for paths in found for path in paths)
        return path.rpartition("/")[0] == self._folder or path in self._naming

    def _owners(self) -> Iterator[str]:
        file, number = self._file, self._scope
        while number > 0 and file.scopes[number].kind != CLASS_SCOPE:
            number = file.scopes[number].parent
        if number <= 0:
            yield from file.path.removesuffix(".py").split("/")
            return
        yield file.scopes[number].name
        for rule in ("derived", "mro"):
            for value, _ in self._ctx.solve((rule, file.path, number)):
                other = self._ctx.file(value[1]) if len(value) > 2 else None
                if other is not None:
                    yield other.scopes[value[2]].name
