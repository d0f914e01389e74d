"""Baselines: files with the known problems of a project, so that only new ones fail.

A line of the file is a problem: its node, the hash of the node's body, and what is wrong. It has no
line number, so edits elsewhere do not matter. The problems of a function that was renamed or moved
are recognized by its body.
"""

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.errors import DiskError, UsageError
from remora.ids import MODULE, node_key, split_node_key
from remora.regular_file import followed, replace_file
from remora.runs.execution.run import RunRequest
from remora.runs.report.problems import ParsedFiles, Problem

Known = tuple[str, str, str]
"""A problem's node, the hash of its body, and its operation, code and the hash of its message."""


class Baseline(NamedTuple):
    """A file, and the problems in it. If `update` is true, the check replaces them."""

    file: Path
    update: bool
    known: Sequence[Known]


def read_baseline(file: Path | None, request: RunRequest, *, update: bool) -> Baseline | None:
    """Read the baseline of a check, if it has one.

    Raises UsageError if the file is invalid, or missing and not to be created.
    """
    if update and (file is None or request.paths or request.changed is not None):
        raise UsageError("--update-baseline needs --baseline FILE and checks the whole project")
    if file is None:
        return None
    known: list[Known] = []
    try:
        for line in file.read_bytes().splitlines() if file.exists() or not update else ():
            known.append(msgspec.json.decode(line, type=Known))  # noqa: PERF401
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}", hint="--update-baseline writes it") from error
    except ValueError as error:
        raise UsageError(f"{file}:{len(known) + 1}: not a known problem: {error}") from error
    return Baseline(file, update, known)


def updated(baseline: Baseline, problems: Sequence[Problem], tree: Path) -> Baseline:
    """Replace the known problems. Raises DiskError if the file cannot be written."""
    files = ParsedFiles(tree)
    known = sorted(_known(problem, files) for problem in problems)
    try:
        target, content = followed(baseline.file), msgspec.json.Encoder().encode_lines(known)
        if target.is_file() or not target.exists():
            replace_file(target, content, mode=0o666)
        else:  # a pipe or a device
            target.write_bytes(content)
    except OSError as error:
        raise DiskError(f"{baseline.file}: {error.strerror}") from error
    return baseline._replace(known=known)


def new_problems(
    baseline: Baseline, problems: Sequence[Problem], tree: Path
) -> tuple[Problem, ...]:
    """Return the problems that are not in a baseline.

    A known problem matches one problem of the same node or, if that is gone, of a node with the
    same body.
    """
    files = ParsedFiles(tree)
    left = Counter(
        (node if _body(node, files) else body, text) for node, body, text in baseline.known
    )
    new = []
    for problem in problems:
        node, body, text = _known(problem, files)
        known = (node, text) if left[node, text] else (body, text)
        left[known] -= 1
        if left[known] < 0:
            new.append(problem)
    return tuple(new)


def _known(problem: Problem, files: ParsedFiles) -> Known:
    """Return a problem without its lines and the name of its node, which may change."""
    node = node_key(problem.path, problem.name or MODULE)
    name = rf"|\b{re.escape(problem.name)}\b" if problem.name else ""
    message = re.sub(rf"\bline \d+{name}", "", problem.message)
    digest = sha256(message.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return node, _body(node, files), f"{problem.operation} {problem.code} {digest}"


def _body(key: str, files: ParsedFiles) -> str:
    """Return the hash of a node's body, or an empty string if there is no such node."""
    node = files.node(split_node_key(key)[0], key)
    return node.body_hash[:12] if node is not None else ""
