"""All changes of a run in one patch."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from remora.runs.planning.changed_nodes import changed_lines
from remora.runs.report.check_markdown import check_markdown
from remora.runs.report.patch import combined_patch
from remora.runs.report.problems import Problem, find_problems
from remora.runs.report.report_builder import make_report
from remora.runs.report.report_model import Edit, FileChange, Report
from remora.trace.redact.redactor import Redactor
from tests.runs.conftest import GIT, RULES, Kept, analyzed, last

REDACT = Redactor(bytes(32))
TOKEN = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
WHY = "which have a secret or cannot be in a patch"
CODE = 'import os\n\n\ndef load():\n    """Read."""\n    import re\n\n    return 1\n'


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return analyzed(tmp_path_factory.mktemp("shop"), {"a.py": CODE, "ruff.toml": RULES}, last)


@pytest.fixture
def report(kept: Kept) -> Report:
    desk = kept.again()
    return make_report(desk.project, desk.view(desk.newest))


def with_edits(report: Report, *edits: Edit, path: str = "a.py") -> Report:
    """A report of jobs that each make one edit."""
    file = FileChange(path=path, kind="modified", diff="", edits=(), lines=8, last_column=0)
    job = report.jobs[0]
    jobs = tuple(replace(job, files=(replace(file, edits=(edit,)),)) for edit in edits)
    return replace(report, jobs=jobs)


def markdown(report: Report, problems: Sequence[Problem]) -> str:
    return "".join(f"{line}\n" for line in check_markdown(report, problems, 2))


def applied(tree: Path, patch: str) -> None:
    subprocess.run(
        [*GIT, "apply", "-"], cwd=tree, input=patch, text=True, check=True, capture_output=True
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(CODE)
    return tmp_path


@pytest.mark.slow
def test_neighbouring_changes_of_a_file_are_one_diff_that_git_takes(
    report: Report, tree: Path
) -> None:
    both = with_edits(report, Edit(1, 2, ""), Edit(3, 5, "def load() -> int:\n"))
    applied(tree, combined_patch(both, tree, REDACT)[0])
    assert (tree / "a.py").read_text().startswith('\ndef load() -> int:\n    """Read."""\n')


def test_of_two_changes_of_a_line_the_first_is_taken(report: Report, tree: Path) -> None:
    both = with_edits(report, Edit(8, 9, "    return 2\n"), Edit(8, 9, "    return 3\n"))
    applied(tree, combined_patch(both, tree, REDACT)[0])
    assert (tree / "a.py").read_text().endswith("    return 2\n")
    same = with_edits(report, Edit(8, 9, "    return 2\n"), Edit(8, 9, "    return 2\n"))
    assert combined_patch(same, tree, REDACT)[0] == ""


def test_a_new_file_and_a_decided_change(report: Report, tree: Path) -> None:
    new = with_edits(report, Edit(1, 1, "x = 1\n"), path="tests/b.py")
    applied(tree, combined_patch(new, tree, REDACT)[0])
    assert (tree / "tests/b.py").read_text() == "x = 1\n"
    done = replace(new, jobs=tuple(replace(job, review="rejected") for job in new.jobs))
    assert combined_patch(done, tree, REDACT) == ("", "")


def test_a_change_with_a_secret_is_left_out_and_failed_jobs_are_listed(
    report: Report, tree: Path
) -> None:
    """Its edits are unknown, because the patch would write a placeholder."""
    (job, *_) = with_edits(report, Edit(1, 2, "")).jobs
    secret = replace(job, files=(replace(job.files[0], edits=None),))
    patch, left_out = combined_patch(replace(report, jobs=(secret,)), tree, REDACT)
    assert (patch, left_out) == ("", f"the patch leaves out changes of a.py, {WHY}")
    job = replace(report.jobs[0], status="error", error="the tool <crashed>", review="", files=())
    failed = replace(
        report, jobs=(job,), unreadable=({"path": "bad.py", "detail": "line 1: invalid syntax"},)
    )
    text = markdown(failed, ())
    assert "\nNot checked:\n" in text
    assert "- lint `a.py" in text
    assert "the tool &lt;crashed" in text or "the tool \\<crashed" in text
    assert "- `bad.py` line 1" in text


def test_lines_around_a_change_may_have_a_secret(report: Report, tree: Path) -> None:
    """All of its change set is left out, also the other file."""
    (tree / "a.py").write_text(f'TOKEN = "{TOKEN}"\n{CODE}')
    (tree / "b.py").write_text(CODE)
    (job, *_) = with_edits(report, Edit(2, 3, "")).jobs
    (file,) = job.files
    both = replace(job, files=(file, replace(file, path="b.py")))
    far = replace(job, files=(replace(file, path="b.py", edits=(Edit(7, 8, ""),)),))
    patch, left_out = combined_patch(replace(report, jobs=(both, far)), tree, REDACT)
    assert left_out == f"the patch leaves out changes of a.py, b.py, {WHY}"
    assert TOKEN not in patch
    applied(tree, patch)
    assert "import os" in (tree / "a.py").read_text()
    assert "import os" in (tree / "b.py").read_text()
    assert "return 1" in (tree / "b.py").read_text()
    assert len((tree / "b.py").read_text().splitlines()) == len(CODE.splitlines()) - 1


def test_the_comment_lists_fifty_problems_and_folds_the_diffs(report: Report, tree: Path) -> None:
    problems = find_problems(report, tree)
    text = markdown(report, problems * 30)
    assert text.startswith("## Remora: 60 problems, 60 with a fix\n\n- `a.py:1` lint")
    assert "- 10 more\n" in text
    assert text.count("<details>") == len(report.jobs)
    assert markdown(report, ()) == "## Remora: no problems in 2 files\n"


def test_the_changed_lines_are_those_of_the_new_file(tree: Path) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run([*GIT, *words], cwd=tree, check=True)
    lines = CODE.splitlines(keepends=True)
    (tree / "a.py").write_text("".join(["import re\n", *lines[2:7], "    return 2\n", "\n"]))
    (tree / "new.py").write_text("x = 1\ny = 2\n")
    found = changed_lines(tree, tree, "HEAD", ["a.py", "new.py", "gone.py", "../a.py"])
    assert found == {"a.py": {1, 7, 8}, "new.py": {1, 2}}
