"""A model that drives the types agent, behind a real server that answers by the test's script."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import remora
from tests.openai_server import Handler, Server, answer, openai_server, send_json

SHOP = """\
class Item:
    def __init__(self, name, price=0.0):
        self.name = name
        self.price = price

    def label(self):
        return f"{self.name}: {self.price:.2f}"


def is_cheap(item, limit=10.0):
    return item.price < limit


def total(items, less=None):
    return sum(each.price for each in items) - (less or 0)
"""
USE = """\
from shop import Item, is_cheap

items: list[Item] = [Item("tea", 2.5)]
print(is_cheap(items[0]), items[0].label())
"""
SETTINGS = '[project]\nname = "shop"\nrequires-python = ">=3.10"\n[tool.ty]\n'
LIMIT = "runner:\n  memory:\n    packet_size_limit: 12000\n"
Call = tuple[str, dict[str, Any]]
RIGHT: Call = ("annotate", {"function": "total", "signature": "(items: list[Item]) -> float"})
SUBMIT: Call = ("submit_result", {"summary": "done"})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    root = tmp_path / "project"
    root.mkdir()
    files = {"shop.py": SHOP, "use.py": USE, "pyproject.toml": SETTINGS, "remora.yaml": LIMIT}
    for name, text in files.items():
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


@contextmanager
def playing(*calls: Call) -> Iterator[Server]:
    """Serve a model that makes these calls, one a turn, and then submits."""

    def chat(handler: Handler, _request: dict[str, Any], number: int) -> None:
        send_json(handler, answer((*calls, SUBMIT)[min(number, len(calls) + 1) - 1]))

    with openai_server(chat) as server:
        yield server


def analyzed(project: Path, server: Server) -> remora.RunResult:
    return remora.analyze(
        root=project, operations=["types"], model=server.address, decisions="model"
    )


def shown(server: Server, turn: int) -> str:
    return str(server.requests[turn]["messages"][-1]["content"])


@pytest.mark.slow
def test_a_model_reveals_annotates_revises_and_submits(project: Path) -> None:
    wrong = ("annotate", {"function": "total", "signature": "(items: int) -> float"})
    wider = ("annotate", {"function": "total", "signature": "(items: Iterable[Item]) -> float"})
    asked = ("reveal", {"expression": "item.price", "line": 11})
    with playing(asked, wrong, wider, RIGHT) as server:
        done = analyzed(project, server)
    assert [job.status for job in done.view.jobs] == ["verified"]
    first, revealed, refused, written, revised = (shown(server, turn) for turn in range(5))
    assert "Done:\n1. write_annotations() -> Wrote " in first
    assert "14| def total(items, less=None):\n15|     return sum(each" in first
    assert "names known here: Item\n" in first
    assert "Findings:\ntotal lacks items, less, the result; functions that lack types: 1\n" in first
    assert '- annotate(function="total") - missing: items, less, the result' in first
    assert "-> At line 11, item.price is float" in revealed
    assert re.search(r"ty \S+ refuses total\(items: int\): line 15: .* not iterable", refused)
    assert re.search(
        r"accepted by ty.*; now def total\(items: Iterable\[Item\], less=None\) -> float:", written
    )
    assert re.search(
        r"accepted by ty.*; now def total\(items: list\[Item\], less=None\) -> float:", revised
    )
    remora.accept(done.run_id, every=True, root=project)
    text = (project / "shop.py").read_text()
    assert "def total(items: list[Item], less=None) -> float:" in text
    assert "Iterable" not in text
    assert "def label(self) -> str:" in text


@pytest.mark.slow
def test_what_rules_are_sure_of_stays_if_the_model_breaks_off(project: Path) -> None:
    def chat(handler: Handler, _request: dict[str, Any], number: int) -> None:
        if number == 1:
            send_json(handler, answer(RIGHT))
        else:
            send_json(handler, {"error": {"message": "out of memory"}}, 500)

    (project / "remora.yaml").write_text(f"{LIMIT}model:\n  retries: 0\n")
    with openai_server(chat) as server:
        done = analyzed(project, server)
    assert "now def total(items: list[Item], less=None) -> float:" in shown(server, 1)
    remora.accept(done.run_id, every=True, root=project)
    text = (project / "shop.py").read_text()
    assert "def label(self) -> str:" in text
    assert "def total(items, less=None):" in text


@pytest.mark.slow
def test_a_function_that_is_left_is_not_suggested_again(project: Path) -> None:
    with playing(("leave", {"item": "total", "because": "it takes any list"})) as server:
        analyzed(project, server)
    assert "left total: it takes any list" in shown(server, 1)
    assert "Suggestions:\n- submit_result()" in shown(server, 1)
