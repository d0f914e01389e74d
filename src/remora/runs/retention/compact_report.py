"""The document of `trace compact`."""

import msgspec


class Sealed(msgspec.Struct, frozen=True, kw_only=True):
    """A sealed stream, with the size of its file in bytes before and after sealing."""

    kind: str
    id: str
    run_id: str
    before: int
    after: int


class ExpiredRun(msgspec.Struct, frozen=True, kw_only=True):
    """An expired run, with the number and total size of its streams."""

    run_id: str
    reason: str
    streams: int
    bytes: int


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """Number and total size of the removed contents."""

    blobs: int
    objects: int
    bytes: int


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is due for sealing or removal but was kept, with the reason."""

    run_id: str
    reason: str


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """The changes that were made, or that would be made if `dry_run` is True.

    `bytes_before` and `bytes_after` are the total sizes of all streams and contents.
    """

    dry_run: bool
    sealed: tuple[Sealed, ...]
    expired: tuple[ExpiredRun, ...]
    collected: Collected
    kept: tuple[Kept, ...]
    problems: tuple[str, ...]
    bytes_before: int
    bytes_after: int
