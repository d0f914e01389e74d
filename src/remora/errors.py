"""Exceptions of Remora, each with a message, a hint and an exit code.

    RemoraError                      exit 1
    ├── UsageError                   exit 2   invalid command line
    │   └── ConfigError              exit 2   a configuration or definition file is invalid
    ├── NotFound                     exit 1   unknown node, run, agent, turn or key
    ├── Conflict                     exit 1   the user's files changed
    ├── StreamError                  exit 1   a stream cannot be read or written
    │   ├── StreamLocked             exit 3   another process writes this stream
    │   ├── WriterReplaced           exit 3   the stream has another writer
    │   ├── SeqConflict              exit 1   an event was not appended at the end of the stream
    │   ├── StreamDamaged            exit 1   a line does not match its hash
    │   └── StreamWriteFailed        exit 3   writing to the disk failed
    ├── InvalidEvent                 exit 1   unknown event type, or a tool result without a tool
    ├── ScriptError                  exit 1   a `.pym` script is invalid or failed
    │   └── ReplayMismatch           exit 1   a replayed script differs from its recording
    ├── HostError                    exit 1   a host function refused or failed
    └── OutsideError                 exit 3   something outside Remora failed
        ├── ModelError               exit 3   the model cannot be reached or used
        │   └── ContextTooLarge      exit 3   the request is larger than the model's context
        ├── DiskError                exit 3   a file or folder cannot be read or written
        │   └── HubDamaged           exit 3   the Hub's database is damaged
        └── HubLocked                exit 3   another process writes the Hub's database

Expected outcomes (a failed tool, a remaining finding) are values, not exceptions.
"""


class RemoraError(Exception):
    """Base class. `hint` suggests what to do; `code` identifies the class in JSON output."""

    exit_code = 1
    default_hint = ""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint

    @property
    def code(self) -> str:
        """Class name in snake case, as printed in `{"error": {"code"}}`."""
        name = type(self).__name__
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


class UsageError(RemoraError):
    """The command line is invalid."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration or definition file is invalid; the message includes the position."""


class NotFound(RemoraError):
    """A node, run, agent, turn or key does not exist; the hint suggests a similar name."""


class Conflict(RemoraError):
    """The user's files changed; none of the change set was written."""


class StreamError(RemoraError):
    """A stream cannot be read or written."""


class StreamLocked(StreamError):
    """Another live process has the stream open for writing."""

    exit_code = 3


class WriterReplaced(StreamError):
    """The stream now has another writer, or its file was replaced."""

    exit_code = 3


class SeqConflict(StreamError):
    """An event was not appended at the end of its stream."""


class StreamDamaged(StreamError):
    """A stored line does not match the hash chain."""


class StreamWriteFailed(StreamError):
    """Writing to the disk failed; the stream is unchanged."""

    exit_code = 3


class InvalidEvent(RemoraError, ValueError):
    """An event passed to the memory has an unknown type, or is a tool result without a tool."""


class ScriptError(RemoraError):
    """A `.pym` script is invalid or failed. `kind` is one of syntax, typing, runtime, limit,
    crashed, contract, denied; `line` counts from 1 in the script file."""

    def __init__(self, message: str, *, kind: str, line: int | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.line = line


class ReplayMismatch(ScriptError):
    """A replayed script behaves differently from its recording."""


class HostError(RemoraError):
    """A host function refused or failed; the script sees it as an exception."""


class OutsideError(RemoraError):
    """Something outside Remora failed."""

    exit_code = 3


class ModelError(OutsideError):
    """The model cannot be reached, refused, or sent an unusable answer."""


class ContextTooLarge(ModelError):
    """A request does not fit the model's context."""


class DiskError(OutsideError):
    """A file or folder cannot be read or written."""

    default_hint = "check the free disk space and the write permissions"


class HubDamaged(DiskError):
    """The Hub's database is damaged; the next writer rebuilds it."""

    default_hint = "delete it with `remora hub gc`, then rebuild it with `remora hub index`"


class HubLocked(OutsideError):
    """Another process writes the Hub's database; `pid` is its process ID, if known."""

    def __init__(self, message: str, *, pid: int | None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.pid = pid
