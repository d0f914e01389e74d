"""What nobody foresaw costs one job or one file, never all: how it is told in a line."""

import traceback
from pathlib import PurePath

REPORT = "please report it"
_MOST_SAID = 200


def in_a_line(error: BaseException) -> str:
    """What it is, and where it was raised: `RecursionError: too deep (exports.py:47)`."""
    said = " ".join(f"{type(error).__name__}: {error}".split())[:_MOST_SAID].rstrip(": ")
    where = traceback.extract_tb(error.__traceback__, limit=-1)
    return f"{said} ({PurePath(where[0].filename).name}:{where[0].lineno})" if where else said


def fault(error: BaseException) -> str:
    """The same, as it is told to people: it is no fault of theirs."""
    return f"a fault in Remora: {in_a_line(error)}"
