"""A run's report: one record, four forms, and nothing that a project is named can break out of."""

import json
import re
from typing import Any
from urllib.parse import unquote

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace

from remora.bootstrap.operations import BUILT_IN
from remora.runs.records.decision_sources import sources_text
from remora.runs.records.totals import OperationTotals, totals_by_operation
from remora.runs.report.markdown import markdown
from remora.runs.report.report_builder import make_report, redacted
from remora.runs.report.report_formats import FORMATS, as_json
from remora.runs.report.report_model import Edit, FileChange, Finding, Report
from remora.usecases.review.verdicts import accept, reject
from tests.runs.conftest import RULES, Desk, Kept, analyzed, last
from tests.runs.report.sarif_schema import LOG

HOSTILE = "<script>alert(1)</script>|`x`[y](z)\x1b[31m\u202e&amp;"
ODD_PATH = "d r/100%25 `ä`|<b>.py"
SIGNS = "\x1b\x85\x7f\r\x0b\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff"
"""What a terminal or page would obey, and what turns a line around."""
CODE = 'import os\n\n\ndef load():\n    """Read."""\n    import re\n\n    return 1\n\n\ndef raising(x):\n    try:\n        return x()\n    except KeyError:\n        raise ValueError(1)\n'  # fmt: skip


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    files = {"a.py": CODE, "no end.py": "import os\nimport re", "ruff.toml": RULES}
    return analyzed(tmp_path_factory.mktemp("shop"), files, last)


@pytest.fixture
def shop(kept: Kept) -> Desk:
    return kept.again()


def told(desk: Desk) -> Report:
    return make_report(desk.project, desk.view(desk.newest))


def own_sum(operation: str) -> OperationTotals:
    """The sum of an operation that knows of no findings."""
    job = {"operation": operation, "status": "verified", "review": "pending", "findings": None}
    (found,) = totals_by_operation(
        [job, {**job, "status": "failed", "review": ""}], {}, BUILT_IN.totals
    )
    return found


def hostile(report: Report) -> Report:
    """The same, its names chosen by somebody who wants to be seen."""
    jobs = [
        replace(
            job,
            name=HOSTILE,
            path=ODD_PATH,
            error=HOSTILE if job.error else None,
            left=tuple(replace(finding, message=HOSTILE) for finding in job.left),
            files=tuple(
                replace(file, path=ODD_PATH, diff=file.diff + f"+{HOSTILE}\n+````\n")
                for file in job.files
            ),
        )
        for job in report.jobs
    ]
    file = {"path": HOSTILE, "detail": HOSTILE}
    sums = (*report.sums, own_sum(HOSTILE))
    return replace(
        report, project=HOSTILE, model=HOSTILE, jobs=tuple(jobs), sums=sums, unreadable=(file,)
    )


class TestRecord:
    @pytest.mark.slow
    def test_it_shows_what_is_fixed_waits_and_is_left_and_who_decided(self, shop: Desk) -> None:
        report = told(shop)
        assert (report.fixed, report.findings, report.waiting) == (4, 5, 3)
        (left,) = [finding for job in report.jobs for finding in job.left]
        assert (left.code, left.line) == ("B904", 15)
        decided = {source: number for source, number in report.decisions.items() if number}
        assert sum(decided.values()) == sum(job.turns for job in report.jobs)
        assert set(decided) == {"rule", "server"}
        assert sources_text(decided) in markdown(report)
        assert json.loads(FORMATS["json"](report))["decisions"] == report.decisions
        only_rules = replace(report, decisions={"rule": 3})
        assert "Rules made all decisions." in markdown(only_rules)
        document = msgspec.json.decode(FORMATS["json"](report))
        assert {"worth", "worth_text"} <= document["jobs"][0].keys()
        assert document["sums"] == [each.document() for each in report.sums]
        document["sums"] = msgspec.to_builtins(report.sums)
        again = msgspec.convert(document, Report)
        texts = [msgspec.json.encode(each, order="sorted") for each in (again, report)]
        assert texts[0] == texts[1]

    @pytest.mark.slow
    def test_verdicts_change_it(self, shop: Desk) -> None:
        accept(shop.newest, "a.py:__module__", root=shop.project)
        reject(shop.newest, "a.py:load", root=shop.project)
        report = told(shop)
        assert (report.states["accepted"], report.states["rejected"], report.waiting) == (1, 1, 1)
        (job,) = [job for job in report.jobs if job.name == "load"]
        assert [(f.code, f.line) for f in job.left] == [("F401", 6)], "refused: it stays"

    def test_a_missing_content_does_not_hide_its_job(self, shop: Desk) -> None:
        before = told(shop)
        for place in shop.project.trace.objects.folder.glob("*/*"):
            place.unlink()
        after = told(shop)
        assert [job.name for job in after.jobs] == [job.name for job in before.jobs]
        assert not any(job.files for job in after.jobs)
        for form in FORMATS.values():
            assert form(after)


WORTH = {"killed": 5, "mutants": 6, "lines": 4, "all_lines": 4}


def summed(operation: str, fixed: dict[str, int], worth: dict[str, int] | None) -> dict[str, Any]:
    """A job's document as far as sums need it: verified, all fixed."""
    found = {"before": fixed, "after": {}}
    known = {"status": "verified", "review": "pending", "findings": found, "worth": worth}
    return {"operation": operation, **known}


def of_all_agents(report: Report) -> Report:
    """As if the run had been one of all three built-in agents."""
    jobs = [
        summed("docstring", {"missing docstring": 1}, None),
        summed("test", {"missing test": 1}, WORTH),
    ]
    sums = (*report.sums, *totals_by_operation(jobs, {}, BUILT_IN.totals))
    lint = next(job for job in report.jobs if job.files)
    text = replace(lint, operation="docstring", fixed={"missing docstring": 1})
    test = replace(
        lint,
        operation="test",
        fixed={"missing test": 1},
        measurements=WORTH,
        measurement_text=BUILT_IN.measurement_text(WORTH),
    )
    missing = Finding(code="missing docstring", message="", count=2)
    left = replace(text, files=(), fixed={}, left=(missing,))
    return replace(report, sums=sums, jobs=(*report.jobs, text, test, left))


class TestAllAgents:
    def test_each_kind_of_work_is_summed_in_its_own_measure(self, shop: Desk) -> None:
        report = of_all_agents(told(shop))
        text = markdown(report)
        headline = "4 of 5 findings fixed, 1 of 1 docstring written, 1 of 1 missing test added"
        assert text.startswith(f"## Remora: {headline}, 3 changes pending review\n")
        assert "\n- 1 of 1 docstring written: 1 added\n" in text
        assert "detect 5 of 6 planted faults, cover 4 of 4 lines of the tested code\n" in text
        # what is to be read at once stands before what is folded
        first = text.partition("<details>")[0]
        assert "docstring written" in first
        assert "### Remaining" in first
        assert "| node |" not in first
        assert text.count("<details>") == text.count("</details>")
        # what is missing without a place is one result of SARIF
        log = json.loads(FORMATS["sarif"](report))
        jsonschema.validate(log, LOG)
        results = [(each["ruleId"], each["message"]["text"]) for each in log["runs"][0]["results"]]
        assert ("remora/docstring", "2 missing docstrings") in results

    def test_much_that_is_left_is_folded(self, shop: Desk) -> None:
        report = told(shop)
        left = tuple(Finding(code="E501", message="too long", line=n) for n in range(1, 31))
        text = markdown(replace(report, jobs=(replace(report.jobs[0], left=left),)))
        head, _, folded = text.partition("### Remaining\n\n<details><summary>30 findings")
        assert "E501 too long" not in head
        assert folded.partition("</details>")[0].count("E501 too long") == 30


class TestSarif:
    def log(self, report: Report) -> dict[str, Any]:
        log: dict[str, Any] = json.loads(FORMATS["sarif"](report))
        jsonschema.validate(log, LOG)
        return log

    def test_results_are_what_is_proposed_and_what_is_left(self, shop: Desk) -> None:
        (run,) = self.log(told(shop))["runs"]
        found = [(result["ruleId"], "fixes" in result) for result in run["results"]]
        assert sorted(found) == [("B904", False), *[("remora/lint", True)] * 3]
        rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert all(rules[r["ruleIndex"]] == r["ruleId"] for r in run["results"])
        accept(shop.newest, root=shop.project, every=True)
        (run,) = self.log(told(shop))["runs"]
        assert [result["ruleId"] for result in run["results"]] == ["B904"], "nothing is proposed"

    def test_its_fixes_make_the_files_what_they_would_become(self, shop: Desk) -> None:
        report = told(shop)
        results = self.log(report)["runs"][0]["results"]
        jobs = {job.agent_id: job for job in shop.view(shop.newest).jobs}
        for result in results:
            if "fixes" not in result:
                continue
            (change,) = result["fixes"][0]["artifactChanges"]
            path = unquote(change["artifactLocation"]["uri"])
            text = applied((shop.root / path).read_text(), change["replacements"])
            (recorded,) = jobs[result["properties"]["agent"]].proposal.changes
            assert recorded.after is not None
            assert text.encode() == shop.project.trace.objects.get(recorded.after)

    def test_hostile_names_are_encoded_and_failed_jobs_are_notifications(self, shop: Desk) -> None:
        report = told(shop)
        log = self.log(hostile(report))
        place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "d%20r/100%25%20%60%C3%A4%60%7C%3Cb%3E.py"
        job = replace(report.jobs[0], path="%FF.py", files=())
        job = replace(job, left=(Finding(code="F401", message="{0} [a](b)", line=1),))
        (result,) = self.log(replace(report, jobs=(job,)))["runs"][0]["results"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "%FF.py"
        assert result["message"]["text"] == "{{0}} \\[a\\](b)"
        job = replace(
            report.jobs[0], status="error", review="", error="the model is gone", files=()
        )
        (run,) = self.log(replace(report, jobs=(job,)))["runs"]
        (notification,) = run["invocations"][0]["toolExecutionNotifications"]
        assert notification["level"] == "error"
        assert notification["message"]["text"].endswith("the model is gone")


def applied(text: str, replacements: list[dict[str, Any]]) -> str:
    """What an editor makes of SARIF's replacements."""
    starts = [0, *(found.end() for found in re.finditer("\n", text)), len(text)]
    for change in reversed(replacements):
        region = change["deletedRegion"]
        first = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:first] + change.get("insertedContent", {}).get("text", "") + text[end:]
    return text


class TestMarkdown:
    def test_refused_changes_remain_and_conflicts_count_as_pending(self, shop: Desk) -> None:
        report = told(shop)
        rows = [line for line in markdown(report).splitlines() if line.startswith("| ")]
        assert len(rows) == 1 + len(report.jobs)
        assert "| `a.py:load` lint | checked | fixes F401 |  | rule 3 |" in rows
        (shop.root / "a.py").unlink()
        accept(shop.newest, "a.py:load", root=shop.project)
        (row,) = [line for line in markdown(told(shop)).splitlines() if "`a.py:load` lint" in line]
        assert row.endswith("| would fix F401 |  | rule 3 |")
        reject(shop.newest, "a.py:load", root=shop.project)
        told_in_rows = markdown(told(shop)).splitlines()
        assert "| `a.py:load` lint | rejected |  | F401 | rule 3 |" in told_in_rows

    def test_hostile_names_add_no_markup_and_long_diffs_are_left_out(self, shop: Desk) -> None:
        text = markdown(hostile(told(shop)))
        assert "`````diff\n" in text, "a fence is longer than any within"
        outside = re.sub(r"(?ms)^(`{3,})diff$.*?^\1$", "", text)  # fences hold anything
        rows = [line for line in outside.splitlines() if line.startswith("| ")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
        spans = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
        assert not re.search(r"(?<!\\)<script", spans)
        assert not {"\x1b", "\u202e"} & set(text)
        report = told(shop)
        job = next(job for job in report.jobs if job.files)
        long = replace(job.files[0], diff="+x\n" * 30_000)
        text = markdown(replace(report, jobs=(replace(job, files=(long,)),)))
        assert len(text) < 10_000
        assert f"1 more diff: `remora diff {report.run_id}`" in text


def spoiled(value: Any) -> Any:
    """A record with `SIGNS` in every text of it."""
    match value:
        case str():
            return value + SIGNS
        case msgspec.Struct():
            fields = value.__struct_fields__
            return replace(value, **{name: spoiled(getattr(value, name)) for name in fields})
        case dict():
            ours = {"path", "detail", *WORTH}
            return {key if key in ours else spoiled(key): spoiled(v) for key, v in value.items()}
        case tuple():
            return tuple(map(spoiled, value))
    return value


def test_nothing_in_it_is_obeyed_or_turned_around(shop: Desk) -> None:
    reject(shop.newest, "a.py:load", root=shop.project)
    report = of_all_agents(told(shop))
    jobs = tuple(
        replace(job, branch="b", error="e", conflicts=({"path": "p"},)) for job in report.jobs
    )
    odd = replace(report, jobs=jobs, unreadable=({"path": "p", "detail": "d"},), commit="c")
    for form in FORMATS.values():
        assert not set(SIGNS) & set(form(spoiled(odd)))
    results = json.loads(FORMATS["sarif"](spoiled(odd)))["runs"][0]["results"]
    for result in results:
        (name,) = result["locations"][0]["logicalLocations"]
        assert not set(SIGNS) & set(result["message"]["text"] + name["fullyQualifiedName"])
    assert json.loads(as_json({"a": "\u202e\U000e0001"})) == {"a": "\u202e\U000e0001"}


def test_a_run_without_jobs_has_a_report(desk: Desk) -> None:
    desk.write({"a.py": "x = 1\n", "ruff.toml": RULES})
    desk.analyze()
    assert all(form(told(desk)) for form in FORMATS.values())


def test_a_change_of_a_last_line_without_an_end() -> None:
    file = FileChange(path="a.py", kind="modified", diff="", edits=(Edit(2, 3, ""),), lines=2, last_column=9)  # fmt: skip
    from remora.runs.report.sarif import _replacement

    assert file.edits
    replaced = _replacement(file.edits[0], file)
    assert applied("import os\nimport re", [replaced]) == "import os\n"


SECRET = "horse12!" + "staple"


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    code = f'import os\n\nPASSWORD = "{SECRET}"\n'
    files = {"a.py": code, "ruff.toml": RULES}
    return analyzed(tmp_path_factory.mktemp("keeper"), files, last).again()


class TestSecrets:
    def test_no_form_holds_one(self, keeper: Desk) -> None:
        view = keeper.view(keeper.newest)
        for name, form in FORMATS.items():
            assert SECRET not in form(make_report(keeper.project, view))
            if name != "sarif":  # it has no context lines
                text = form(make_report(keeper.project, view, raw=True))
                assert SECRET in text

    def test_what_would_write_a_placeholder_is_left_out_and_names_stay(self, keeper: Desk) -> None:
        raw = make_report(keeper.project, keeper.view(keeper.newest), raw=True)
        (job,) = raw.jobs
        edits = (Edit(3, 4, f'PASSWORD = "{SECRET}"  # kept\n'),)
        spoiled = replace(raw, jobs=(replace(job, files=(replace(job.files[0], edits=edits),)),))
        clean = redacted(spoiled, keeper.project.redact)
        assert clean.jobs[0].files[0].edits is None
        assert '"fixes"' in FORMATS["sarif"](spoiled)
        assert '"fixes"' not in FORMATS["sarif"](clean)
        said = f'password = "{SECRET}"'
        left = (Finding(code="S105", message=said),)
        told = ({"path": "a.py", "detail": said},)
        job = replace(raw.jobs[0], left=left, conflicts=told, error=said, files=())
        spoiled = replace(raw, jobs=(job,), unreadable=told)
        clean = redacted(spoiled, keeper.project.redact)
        assert SECRET not in FORMATS["json"](clean)
        assert clean.jobs[0].node_id == raw.jobs[0].node_id
        assert redacted(clean, keeper.project.redact) is clean
