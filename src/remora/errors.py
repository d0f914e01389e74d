"""Exceptions of Remora, each with a message, a hint and an exit code.

    RemoraError                      exit 1
    ├── UsageError                   exit 2   invalid command line
    │   └── ConfigError              exit 2   a configuration or definition file is invalid
    ├── NotFound                     exit 1   unknown node, run, agent, turn or key
    ├── Conflict                     exit 1   the user's files changed
    ├── StreamError                  exit 1   a stream cannot be read or written
    │   ├── StreamLocked             exit 3   another process writes this stream
    │   ├── WriterReplaced           exit 3   the stream has another writer
    │   ├── SeqConflict              exit 1   an append is not at the end of the stream
    │   ├── StreamDamaged            exit 1   a line does not match its hash
    │   └── StreamWriteFailed        exit 3   writing to the disk failed
    ├── InvalidEvent                 exit 1   an event has an unknown type or names no tool
    ├── ScriptError                  exit 1   a `.pym` script is invalid or failed
    │   └── ReplayMismatch           exit 1   a script deviates from its recording
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
    """Base class. `hint` says what to do; `code` names the kind for `--json`."""

    exit_code = 1
    default_hint = ""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint

    @property
    def code(self) -> str:
        """Snake-case name of the class, as printed in `{"error": {"code"}}`."""
        name = type(self).__name__
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


class UsageError(RemoraError):
    """The command line is invalid."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration or definition file is invalid; the message has the position."""


class NotFound(RemoraError):
    """There is no such node, run, agent, turn or key; the hint names the nearest."""


class Conflict(RemoraError):
    """The user's files changed; nothing of the change set was written."""


class StreamError(RemoraError):
    """A stream cannot be read or written."""


class StreamLocked(StreamError):
    """Another live process has the stream open for writing."""

    exit_code = 3


class WriterReplaced(StreamError):
    """The stream has another writer or another file now."""

    exit_code = 3


class SeqConflict(StreamError):
    """An append is not at the end of its stream."""


class StreamDamaged(StreamError):
    """A stored line does not match the hash chain."""


class StreamWriteFailed(StreamError):
    """Writing to the disk failed; the stream is unchanged."""

    exit_code = 3


class InvalidEvent(RemoraError, ValueError):
    """An event given to the memory has an unknown type, or is a tool result without a tool."""


class ScriptError(RemoraError):
    """A `.pym` script is invalid or failed. `kind` is one of syntax, typing, runtime, limit, crashed,
    contract, denied; `line` counts from 1 in the script's own file."""

    def __init__(self, message: str, *, kind: str, line: int | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.line = line


class ReplayMismatch(ScriptError):
    """A script deviates from the recording that it was run against."""


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

    default_hint = "check the free space and your write permission"


class HubDamaged(DiskError):
    """The Hub's database is damaged; the next writer rebuilds it."""

    default_hint = "delete it with `remora hub gc`, then rebuild it with `remora hub index`"


class HubLocked(OutsideError):
    """Another process writes the Hub's database; `pid` is that process, if known."""

    def __init__(self, message: str, *, pid: int | None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.pid = pid
