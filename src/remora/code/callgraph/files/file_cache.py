"""Files with their indexes, as long as there is room, for all linkers of a process."""

from threading import Lock
from weakref import ref

from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.files.program_protocol import Program
from remora.code.ir.model import LoweredFile

ROOM = 100_000


class IndexedFiles:
    """Used by any number of linkers, in any threads: a file whose lowered form is the same object
    as before keeps its indexes. `room` is for how many records of files: about 1 KB is needed for
    each."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._lock = Lock()
        self._files: dict[str, File] = {}
        self._used: set[str] = set()
        self._weight = 0

    def of(self, program: Program) -> "ProgramFiles":
        """Those of one state of a program."""
        return ProgramFiles(program, self)

    def indexed(self, lowered: LoweredFile) -> File:
        """The file of this form."""
        path = lowered.path
        with self._lock:
            file = self._files.pop(path, None)
            if file is None or file.lowered is not lowered:
                self._weight -= self._weighed(file)
                file = File(lowered)
                self._weight += self._weighed(file)
                self._make_room()
            self._files[path] = file
            return file

    def used(self, path: str) -> None:
        """It was asked for again: others make room first."""
        self._used.add(path)

    def _weighed(self, file: File | None) -> int:
        """One that is larger than all room is not driven out by every small one that others need:
        its indexes would be made again for each question about it."""
        return 0 if file is None else min(file.weight, self._room // 2 + 1)

    def _make_room(self) -> None:
        """Drop what was kept longest and not asked for since it came up last."""
        while self._weight > self._room and self._files:
            path = next(iter(self._files))
            dropped = self._files.pop(path)
            if path in self._used:
                self._used.discard(path)
                self._files[path] = dropped
            else:
                self._weight -= self._weighed(dropped)


class ProgramFiles:
    """The files of one state of a program, for one linker: each is compared with what is kept once,
    and again when it had to make room."""

    def __init__(self, program: Program, kept: IndexedFiles) -> None:
        self._program = program
        self._kept = kept
        self._known: dict[str, ref[File] | None] = {}

    def file(self, path: str) -> File | None:
        """None where there is none, or nothing in it."""
        try:
            known = self._known[path]
        except KeyError:
            return self._find(path)
        if known is None:
            return None
        file = known()
        if file is None:
            return self._find(path)
        self._kept.used(path)
        return file

    def _find(self, path: str) -> File | None:
        lowered = self._program.lowered(path)
        file = None if lowered is None or not lowered.scopes else self._kept.indexed(lowered)
        self._known[path] = None if file is None else ref(file)
        return file
