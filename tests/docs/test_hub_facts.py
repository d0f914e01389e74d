"""docs/reference/hub.md names every field and tier, and its script does what it says."""

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from click import Context

from remora.cli.app.command_groups import hub
from remora.code.file_analysis import read_facts
from remora.code.links import TIERS
from remora.config.schema import HubConfig
from remora.hub.index import user_scripts
from remora.hub.index.user_scripts import UserScripts
from remora.hub.node import NodeState
from remora.hub.protocol import TYPES, Code

PAGE = (Path(__file__).parent.parent.parent / "docs/reference/hub.md").read_text(encoding="utf-8")


def test_the_page_names_every_field_and_tier() -> None:
    names = [*(field.name for field in msgspec.structs.fields(NodeState)), *TIERS]
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_the_page_names_every_command_and_setting() -> None:
    assert [name for name in hub.list_commands(Context(hub)) if f"hub {name}" not in PAGE] == []
    settings = [f"hub.{name}" for name in HubConfig.model_fields]
    assert [name for name in settings if f"`{name}" not in PAGE] == []


def test_the_page_names_every_type_and_code_of_the_protocol() -> None:
    assert [name for name in (*TYPES, *get_args(Code)) if f"`{name}`" not in PAGE] == []


def test_the_pages_script_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_scripts, "_PATIENCE_S", 60.0)
    (block,) = re.findall(r"^```python-script\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    folder = tmp_path / ".remora/hub"
    folder.mkdir(parents=True)
    (folder / "review.pym").write_text(block)
    scripts = UserScripts(tmp_path)
    scripts.state()
    facts = read_facts("a.py", b"def f(a):\n    return a or 1\n")
    assert scripts.extras(facts) == {
        "node:a.py:__module__": {"review": {"score": 0, "look": False}},
        "node:a.py:f": {"review": {"score": 2, "look": False}},
    }
