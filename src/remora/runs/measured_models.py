"""Worth of models on a project, as `remora eval` measured it.

The figures are in the project's state folder.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from remora.config.schema import Config
from remora.config.user_folders import make_private
from remora.regular_file import replace_file
from remora.trace.content.private_files import disk_errors

_FILE = "measured_models.json"
LEAST_SLOTS, LEAST_FILES = 20, 5
"""With fewer, the interval of a gain can be too narrow: if all are right, it is [1, 1]."""


class ModelUse(msgspec.Struct, frozen=True, kw_only=True):
    """An operation that uses a model with some settings."""

    operation: str
    model: str
    decoding: str
    renderer: str


class MeasuredModel(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a model for an operation."""

    use: ModelUse
    slots: int
    """The number of hidden parts."""
    files: int
    """The number of their files."""
    written: int
    """The number of parts that were written."""
    right: int
    """The number of these that have the same meaning as before."""
    gain: float | None
    """The share of right slots minus that of rules, or null if rules were not measured at the same time."""
    gain_ci95: tuple[float, float] | None
    """Its 95 % interval."""
    seed: int
    """The seed by which the parts were chosen."""
    commit: str | None
    date: str

    @property
    def is_enough(self) -> bool:
        """Return True if the model was compared with rules on enough parts and files."""
        return (
            self.gain_ci95 is not None and self.slots >= LEAST_SLOTS and self.files >= LEAST_FILES
        )

    @property
    def helps(self) -> bool:
        """Return True if enough parts were compared, and the interval of the gain is above zero."""
        return self.is_enough and self.gain_ci95 is not None and self.gain_ci95[0] > 0


def read_measured(state: Path) -> tuple[MeasuredModel, ...]:
    """Return the figures in a project's state folder. A damaged file counts as missing."""
    with suppress(OSError, msgspec.MsgspecError):
        raw = (state / _FILE).read_bytes()
        return msgspec.json.decode(raw, type=tuple[MeasuredModel, ...])
    return ()


def keep_measured(state: Path, found: Sequence[MeasuredModel]) -> None:
    """Add figures to a project's state folder, in place of earlier ones of the same use.

    Earlier ones stay if they have a gain and the new ones do not, or if only they are enough.
    Raises DiskError if the file cannot be written.
    """
    if not found:
        return
    kept = {measured.use: measured for measured in read_measured(state)}
    for measured in found:
        earlier = kept.get(measured.use)
        if earlier is None or _evidence(measured) >= _evidence(earlier):
            kept[measured.use] = measured
    with disk_errors(state / _FILE):
        make_private(state)
        replace_file(state / _FILE, msgspec.json.encode([*kept.values()]))


def _evidence(found: MeasuredModel) -> tuple[bool, bool]:
    return found.is_enough, found.gain is not None


def proved_models(state: Path, config: Config) -> frozenset[tuple[str, str]]:
    """Return operations with the models that help there, as configured.

    There are none if any layer of the configuration says who decides.
    """
    if config.layer_of("runner", "decisions") is not None:
        return frozenset()
    settings = (config.model.decoding, config.model.renderer)
    return frozenset(
        (measured.use.operation, measured.use.model)
        for measured in read_measured(state)
        if measured.helps and (measured.use.decoding, measured.use.renderer) == settings
    )


def measured_operations(
    state: Path, config: Config, model: str, operations: Iterable[str]
) -> dict[str, MeasuredModel | None]:
    """Return the figures of a model with the configured settings, by operation.

    The figures of an operation are None if it was not measured.
    """
    known = {measured.use: measured for measured in read_measured(state)}
    return {
        name: known.get(
            ModelUse(
                operation=name,
                model=model,
                decoding=config.model.decoding,
                renderer=config.model.renderer,
            )
        )
        for name in operations
    }
