"""The page about redaction names every rule, and its example is a rule that works."""

from pathlib import Path

import yaml

from remora.trace.redact.redactor import BUILTIN, Redactor
from remora.trace.redact.rule import UserRule

PAGE = Path(__file__).parents[3] / "docs/reference/redaction.md"


def test_every_rule_is_on_the_page() -> None:
    page = PAGE.read_text()
    assert [rule.name for rule in BUILTIN if f"`{rule.name}`" not in page] == []


def test_the_example_of_own_rules() -> None:
    block = PAGE.read_text().split("```yaml\n")[1].split("```")[0]
    rules = [UserRule(**rule) for rule in yaml.safe_load(block)["redaction"]["rules"]]
    clean = Redactor(b"k" * 32, own=rules).text("B-12345678 has pin: 4711")
    assert clean.startswith("<secret:badge:")
    assert "> has pin: <secret:order-pin:" in clean


def test_the_version_on_the_page() -> None:
    assert f"`{Redactor(b'k').version}`" in PAGE.read_text()
