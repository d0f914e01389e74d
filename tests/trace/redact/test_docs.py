"""The page about redaction names every rule, and its example is a rule that works."""

import re
from pathlib import Path

import pytest
import yaml

from remora.trace.redact.redactor import BUILTIN, Redactor
from remora.trace.redact.rule import UserRule

PAGE = Path(__file__).parents[3] / "docs/reference/redaction.md"
BLOCK = PAGE.read_text().split("```text\n")[1].split("```")[0]
FORMS = [form for form in re.split(r"\n(?![ …]|\"\"\"|$)", BLOCK) if form.strip()]


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


@pytest.mark.parametrize("name", ["password", "secret", "api_key"])
@pytest.mark.parametrize("form", FORMS)
def test_the_forms_of_assignment_on_the_page(form: str, name: str) -> None:
    named = form.replace("password", name).replace("PASSWORD", name.upper())
    is_literal = name == "password" or '"' in form or form == "PASSWORD=…"
    secret = "horse12!staple" if is_literal else "a1B2c3D4e5F6g7H8"
    for quoted in (named, named.replace('"', "'")):
        clean = Redactor(b"k" * 32).text(quoted.replace("…", secret))
        assert clean.count("<secret:assignment:") == form.count("…"), clean
        assert secret not in clean
