"""Signal numbers. `signal` is not imported, because its enumerations take 4 ms to import."""

TYPE_CHECKING = False  # True for type checkers; `typing` itself is slow to import
if TYPE_CHECKING:
    import signal as signals
else:
    import _signal as signals

__all__ = ["signals"]
