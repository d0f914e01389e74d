"""The next command that has a result."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from remora.ids import NodeKey, file_of_key, unescape_path
from remora.models.provider import why_none
from remora.operations.base import NEEDS_NAME, NEEDS_WRITER
from remora.text import count


class NextStep(NamedTuple):
    """A command that has a result: its words, what it works on, and what has to be done before it."""

    words: tuple[str, ...]
    why: str
    missing: str = ""
    costly: str = ""
    """Another step, such as one that needs a download first."""


def model_step(
    root: Path,
    folder: Path,
    cache: Path,
    operations: Iterable[str],
    left_nodes: Mapping[str, Mapping[str, Iterable[NodeKey]]],
) -> NextStep:
    """Return the command, for use in `folder`, that lets a model of `cache` do what is left.

    It names the file with the most nodes that need a model: small models write what is named.
    """
    named, unnamed = (
        [key for left in left_nodes.values() for key in left.get(why, ())]
        for why in (NEEDS_NAME, NEEDS_WRITER)
    )
    files = Counter(unescape_path(file_of_key(key)) for key in (*named, *unnamed))
    shown = (os.path.relpath(root / file, folder) for file, _ in files.most_common(1))
    words = [f"./{file}" if file.startswith("-") else file for file in shown]
    words += [word for name in operations for word in ("-o", name)]
    missing = None if named else why_none(cache)
    where = f" in {len(files)} files" if len(files) > 1 else ""
    why = f"{count(files.total(), next(iter(operations), ''))} to write{where}"
    return NextStep(("analyze", *words, "--decisions", "model"), why, missing or "")
