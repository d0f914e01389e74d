"""Files with their indexes, as long as there is room, from one state of a program to the next."""

from remora.code.resolve.files import File
from remora.code.resolve.program import Program

_ROOM = 100_000


class IndexedFiles:
    """Used by one linker after another, never by two at once: a file whose lowered form is the
    same object as before keeps its indexes. `room` is for how many records of files: about 1.5 KB
    are needed for each."""

    def __init__(self, room: int = _ROOM) -> None:
        self._room = room
        self._program: Program | None = None
        self._files: dict[str, File | None] = {}
        self._sure: set[str] = set()
        self._used: set[str] = set()
        self._weight = 0

    def turn_to(self, program: Program) -> None:
        """From now on these are the files of `program`."""
        self._program = program
        self._sure.clear()

    def file(self, path: str) -> File | None:
        """None where there is none, or nothing in it."""
        if path in self._sure:
            self._used.add(path)
            return self._files[path]
        lowered = None if self._program is None else self._program.lowered(path)
        file = self._files.pop(path, None)
        if file is None or file.lowered is not lowered:
            self._weight -= _weight(file)
            file = None if lowered is None or not lowered.scopes else File(lowered)
            self._weight += _weight(file)
            self._make_room()
        self._files[path] = file
        self._sure.add(path)
        return file

    def _make_room(self) -> None:
        """Drop what was kept longest and not asked for since it came up last."""
        while self._weight > self._room and self._files:
            path = next(iter(self._files))
            dropped = self._files.pop(path)
            if path in self._used:
                self._used.discard(path)
                self._files[path] = dropped
            else:
                self._sure.discard(path)
                self._weight -= _weight(dropped)


def _weight(file: File | None) -> int:
    return 0 if file is None else file.weight
