"""Size-limited cache of indexed files, shared by all linkers in a process."""

from threading import Lock
from weakref import ref

from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.files.program_protocol import Program
from remora.code.ir.model import LoweredFile

DEFAULT_CAPACITY = 100_000


class FileCache:
    """Thread-safe cache of indexed files, keyed by path.

    `capacity` is the maximum number of records. Each record takes about 1 KB.
    """

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._capacity = capacity
        self._lock = Lock()
        self._files: dict[str, IndexedFile] = {}
        self._used: set[str] = set()
        self._weight = 0

    def for_program(self, program: Program) -> "ProgramFiles":
        return ProgramFiles(program, self)

    def get(self, lowered: LoweredFile) -> IndexedFile:
        path = lowered.path
        with self._lock:
            file = self._files.pop(path, None)
            if file is None or file.lowered is not lowered:
                self._weight -= self._cost(file)
                file = IndexedFile(lowered)
                self._weight += self._cost(file)
                self._evict()
            self._files[path] = file
            return file

    def mark_used(self, path: str) -> None:
        """Mark a file as used, so that other files are evicted first."""
        self._used.add(path)

    def _cost(self, file: IndexedFile | None) -> int:
        """Return the weight of a file, capped at about half the capacity.

        The cap prevents small files from evicting a large one.
        """
        return 0 if file is None else min(file.weight, self._capacity // 2 + 1)

    def _evict(self) -> None:
        """Evict the oldest files that have not been marked as used (second-chance eviction)."""
        while self._weight > self._capacity and self._files:
            path = next(iter(self._files))
            dropped = self._files.pop(path)
            if path in self._used:
                self._used.discard(path)
                self._files[path] = dropped
            else:
                self._weight -= self._cost(dropped)


class ProgramFiles:
    """The files of one state of a program.

    Each file is looked up in the cache only once, unless it is evicted.
    """

    def __init__(self, program: Program, cache: FileCache) -> None:
        self._program = program
        self._cache = cache
        self._known: dict[str, ref[IndexedFile] | None] = {}

    def file(self, path: str) -> IndexedFile | None:
        """Return the indexed file, or None if it is missing or empty."""
        try:
            known = self._known[path]
        except KeyError:
            return self._find(path)
        if known is None:
            return None
        if (file := known()) is None:
            return self._find(path)
        self._cache.mark_used(path)
        return file

    def _find(self, path: str) -> IndexedFile | None:
        lowered = self._program.lowered(path)
        file = None if lowered is None or not lowered.scopes else self._cache.get(lowered)
        self._known[path] = None if file is None else ref(file)
        return file
