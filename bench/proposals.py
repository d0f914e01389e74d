"""Write the pending proposals of a run as diffs for readers: one for each file, rule or hunk.

    python bench/proposals.py ~/src/khal ~/src/lark --out proposals
    python bench/proposals.py ~/src/khal --out proposals --by rule --option=--select=E,F,UP
    python bench/proposals.py ~/src/khal --out proposals --by hunk --operation test

Each folder is a project with its environment in `.venv`, so that its gates judge. A diff for each
rule has the hunks of all files whose group has its label. The first line of a diff says what it is
about.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from remora.bootstrap.open_project import invocation_for, open_project
from remora.bootstrap.operations import BUILT_IN
from remora.runs.records.hunk_groups import labelled_hunks
from remora.runs.records.results import read_run
from remora.runs.review.ready_changes import ready_change
from remora.statuses import PENDING
from remora.workspaces.copy.changes import diff
from remora.workspaces.hunks import with_hunks


def analyzed(root: Path, operation: str, options: list[str]) -> str:
    """Analyze a project, and return the ID of the run, or an empty text without one."""
    remora = str(Path(sys.executable).with_name("remora"))
    command = [remora, "analyze", ".", "-o", operation, *options, "--json"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    if "run_id" not in document:
        raise SystemExit(f"{root.name}: {done.stdout or done.stderr}")
    return str(document["run_id"] or "")


def proposals(root: Path, run_id: str, by: str) -> dict[str, list[str]]:
    """Return the diffs of a run's pending hunks by their file, or by the label of their group."""
    project = open_project(invocation_for(root, {}, BUILT_IN))
    found = defaultdict[str, list[str]](list)
    for job in read_run(project, run_id).jobs:
        if job.review.state != PENDING:
            continue
        change = ready_change(project, job)
        labels = defaultdict[str, set[int]](set)
        for hunk in labelled_hunks(change.whole, job, change.hunks):
            by_hunk = f"{hunk.path} hunk {hunk.number}"
            labels[{"file": hunk.path, "rule": hunk.label, "hunk": by_hunk}[by]].add(hunk.number)
        for label, numbers in labels.items():
            for patch in with_hunks(change.whole, numbers):
                found[label].append(diff(patch.path, patch.base, patch.theirs, mode=patch.mode))
    return found


def main() -> None:
    """Write the proposals of the projects that are given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder of the diffs")
    parser.add_argument("--by", choices=("file", "rule", "hunk"), default="file")
    parser.add_argument("--operation", default="lint")
    parser.add_argument("--option", action="append", default=[], help="an option of `analyze`")
    given = parser.parse_args()
    folder = given.out / given.operation
    folder.mkdir(parents=True, exist_ok=True)
    for root in map(Path.resolve, given.folders):
        run_id = analyzed(root, given.operation, given.option)
        found = proposals(root, run_id, given.by) if run_id else {}
        for number, (label, diffs) in enumerate(sorted(found.items()), 1):
            text = f"# {root.name} {label} {given.operation} {root}\n" + "".join(diffs)
            (folder / f"{root.name}-{number:02}.diff").write_bytes(
                text.encode("utf-8", "surrogateescape")
            )
        print(f"{root.name}: {len(found)}", flush=True)


if __name__ == "__main__":
    main()
