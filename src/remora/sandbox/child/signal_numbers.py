"""Signal numbers without `signal`, whose enumerations take 4 ms to import."""

TYPE_CHECKING = False  # as a type checker sees it; `typing` itself takes long to import
if TYPE_CHECKING:
    import signal as signals
else:
    import _signal as signals

__all__ = ["signals"]
