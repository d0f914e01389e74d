"""Selection of the files that are searched by name for callers of a node.

If too many files mention a name, only files near the node are searched. The search for callees uses
the same limits.
"""

from collections.abc import Collection, Iterator
from typing import Final

from remora.code.callgraph.analysis_context import Context
from remora.code.callgraph.files.dataflow import lambda_file, mentioned_name
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.incremental import MentionLimit
from remora.code.callgraph.names.name_candidates import EXTERNAL_METHOD_NAMES
from remora.code.ir.model import CLASS_SCOPE
from remora.ids import module_path

MAX_CALLER_FILES: Final = 256
"""If more files than this mention a name, only files near the node are searched for its calls."""
MAX_BUILTIN_NAME_FILES: Final = 48
"""The same limit for methods named like a builtin method: most calls are to the builtin method."""
MAX_CLASS_NAME_FILES: Final = 128
"""If more files than this mention a related class, its name is too common (such as `TestCase`)."""
MAX_ALIAS_FILES: Final = 32
"""Maximum number of files in which a value is followed from one name to another."""


class SearchScope:
    """The files to search for one node.

    Only paths are stored, because every node may have a search scope.
    """

    def __init__(self, ctx: Context, file: IndexedFile, scope: int) -> None:
        self._ctx = ctx
        self._path = file.path
        self._owner = _enclosing_class(file, scope)
        self._class_name = "" if self._owner is None else file.scopes[self._owner].name
        self._cache: dict[str, tuple[frozenset[str], int]] = {}

    def caller_files(self, name: str, *, own: bool) -> Collection[str]:
        """Return the sorted paths of the files to search for calls that use `name`.

        `own` is False if `name` is an alias.
        """
        return self._files(name, self._limit(name, own=own))

    def is_caller_file(self, path: str, name: str, *, own: bool) -> bool:
        """Return True if `caller_files` contains `path`.

        The file at `path` must mention the name.
        """
        if not (mentioned := mentioned_name(name)):
            return path == lambda_file(name)
        return not self._ctx.is_common(mentioned, self._limit(name, own=own)) or path in self.near

    def _limit(self, name: str, *, own: bool) -> MentionLimit:
        if not own:
            return MAX_ALIAS_FILES
        is_builtin_name = name in EXTERNAL_METHOD_NAMES and self._owner is not None
        return MAX_BUILTIN_NAME_FILES if is_builtin_name else MAX_CALLER_FILES

    def alias_files(self, name: str) -> Collection[str]:
        """Return the sorted paths of the files to search for aliases of `name`."""
        files = self._files(name, MAX_ALIAS_FILES)
        if len(files) <= MAX_ALIAS_FILES:
            return files
        return [self._path] if self._path in files else []

    def _files(self, name: str, limit: MentionLimit) -> Collection[str]:
        if not (mentioned := mentioned_name(name)):
            return [lambda_file(name)]
        mentioning = self._ctx.mentioning(mentioned)
        if self._ctx.is_common(mentioned, limit):
            mentioning = [path for path in mentioning if path in self.near]
        return sorted(mentioning)

    @property
    def near(self) -> frozenset[str]:
        """The files that are close to the node.

        For a method, these are its file and the files that mention its module, its class or a
        related class. For other nodes, these are the files in its folder and the files that mention
        its module or one of its parent folders.
        """
        return self._ctx.memoize(self._cache, "near", self._find_near)

    def _find_near(self) -> frozenset[str]:
        path, owner = self._path, self._owner
        parts = module_path(path).removesuffix(".py").removesuffix("/__init__").split("/")
        if owner is None:
            names = {*parts}
            found = set(self._ctx.folder_files(path))
        else:
            names = {parts[-1], *self._related_classes(owner)}
            found = {path}
        for name in sorted(names):
            if (
                name == self._class_name
                or owner is None
                or not self._ctx.is_common(name, MAX_CLASS_NAME_FILES)
            ):
                found.update(self._ctx.mentioning(name))
        return frozenset(found)

    def _related_classes(self, owner: int) -> Iterator[str]:
        yield self._class_name
        for rule in ("derived", "mro"):
            for value, _ in self._ctx.solve((rule, self._path, owner)):
                other = self._ctx.definition_file(value[1], value[2]) if len(value) > 2 else None
                if other is not None:
                    yield other.scopes[value[2]].name


def _enclosing_class(file: IndexedFile, scope: int) -> int | None:
    number = file.scopes[scope].parent
    while number > 0 and file.scopes[number].kind != CLASS_SCOPE:
        number = file.scopes[number].parent
    return number if number > 0 else None
