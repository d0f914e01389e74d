"""The memory that a part of a test takes, whatever earlier tests of the same process took."""

from pathlib import Path

_PROCESS = Path("/proc/self")
_RESET_PEAK = "5"


class PeakMemory:
    """Measures from its creation. `ru_maxrss` would include the peak of earlier tests."""

    def __init__(self) -> None:
        (_PROCESS / "clear_refs").write_text(_RESET_PEAK)
        self._before = _kib("VmRSS")

    @property
    def growth(self) -> int:
        """The most KiB that the process held at once, in addition to what it held before."""
        return _kib("VmHWM") - self._before


def _kib(name: str) -> int:
    text = (_PROCESS / "status").read_text()
    return int(text.split(f"{name}:")[1].split()[0])
