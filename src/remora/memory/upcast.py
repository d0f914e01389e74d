"""Upcasting of stream lines from older format versions."""

from collections.abc import Callable
from typing import Any

import msgspec

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
"""Pure function that converts a line of one version to the next version. The caller sets `v`.

It keeps `seq` and `hash`, which belong to the line as recorded.
"""

UPCASTERS: dict[int, Upcaster] = {}
"""Upcasters by source version.

Version 1 is the first, so there are none yet. A released upcaster is never removed.
"""


class _Versioned(msgspec.Struct):
    v: int


def version_of(line: bytes) -> int | None:
    """Return the format version of a line, or None if the line has no version."""
    try:
        return msgspec.json.decode(line, type=_Versioned).v
    except (ValueError, RecursionError):
        return None


def upcast_line(line: bytes, version: int) -> bytes | None:
    """Return the line upcast to `version`, or None if it is already at that version or newer.

    Raises `msgspec.ValidationError` if the line is not valid or its version is not supported.
    """
    if (found := msgspec.json.decode(line, type=_Versioned).v) >= version:
        return None
    record: dict[str, Any] = msgspec.json.decode(line)
    for older in range(found, version):
        if (step := UPCASTERS.get(older)) is None:
            raise msgspec.ValidationError(f"format version {older} is not supported")
        try:
            record = {**step(record), "v": older + 1}
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise msgspec.ValidationError(
                f"not a valid line of format version {older}: {error}"
            ) from error
    return msgspec.json.encode(record)
