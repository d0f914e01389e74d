"""By which names a function may be called: its own, and those of all that carries it about."""

from collections.abc import Iterator

from remora.code.resolve.context import Context
from remora.code.resolve.files import File

CALL, READ, STORE = range(3)
Site = tuple[str, int, int]


class Carriers:
    """Finds, for a node, every place in the code that may lead to it."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def sites(self, file: File, scope: int) -> list[Site]:
        """Calls, reads and stores written with one of the node's names."""
        found: dict[Site, None] = {}
        for name in self.names(file, scope):
            for path in sorted(self._ctx.program.mentioning(name)):
                other = self._ctx.file(path)
                if other is not None:
                    found.update(dict.fromkeys(_written(other, name)))
        return list(found)

    def names(self, file: File, scope: int) -> list[str]:
        return [file.scopes[scope].name]


def _written(file: File, name: str) -> Iterator[Site]:
    for number in file.calls_by_name.get(name, ()):
        yield file.path, CALL, number
    for number in file.reads_by_name.get(name, ()):
        yield file.path, READ, number
    for number in file.stores_by_name.get(name, ()):
        yield file.path, STORE, number
