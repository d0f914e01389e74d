"""Signal numbers. The `signal` module is not used, because importing it takes 4 ms."""

TYPE_CHECKING = False  # True for type checkers; `typing` itself is slow to import
if TYPE_CHECKING:
    import signal as signals
else:
    import _signal as signals

__all__ = ["signals"]
