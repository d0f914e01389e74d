"""The page on exports: it names every column, and its code runs."""

import re
from pathlib import Path

import pytest

from remora.exports.formats import export_chunks
from remora.exports.run_group import ExportCounts
from remora.trace.trace_folder import TraceFolder
from tests.exports.conftest import Attempt, Run, everything, rows

PAGE = Path(__file__).parents[2] / "docs/reference/exports.md"
FINE_TUNE = PAGE.parents[1] / "how-to/fine-tune.md"


@pytest.fixture
def played(folder: TraceFolder) -> TraceFolder:
    run = Run(folder)
    for name, verdict in (("lint-a", "accepted"), ("lint-b", "rejected")):
        run.began(name)
        attempt = Attempt(folder, name)
        attempt.choose(ord(name[-1]) - ord("a"))
        run.ended(name, attempt.end())
        run.said(name, verdict)
    run.close()
    return folder


@pytest.mark.parametrize("form", ["sft", "functiongemma"])
def test_it_names_every_column(played: TraceFolder, form: str) -> None:
    named = set(re.findall(r"`([a-z_0-9]+)`", PAGE.read_text(encoding="utf-8")))
    columns = {re.sub(r"^(chosen|rejected)_(?!prompt)", "", key) for key in rows(played, form)[0]}
    assert not columns - named


@pytest.mark.parametrize(("page", "name"), [(PAGE, "good"), (FINE_TUNE, "used")])
def test_page_code_finds_what_a_person_accepted(
    played: TraceFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: Path, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = export_chunks(played, everything(played), "sft", ExportCounts())
    Path("rows.jsonl").write_bytes(b"".join(rows))
    (block,) = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    found: dict[str, list[dict[str, str]]] = {}
    exec(compile(block, page, "exec"), found)
    assert [row["agent_id"] for row in found[name]] == ["lint-a"]
