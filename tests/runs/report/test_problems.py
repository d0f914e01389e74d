"""Problems of a run, and their annotations."""

from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from remora.runs.records.findings import ListedFinding
from remora.runs.records.job_view import JobFindings, JobView, ReviewState
from remora.runs.report.check_document import Failure
from remora.runs.report.github_annotations import MAX_ANNOTATIONS, annotations
from remora.runs.report.job_findings import findings_fixed, findings_left
from remora.runs.report.problems import Problem, find_problems
from remora.runs.report.report_builder import make_report
from tests.runs.conftest import RULES, Kept, analyzed, last

CODE = 'import os\n\n\ndef load():\n    """Read."""\n    import re\n\n    return 1\n'
ROOT = Path("/repo")
PROBLEM = Problem(
    path="a.py",
    line=3,
    end_line=3,
    operation="lint",
    code="F401",
    name="",
    message="`os` imported but unused",
    fixable=True,
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    files = {"a.py": CODE, "ruff.toml": RULES}
    return analyzed(tmp_path_factory.mktemp("shop"), files, last)


@pytest.mark.slow
def test_each_fixed_finding_of_a_file_is_a_problem_until_it_is_decided(kept: Kept) -> None:
    desk = kept.again()
    found = find_problems(make_report(desk.project, desk.view(desk.newest)), desk.project.root)
    assert [(each.line, each.code, each.name, each.fixable) for each in found] == [
        (1, "F401", "", True),
        (6, "F401", "load", True),
    ]
    desk = kept.again()
    report = make_report(desk.project, desk.view(desk.newest))
    done = replace(report, jobs=tuple(replace(job, review="accepted") for job in report.jobs))
    assert find_problems(done, desk.project.root) == ()


def test_a_change_without_listed_findings_names_what_it_edits(kept: Kept) -> None:
    desk = kept.again()
    report = make_report(desk.project, desk.view(desk.newest))
    job, other = report.jobs
    edits = (*(job.files[0].edits or ()), *(other.files[0].edits or ()))
    both = (replace(job.files[0], edits=edits),)
    types = replace(job, operation="types", fixes=(), fixed={"missing annotation": 2}, files=both)
    found = find_problems(replace(report, jobs=(types,)), desk.project.root)
    assert [(each.line, each.text) for each in found] == [
        (1, "types: missing annotation: the module"),
        (6, "types: missing annotation: load"),
    ]
    file = replace(job.files[0], path="tests/test_a.py", kind="added")
    tests = replace(types, operation="test", fixed={"missing test": 2}, files=(file,))
    (one,) = find_problems(replace(report, jobs=(tests,)), desk.project.root)
    assert (one.path, one.line) == ("a.py", 1)
    assert one.text == "test: 2 missing tests, in tests/test_a.py"


def test_ten_annotations_show_each_kind_before_they_repeat_one() -> None:
    many = [replace(PROBLEM, line=n) for n in range(1, 31)]
    few = [replace(PROBLEM, line=n, code="B904") for n in (40, 41)]
    lone = replace(PROBLEM, line=50, operation="docstring", code="missing-exception", fixable=False)
    *commands, rest = annotations([*many, *few, lone], ROOT, changed=None)
    assert len(commands) == MAX_ANNOTATIONS
    kinds = Counter(command.split("title=")[1].split(",")[0] for command in commands)
    assert kinds == {
        "Remora (lint F401)": 7,
        "Remora (lint B904)": 2,
        "Remora (docstring missing-exception)": 1,
    }
    assert "missing-exception" in commands[0], "what has no fix comes first"
    assert rest == "not annotated: 23 more problems"


def test_a_function_is_annotated_at_its_first_changed_line_and_failed_jobs_count() -> None:
    long = replace(PROBLEM, line=3, end_line=9)
    found = list(annotations([long, PROBLEM], ROOT, {"a.py": {5, 6}}))
    assert found == [
        "::warning title=Remora (lint F401),file=/repo/a.py,line=5,endLine=9::"
        "a.py:5: `os` imported but unused",
        "not annotated: 1 problem on lines that did not change",
    ]
    assert list(annotations([], ROOT, {})) == []
    failure = Failure(operation="lint", path="a.py", name="load", error="it\ncrashed\u202e")
    first, *rest = annotations([PROBLEM], ROOT, None, [failure] * 10)
    assert first.startswith("::error title=Remora (lint),file=")
    assert first.endswith("::not checked: a.py load: it%0Acrashed\\u202e")
    assert rest[-1] == "not annotated: 1 more problem"
    assert len(rest) == 10


def test_no_name_or_message_ends_a_command_or_adds_a_property() -> None:
    hostile = replace(
        PROBLEM, path="a,line=9::b%25\n::error::.py", message="100%\r\n::set-output name=x::y"
    )
    (command,) = annotations([hostile], ROOT, changed=None)
    assert "\n" not in command
    assert "\r" not in command
    head, _, data = command.removeprefix("::").partition("::")
    assert head.count(",") == 2
    assert head.startswith("warning title=")
    assert "100%25" in data


def test_of_equal_findings_the_one_on_an_edited_line_is_fixed() -> None:
    first, second = (ListedFinding("F541", "f-string without placeholders", n) for n in (3, 7))
    moved = replace(second, line=6)
    job = JobView(
        agent_id="own-1", operation="own", node_id="node:a.py:__module__",
        review=ReviewState(state="pending"),
        findings=JobFindings(
            before={"F541": 2}, after={"F541": 1}, first=(first, second), last=(moved,)
        ),
    )  # fmt: skip
    assert [finding.line for finding in findings_left(job, {3})] == [7]
    assert [finding.line for finding in findings_fixed(job, {3})] == [3]
    assert [finding.line for finding in findings_left(job, {7})] == [3]
