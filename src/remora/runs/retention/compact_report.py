"""What `trace compact` did, or would do: the document that it prints."""

import msgspec


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """A stream that was sealed, and the bytes of its file before and after."""

    kind: str
    id: str
    run_id: str
    before: int
    after: int


class ExpiredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that expired, with how many streams, and the bytes of their files."""

    run_id: str
    reason: str
    streams: int
    bytes: int


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """How many contents went that no stream names, and the bytes of their files."""

    blobs: int = 0
    objects: int = 0
    bytes: int = 0


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose time has come and that was not touched, and why."""

    run_id: str
    reason: str


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, or with `dry_run` what would be; bytes of all streams and contents."""

    dry_run: bool
    sealed: tuple[Sealed, ...]
    expired: tuple[ExpiredRun, ...]
    collected: Collected
    kept: tuple[Kept, ...]
    problems: tuple[str, ...]
    bytes_before: int
    bytes_after: int
