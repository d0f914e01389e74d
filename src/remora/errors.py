"""Remora's exceptions. Each has a message, a hint and an exit code.

    RemoraError                      exit 1
    ├── UsageError                   exit 2   invalid command line
    │   └── ConfigError              exit 2   a configuration or definition file is invalid
    ├── NotFound                     exit 1   unknown node, run, agent, turn or key
    ├── Conflict                     exit 1   the user's files changed
    ├── StreamError                  exit 1   a stream cannot be read or written
    │   ├── StreamLocked             exit 3   another process is writing this stream
    │   ├── WriterReplaced           exit 3   the stream has another writer
    │   ├── SeqConflict              exit 1   an event was not appended at the end of the stream
    │   ├── StreamDamaged            exit 1   a line does not match its hash
    │   └── StreamWriteFailed        exit 3   a stream cannot be written or synced
    ├── InvalidEvent                 exit 1   unknown event type, or a tool result without a tool
    ├── ScriptError                  exit 1   a `.pym` script is invalid or failed
    │   └── ReplayMismatch           exit 1   a replayed script differs from its recording
    ├── HostError                    exit 1   a host function refused or failed
    └── OutsideError                 exit 3   something outside Remora failed
        ├── ModelError               exit 3   the model cannot be reached or used
        │   ├── ContextTooLarge      exit 3   the request is larger than the model's context
        │   ├── RefusedRequest       exit 3   the server does not accept a part of the request
        │   └── UnparsedAnswer       exit 3   the server cannot parse what the model writes
        ├── DatabaseError            exit 3   the PostgreSQL database cannot be reached or used
        ├── DiskError                exit 3   a file or folder cannot be read or written
        │   └── HubDamaged           exit 3   the Hub's database is damaged
        └── HubLocked                exit 3   another process is writing to the Hub's database

Expected outcomes, such as a failed tool or a remaining finding, are values and not exceptions.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import ParamSpec

_P = ParamSpec("_P")
DISTRIBUTION = "remora-code"
"""Name of the package in an index."""


class RemoraError(Exception):
    """Base class of Remora's exceptions.

    `hint` suggests what the user can do. `code` identifies the class in JSON output.
    """

    exit_code = 1
    default_hint = ""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint

    @property
    def with_hint(self) -> str:
        """The message, and the hint in parentheses if there is one."""
        return f"{self.message} ({self.hint})" if self.hint else self.message

    @property
    def code(self) -> str:
        """Class name in snake case, as used for `code` in JSON output."""
        name = type(self).__name__
        words = (f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
        return "".join(words).lstrip("_")


class UsageError(RemoraError):
    """The command line is invalid."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration or definition file is invalid. The message includes the position."""


class NotFound(RemoraError):
    """A node, run, agent, turn or key does not exist. The hint suggests similar names if there are
    any.
    """


class Conflict(RemoraError):
    """A change cannot be applied, usually because the user's files have changed. Nothing from the
    change set was written.
    """


class StreamError(RemoraError):
    """A stream cannot be read or written."""


class StreamLocked(StreamError):
    """Another running process has the stream open for writing."""

    exit_code = 3


class WriterReplaced(StreamError):
    """Another writer has claimed the stream, or the stream's file was replaced."""

    exit_code = 3


class SeqConflict(StreamError):
    """An event was not appended at the end of its stream."""


class StreamDamaged(StreamError):
    """A stored line does not match the hash chain."""


class StreamWriteFailed(StreamError):
    """A stream cannot be written or synced."""

    exit_code = 3


class InvalidEvent(RemoraError, ValueError):
    """An event passed by the caller has an unknown type, or is a tool result without a tool
    name.
    """


class ScriptError(RemoraError):
    """Raised if a `.pym` script is invalid or fails.

    `kind` is syntax, typing, runtime, limit, crashed, contract or denied. `line` is a line number
    in the script file, starting at 1.
    """

    def __init__(self, message: str, *, kind: str, line: int | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.line = line


class ReplayMismatch(ScriptError):
    """A replayed script behaves differently from its recording."""


class HostError(RemoraError):
    """A host function refused or failed. The script receives this as an exception."""


class OutsideError(RemoraError):
    """Something outside Remora failed."""

    exit_code = 3


class ModelError(OutsideError):
    """The model cannot be reached, refused the request, or sent an unusable answer."""


class ContextTooLarge(ModelError):
    """A request does not fit in the model's context."""


class UnparsedAnswer(ModelError):
    """The server cannot parse what the model writes."""


class RefusedRequest(ModelError):
    """The server does not accept a key or a value of the request."""


class DatabaseError(OutsideError):
    """The PostgreSQL database cannot be reached, refused a statement, or has a different schema."""


class DiskError(OutsideError):
    """A file or folder cannot be read or written."""

    default_hint = "check the free disk space and the write permissions"


class HubDamaged(DiskError):
    """The Hub's database is damaged. The next process that writes to it rebuilds it."""

    default_hint = "delete the database, then rebuild it with `remora hub index`"


class HubLocked(OutsideError):
    """Another process is writing to the Hub's database."""


def install_extra(extra: str) -> str:
    """Return a hint that says how to install an extra. Tools get all: they would remove others."""
    import json
    import sys
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    place = {}
    with suppress(PackageNotFoundError):
        place = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    url, is_git = place.get("url", ""), "vcs_info" in place
    path = unquote(urlsplit(url).path) if url.startswith("file:") and not is_git else ""
    source = f" @ {'git+' * is_git}{url}" if url and not path else ""
    every, own = (f"'{path or DISTRIBUTION}[{name}]{source}'" for name in ("all", extra))
    tool = "pipx" if "/pipx/" in sys.prefix else "uv tool"
    return f"run `{tool} install --force {every}` or `pip install {own}`"


@contextmanager
def undo_on_error(
    undo: Callable[_P, object], *args: _P.args, **kwargs: _P.kwargs
) -> Iterator[None]:
    """Call `undo` with the arguments if the block raises an error."""
    try:
        yield
    except BaseException:
        undo(*args, **kwargs)
        raise
