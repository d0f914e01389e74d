"""What was seen to change and is not read yet, and for which questions that matters."""

from collections.abc import Iterable
from itertools import chain, islice


class Pending:
    """Each change has a number; a question waits for those that were seen before it came.

    A path stands in it once, by its first number: reading a file once settles all that happened to
    it before. Paths are raw.
    """

    def __init__(self) -> None:
        self._number = 0
        self._paths: dict[str, int] = {}
        self._elsewhere: dict[str, tuple[int, float, int]] = {}
        self._errand = 0
        self._sweep: int | None = None
        self._owed = 0

    def __bool__(self) -> bool:
        """Whether there is something to do here; what another process does is not."""
        return bool(self._paths) or self._sweep is not None

    def __len__(self) -> int:
        return len(self._paths) + len(self._elsewhere)

    @property
    def sweep_wanted(self) -> bool:
        """Whether a look at all files is the next thing to do: what the one before found is read
        first, or those who ask for another one all the time would keep everybody waiting."""
        if self._sweep is None:
            return False
        return all(number > self._owed for number in self._paths.values())

    def ticket(self) -> int:
        """The number of the newest change."""
        return self._number

    def reached(self, ticket: int) -> bool:
        """Whether everything up to a number is read."""
        if not self._paths and not self._elsewhere and self._sweep is None:
            return True
        return self._oldest() > ticket

    def only_elsewhere_since(self, ticket: int) -> float | None:
        """When another process began with the last of what is not read up to a number; None if
        there is something to do here first."""
        if self._sweep is not None and self._sweep <= ticket:
            return None
        if any(number <= ticket for number in self._paths.values()):
            return None
        return max(
            (since for number, since, _ in self._elsewhere.values() if number <= ticket),
            default=None,
        )

    def add(self, paths: Iterable[str]) -> None:
        """These have changed, or may have."""
        for path in paths:
            if path not in self._paths:
                self._number += 1
                self._paths[path] = self._number

    def want_sweep(self) -> None:
        """Anything may have changed."""
        self._number += 1
        if self._sweep is None:
            self._sweep = self._number

    def nothing_is_known(self) -> None:
        """What was read is lost: every question waits for the next look at all files."""
        self._sweep = 0

    def swept(self, paths: Iterable[str]) -> None:
        """A look at all files, begun after the last `want_sweep`, found these changed."""
        if self._sweep is None:
            self.add(paths)
            return
        for path in paths:
            self._paths[path] = min(self._sweep, self._paths.get(path, self._sweep))
        self._owed, self._sweep = self._sweep, None

    def first(self, count: int) -> dict[str, int]:
        """The paths to read next, with their numbers; they are taken out."""
        taken = dict(islice(self._paths.items(), count))
        for path in taken:
            del self._paths[path]
        return taken

    def put_back(self, taken: dict[str, int]) -> None:
        """They could not be read now."""
        for path, number in taken.items():
            self._paths[path] = min(number, self._paths.get(path, number))

    def send_away(self, path: str, number: int, now: float) -> int:
        """Another process reads it, from `now` (seconds of a monotonic clock). What is given back
        says which errand that is: a file that changes meanwhile is sent again."""
        self._errand += 1
        before = self._elsewhere.get(path, (number, now, 0))
        self._elsewhere[path] = (*before[:2], self._errand)
        return self._errand

    def came_back(self, path: str, errand: int) -> None:
        """It is read; nothing is settled if it was sent again since."""
        if self._elsewhere.get(path, (0, 0.0, 0))[2] == errand:
            del self._elsewhere[path]

    def _oldest(self) -> int:
        away = (number for number, _, _ in self._elsewhere.values())
        sweep = () if self._sweep is None else (self._sweep,)
        return min(chain(self._paths.values(), away, sweep))
