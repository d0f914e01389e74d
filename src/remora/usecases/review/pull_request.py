"""The branch, title and text of a pull request, from a run's records. Nothing is sent."""

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from remora.errors import UsageError
from remora.files.git import git_output
from remora.ids import display_name
from remora.regular_file import replace_file
from remora.runs.project import Project
from remora.runs.records.name_lookup import run_named
from remora.runs.report.job_texts import gate_texts
from remora.runs.report.markdown import code, escape_markdown
from remora.runs.review.accepted_changes import Verdicts
from remora.runs.review.git_branch import TRAILER, open_branch, subject_of
from remora.runs.review.ready_changes import ReadyChange, written_change
from remora.text import count, some_of
from remora.tools.host.ruff.rules import with_name
from remora.trace.content.private_files import disk_errors, open_folder
from remora.usecases.review.verdicts import Chosen, select

_NAMED = 3
"""Rules that a title names, and the most that the name of a branch has."""
_TEXT = """\
Remora, a tool that maintains Python code, made these changes.
Each is a commit of its own, and was checked before it was proposed:

{changes}

{gates}To take a commit back, run `git revert COMMIT`; after a merge, `git revert -m 1 MERGE` takes all back.

<sub>Run {run}. The last line of each commit names its record for `remora trace verify`.</sub>
"""


def branch_for(
    project: Project, run: str, nodes: Sequence[str], chosen: Chosen, name: str | None = None
) -> str:
    """Return the branch for what would be accepted: `name`, or a name such as `remora/lint-f401`.

    Raises UsageError if it would be one more than may wait to be merged.
    """
    if name is None:
        changes = select(project, run_named(project.trace, run), nodes, chosen).usable
        operations, rules = _operations_and_rules(changes)
        words = " ".join([*operations, *(rules if len(rules) <= _NAMED else ())]).lower()
        name = f"remora/{re.sub('[^a-z0-9]+', '-', words) or 'changes'}"
    waiting = waiting_branches(open_branch(project.root, name).root)
    limit = project.config.review.max_open_branches
    if name not in waiting and 0 < limit <= len(waiting):
        raise UsageError(
            f"{count(len(waiting), 'branch', 'branches')} of Remora not merged into HEAD: "
            f"{', '.join(waiting)} (review.max_open_branches: {limit})",
            hint="merge or delete one, or add to one with --git-branch",
        )
    return name


def waiting_branches(root: Path) -> list[str]:
    """Return the local branches with commits of Remora whose changes HEAD lacks.

    A copy of a branch is the same one. HEAD has the changes of a branch that was squashed into it.
    """
    values = f"--format=%S%x20%(trailers:key={TRAILER},valueonly,separator=%x20)"
    log = git_output(root, "log", "--source", "--first-parent", values, "--branches", "^HEAD")
    lines = map(str.split, os.fsdecode(log).splitlines())
    found = dict.fromkeys(words[0] for words in lines if words[1:])
    tree = git_output(root, "rev-parse", "HEAD^{tree}")
    merge = "merge-tree", "--write-tree", "HEAD"  # fails before git 2.38
    return [
        name.removeprefix("refs/heads/")
        for name in found
        if git_output(root, *merge, name, succeeds=(0, 1, 128, 129)) != tree
    ]


def with_pull_request(project: Project, done: Verdicts, branch: str) -> Verdicts:
    """Add the pull request of what the run has on a branch. Its text is redacted, and in a file.

    The same text is the same file, which stays as the user has edited it. Raises DiskError if the
    file cannot be written.
    """
    jobs = [job for job in done.view.jobs if job.review.is_written and job.review.branch == branch]
    changes = _to_merge(project.root, branch, [written_change(project, job) for job in jobs])
    if not changes:
        return done
    operations, rules = _operations_and_rules(changes)
    files = count(len({patch.path for change in changes for patch in change.patches}), "file")
    title = f"{', '.join(operations)}: fix {some_of(rules, _NAMED) or 'code'} in {files}"
    gates = gate_texts(done.view)
    proof = _list_texts("What the project's own checks report with all changes", gates[:1])
    gaps = _list_texts("What they did not check", gates[1:])
    lines = "\n".join(map(_line, changes))
    text = _TEXT.format(changes=lines, gates=proof + gaps, run=done.run_id)
    content = project.redact.text(text).encode("utf-8", "replace")
    digest = sha256(os.fsencode(branch) + b"\0" + content).hexdigest()
    path = project.trace.runs / f"{done.run_id}-{digest[:8]}.md"
    with disk_errors(path):
        os.close(open_folder(path.parent))  # a link could lead anywhere
        if not path.exists():
            replace_file(path, content)
    remotes = git_output(project.root, "remote").decode("utf-8", "replace").split()
    remote = "origin" if "origin" in remotes else next(iter(remotes), "REMOTE")
    words = "--title", title, "--body-file", str(path), "--head", branch
    commands = ("git", "push", "-u", remote, branch), ("gh", "pr", "create", *words)
    found = {"title": title, "body_file": str(path), "commands": [*map(shlex.join, commands)]}
    return replace(done, pull_request=found)


def _to_merge(root: Path, branch: str, changes: Sequence[ReadyChange]) -> list[ReadyChange]:
    """Return the changes with a commit on the branch that HEAD lacks."""
    if not changes:
        return []
    log = git_output(root, "log", "--format=%s", f"HEAD..refs/heads/{branch}")
    subjects = {*os.fsdecode(log).splitlines()}
    return [change for change in changes if subject_of(change) in subjects]


def _operations_and_rules(changes: Sequence[ReadyChange]) -> tuple[list[str], list[str]]:
    """Return the operations and the rules of changes."""
    operations = {change.job.operation for change in changes}
    return sorted(operations), sorted({rule for change in changes for rule in change.rules})


def _list_texts(title: str, texts: Sequence[str]) -> str:
    lines = "".join(f"- {escape_markdown(text)}\n" for text in texts)
    return lines and f"{title}:\n\n{lines}\n"


def _line(change: ReadyChange) -> str:
    rules = escape_markdown(", ".join(map(with_name, change.rules)))
    rules += "" if change.is_whole else " (a part)"
    return f"- {code(display_name(change.job.node_id))}: {change.job.operation} {rules}"
