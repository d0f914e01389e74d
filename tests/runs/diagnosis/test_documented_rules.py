"""The reference lists the rules in the order in which they are tried."""

import re
from pathlib import Path

from remora.runs.diagnosis.why_line import RULES

PAGE = Path(__file__).parents[3] / "docs/reference/diagnosis.md"
KINDS = {
    "recorded_error": [
        *("context_truncated", "budget_dropped", "time_out", "model_failed", "internal_error"),
    ],
    "tool_timed_out": ["time_out"],
}
"""The kinds of rules that are not named like their kind."""


def test_the_page_lists_the_rules_in_order() -> None:
    table = PAGE.read_text().partition("## Kinds of causes")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    names = [getattr(rule, "__name__", "") for rule in RULES]
    tried = [kind for name in names for kind in KINDS.get(name, [name])]
    assert listed == ["kind", "interrupted", "conflict", *tried, "turn_limit", "unknown"]
