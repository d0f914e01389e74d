"""Every error Remora raises on purpose: what happened, what to do next, which exit code.

    RemoraError                      exit 1
    ├── UsageError                   exit 2   wrong words on the command line
    │   └── ConfigError              exit 2   a configuration or definition file is wrong
    ├── NotFound                     exit 1   unknown node, run, agent, turn or key
    ├── Conflict                     exit 1   the user's files moved on
    ├── StreamError                  exit 1   a stream cannot be read or written as asked
    │   ├── StreamLocked             exit 3   another process writes this stream
    │   ├── WriterReplaced           exit 3   the stream has another writer now
    │   ├── SeqConflict              exit 1   a line was to go elsewhere than to the end
    │   ├── StreamDamaged            exit 1   a line is not what its hash says
    │   └── StreamWriteFailed        exit 3   the disk refused
    ├── InvalidEvent                 exit 1   an event has an unknown type or names no tool
    ├── ScriptError                  exit 1   a `.pym` script is wrong or failed
    │   └── ReplayMismatch           exit 1   a script did not do again what was recorded
    ├── HostError                    exit 1   a host function refused or failed
    └── OutsideError                 exit 3   something outside failed
        ├── ModelError               exit 3   the model cannot be reached or asked
        │   └── ContextTooLarge      exit 3   the request is larger than the model's context
        ├── DiskError                exit 3   a file or folder cannot be read or written
        │   └── HubDamaged           exit 3   the Hub's database is not what was written
        └── HubLocked                exit 3   another process writes the Hub's database

Expected outcomes (a tool that failed, a finding that stayed) are values, not exceptions.
"""


class RemoraError(Exception):
    """Base of all. `hint` says what to do next; `code` names the kind for `--json`."""

    exit_code = 1
    usual_hint = ""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.usual_hint

    @property
    def code(self) -> str:
        """Snake-case name of the class, as printed in `{"error": {"code"}}`."""
        name = type(self).__name__
        return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


class UsageError(RemoraError):
    """The command line asks for something that makes no sense."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration or definition file is wrong; the message points at the place."""


class NotFound(RemoraError):
    """No such node, run, agent, turn or key; the hint names the nearest."""


class Conflict(RemoraError):
    """The user's files moved on; nothing of the change set was written."""


class StreamError(RemoraError):
    """A stream cannot be read or written as asked."""


class StreamLocked(StreamError):
    """Another live process holds the stream's only writer."""

    exit_code = 3


class WriterReplaced(StreamError):
    """The stream was taken from this writer: it has another one, or another file, now."""

    exit_code = 3


class SeqConflict(StreamError):
    """A line was to be appended elsewhere than at the end of its stream."""


class StreamDamaged(StreamError):
    """A stored line is not what the chain says it was."""


class StreamWriteFailed(StreamError):
    """The disk refused; the stream ends where it ended before."""

    exit_code = 3


class InvalidEvent(RemoraError, ValueError):
    """An event given to the memory has an unknown type, or is a tool result without a tool."""


class ScriptError(RemoraError):
    """A `.pym` script is wrong. `kind` is one of syntax, typing, runtime, limit, crashed,
    contract, denied; `line` counts from 1 in the script's own file."""

    def __init__(self, message: str, *, kind: str, line: int | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.line = line


class ReplayMismatch(ScriptError):
    """A script that was run against a recording did something else than is recorded."""


class HostError(RemoraError):
    """A host function refused or failed; the script sees it as an exception."""


class OutsideError(RemoraError):
    """Something outside Remora failed."""

    exit_code = 3


class ModelError(OutsideError):
    """The model cannot be reached, refused, or answered what no client can use."""


class ContextTooLarge(ModelError):
    """A request would not fit the model's context."""


class DiskError(OutsideError):
    """A file or folder cannot be read or written."""

    usual_hint = "check that there is space, and that you may write there"


class HubDamaged(DiskError):
    """The Hub's database is not what was written; whoever writes it next makes it anew."""

    usual_hint = "`remora hub gc` throws it away, then `remora hub index` makes it anew"


class HubLocked(OutsideError):
    """Another process writes the Hub's database; `pid` is that process, where it is known."""

    def __init__(self, message: str, *, pid: int | None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.pid = pid
