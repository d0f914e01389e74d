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

import msgspec
from msgspec.structs import replace

from remora.errors import UsageError
from remora.files.project_root import find_root
from remora.ids import MODULE, node_key, split_node_key
from remora.regular_file import opened_parent, read_regular, replace_file
from remora.runs.execution.run import RunRequest
from remora.runs.report.problems import ParsedFiles, Problem
from remora.trace.content.private_files import disk_errors

_MOST_BYTES = 64 * 1024 * 1024
"""The largest file that is read (decision): about a million problems."""


class KnownProblem(
    msgspec.Struct, frozen=True, array_like=True, order=True, forbid_unknown_fields=True
):
    """A problem without its lines and the name of its node, which may change."""

    node: str
    """The key of the node."""
    body: str
    """The hash of the node's body, or an empty string if there is no such node."""
    text: str
    """The operation, the code and the hash of the message."""


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """A file with the known problems of a project."""

    file: Path
    update: bool
    """True if the check replaces the problems in the file."""
    problems: Sequence[KnownProblem]


def read_baseline(file: Path | None, request: RunRequest, *, update: bool) -> Baseline | None:
    """Read the baseline of a check, if it has one.

    Raises UsageError if the file is invalid, or missing and not to be created.
    """
    if update and (file is None or request.paths or request.changed is not None):
        raise UsageError("--update-baseline needs --baseline FILE and checks the whole project")
    if file is None:
        return None
    known: list[KnownProblem] = []
    try:
        content = read_regular(file, _MOST_BYTES) if file.exists() or not update else b""
        for line in content.splitlines():
            known.append(msgspec.json.decode(line, type=KnownProblem))  # noqa: PERF401
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}", hint="--update-baseline writes it") from error
    except ValueError as error:
        raise UsageError(f"{file}:{len(known) + 1}: not a known problem: {error}") from error
    return Baseline(file=file, update=update, problems=known)


def without_known(
    baseline: Baseline | None, problems: Sequence[Problem], tree: Path, *, may_update: bool = True
) -> tuple[tuple[Problem, ...], int | None]:
    """Return the problems that are not in a baseline, and the number of the others.

    `may_update` is false if problems are missing, which the file must not lose. The number is None
    without a baseline. Raises DiskError if the file cannot be written.
    """
    if baseline is None:
        return tuple(problems), None
    if baseline.update and may_update:
        baseline = _update(baseline, problems, tree)
    new = new_problems(baseline, problems, tree)
    return new, len(problems) - len(new)


def _update(baseline: Baseline, problems: Sequence[Problem], tree: Path) -> Baseline:
    """Replace the known problems."""
    files = ParsedFiles(tree)
    known = sorted(_known_problem(problem, files) for problem in problems)
    root = find_root(Path.cwd())
    with disk_errors(baseline.file), opened_parent(baseline.file, root) as (folder, name):
        content = msgspec.json.Encoder().encode_lines(known)
        replace_file(name, content, mode=0o666, folder=folder)
    return replace(baseline, problems=known)


def new_problems(
    baseline: Baseline, problems: Sequence[Problem], tree: Path
) -> tuple[Problem, ...]:
    """Return the problems that are not in a baseline.

    A known problem matches one problem of the same node or, if that is gone, of a node with the
    same body.
    """
    files = ParsedFiles(tree)
    left = Counter(
        (known.node if _body_hash(known.node, files) else known.body, known.text)
        for known in baseline.problems
    )
    new = []
    for problem in problems:
        known = _known_problem(problem, files)
        by_node, by_body = (known.node, known.text), (known.body, known.text)
        key = by_node if left[by_node] else by_body
        left[key] -= 1
        if left[key] < 0:
            new.append(problem)
    return tuple(new)


def _known_problem(problem: Problem, files: ParsedFiles) -> KnownProblem:
    node = node_key(problem.path, problem.name or MODULE)
    name = rf"|\b{re.escape(problem.name)}\b" if problem.name else ""
    message = re.sub(rf"\bline \d+{name}", "", problem.message)
    digest = sha256(message.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    text = f"{problem.operation} {problem.code} {digest}"
    return KnownProblem(node, _body_hash(node, files), text)


def _body_hash(key: str, files: ParsedFiles) -> str:
    """Return the hash of a node's body, or an empty string if there is no such node."""
    node = files.node(split_node_key(key)[0], key)
    return node.body_hash[:12] if node is not None else ""
