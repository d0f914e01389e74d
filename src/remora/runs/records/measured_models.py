"""What models were worth on a project, as `remora eval restore` measured it.

The figures are in the project's state folder. Without them, no choice of a model between complete
candidates of a built-in operation counts.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.config.user_folders import make_private
from remora.errors import DiskError

_FILE = "measured_models.json"


class ModelUse(msgspec.Struct, frozen=True, kw_only=True):
    """An operation that uses a model with some settings."""

    operation: str
    model: str
    decoding: str
    renderer: str


class MeasuredModel(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a model for an operation.

    Of `slots` hidden parts, `written` were written, and `right` of these have the same meaning as
    before. `gain` is the share of right slots minus that of rules, with its 95 % interval. It is
    null if rules were not measured at the same time.
    """

    use: ModelUse
    slots: int
    written: int
    right: int
    precision: float | None
    coverage: float | None
    gain: float | None
    gain_ci95: tuple[float, float] | None
    seed: int
    commit: str | None
    date: str

    @property
    def helps(self) -> bool:
        """Return True if the model is better than rules, with 95 % certainty."""
        return self.gain_ci95 is not None and self.gain_ci95[0] > 0


def read_measured(state: Path) -> tuple[MeasuredModel, ...]:
    """Return the figures in a project's state folder. A damaged file counts as missing."""
    with suppress(OSError, msgspec.MsgspecError):
        raw = (state / _FILE).read_bytes()
        return msgspec.json.decode(raw, type=tuple[MeasuredModel, ...])
    return ()


def keep_measured(state: Path, found: Sequence[MeasuredModel]) -> None:
    """Add figures to a project's state folder, in place of earlier ones of the same use.

    Raises DiskError if the file cannot be written.
    """
    if not found:
        return
    new = {each.use for each in found}
    earlier = [each for each in read_measured(state) if each.use not in new]
    file, written = state / _FILE, state / f"{_FILE}.new"
    try:
        make_private(state)
        written.write_bytes(msgspec.json.encode([*earlier, *found]))
        written.replace(file)
    except OSError as error:
        raise DiskError(f"{file}: {error.strerror}") from error


def measured_use(known: Iterable[MeasuredModel], use: ModelUse) -> MeasuredModel | None:
    """Return the figures of a use, or None if it was not measured."""
    return next((each for each in known if each.use == use), None)
