"""docs/reference/hub.md names every field and tier."""

from pathlib import Path
from typing import get_args

import msgspec
from click import Context

from remora.cli.app.command_groups import hub
from remora.code.links import TIERS
from remora.config.schema import HubConfig
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
