"""Lines of older versions of the format, lifted to this one when they are decoded."""

from collections.abc import Callable
from typing import Any

import msgspec

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]
"""A pure function from a whole line of one version to what the next version would have written;
`v` is set for it. It keeps `seq` and `hash`: what was hashed is the line as it was recorded."""

UPCASTERS: dict[int, Upcaster] = {}
"""By the version that they lift from. Version 1 is the first, so there is none yet; one that was
released stays here for ever."""


class _Versioned(msgspec.Struct):
    v: int


def version_of(line: bytes) -> int | None:
    """The version that a line says it is of, None where it says nothing of the kind."""
    try:
        return msgspec.json.decode(line, type=_Versioned).v
    except (ValueError, RecursionError):
        return None


def upcast_line(line: bytes, version: int) -> bytes | None:
    """The line as `version` would have written it, or None if it is not of an older one.

    Raises `msgspec.ValidationError` where no upcaster is known, or where one finds that the line
    is not what lines of its version are.
    """
    found = msgspec.json.decode(line, type=_Versioned).v
    if found >= version:
        return None
    record: dict[str, Any] = msgspec.json.decode(line)
    for older in range(found, version):
        step = UPCASTERS.get(older)
        if step is None:
            raise msgspec.ValidationError(f"format version {older} is not known here")
        try:
            record = {**step(record), "v": older + 1}
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise msgspec.ValidationError(f"no line of format version {older}: {error}") from error
    return msgspec.json.encode(record)
