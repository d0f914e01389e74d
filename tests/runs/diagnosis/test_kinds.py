"""The kinds of causes that the reference page lists."""

import re
from pathlib import Path
from typing import get_args

from remora.runs.diagnosis.why_line import CauseKind

PAGE = Path(__file__).parents[3] / "docs/reference/diagnosis.md"


def test_the_page_lists_each_kind_of_cause() -> None:
    section = PAGE.read_text().partition("## Kinds of causes")[2].partition("## JSON")[0]
    lines = [line.partition(" | ")[0] for line in section.splitlines()]
    named = [line for line in lines if line.startswith(("| `", "Agents that did not fail"))]
    assert set(re.findall("`(\\w+)`", "".join(named))) - {"kind"} == set(get_args(CauseKind))
