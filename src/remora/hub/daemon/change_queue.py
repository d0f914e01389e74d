"""Queue of numbered file changes, which lets a request wait for all earlier changes."""

from collections.abc import Iterable
from itertools import chain, islice


class ChangeQueue:
    """Numbered changes to raw paths.

    Each path is queued only once, with the number of its first change.
    """

    def __init__(self) -> None:
        self._number = 0
        self._paths: dict[str, int] = {}
        self._in_child: dict[str, tuple[int, float, int]] = {}
        self._last_sent = 0
        self._sweep: int | None = None
        self._owed = 0

    def __bool__(self) -> bool:
        """Return True if this process still has to read files or to sweep.

        Files that the child process is reading do not count.
        """
        return bool(self._paths) or self._sweep is not None

    def __len__(self) -> int:
        return len(self._paths) + len(self._in_child)

    @property
    def sweep_wanted(self) -> bool:
        """True if a sweep is next.

        Files found by the last sweep are read before the next sweep starts.
        """
        if self._sweep is None:
            return False
        return all(number > self._owed for number in self._paths.values())

    def ticket(self) -> int:
        """Return the number of the latest change."""
        return self._number

    def has_reached(self, ticket: int) -> bool:
        """Return True if all changes up to `ticket` have been read."""
        if not self._paths and not self._in_child and self._sweep is None:
            return True
        return self._oldest() > ticket

    def only_in_child_since(self, ticket: int) -> float | None:
        """Return when the child received the last of the files up to `ticket` that it has not yet
        read.

        Returns None if there is no such file, or if this process itself still has a change up to
        `ticket` to read.
        """
        if self._sweep is not None and self._sweep <= ticket:
            return None
        if any(number <= ticket for number in self._paths.values()):
            return None
        return max(
            (since for number, since, _ in self._in_child.values() if number <= ticket),
            default=None,
        )

    def add(self, paths: Iterable[str]) -> None:
        for path in paths:
            if path not in self._paths:
                self._number += 1
                self._paths[path] = self._number

    def want_sweep(self) -> None:
        """Queue a sweep, because any file may have changed."""
        self._number += 1
        if self._sweep is None:
            self._sweep = self._number

    def forget_known_state(self) -> None:
        """Discard the known state, so that every request waits for the next sweep."""
        self._sweep = 0

    def swept(self, paths: Iterable[str]) -> None:
        """Queue the changed files that a sweep found.

        The sweep must have started after the last call of `want_sweep`.
        """
        if self._sweep is None:
            self.add(paths)
            return
        for path in paths:
            self._paths[path] = min(self._sweep, self._paths.get(path, self._sweep))
        self._owed, self._sweep = self._sweep, None

    def first(self, count: int) -> dict[str, int]:
        """Remove and return the paths to read next, with their numbers."""
        taken = dict(islice(self._paths.items(), count))
        for path in taken:
            del self._paths[path]
        return taken

    def put_back(self, taken: dict[str, int]) -> None:
        """Requeue paths that could not be read."""
        for path, number in taken.items():
            self._paths[path] = min(number, self._paths.get(path, number))

    def sent_to_child(self, path: str, number: int, now: float) -> int:
        """Record that a file was sent to the child at the time `now`.

        Returns the number to pass to `read_by_child`.
        """
        self._last_sent += 1
        before = self._in_child.get(path, (number, now, 0))
        self._in_child[path] = (*before[:2], self._last_sent)
        return self._last_sent

    def read_by_child(self, path: str, sent_id: int) -> None:
        """Record that the child has read a file.

        Does nothing if the file was sent again after `sent_id`.
        """
        if self._in_child.get(path, (0, 0.0, 0))[2] == sent_id:
            del self._in_child[path]

    def _oldest(self) -> int:
        in_child = (number for number, _, _ in self._in_child.values())
        sweep = () if self._sweep is None else (self._sweep,)
        return min(chain(self._paths.values(), in_child, sweep))
