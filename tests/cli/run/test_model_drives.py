"""A model that chooses by a rule drives all four agents; what it decided can be checked and redone."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import Done, Remora, new_repository, tree, write
from tests.isolation_levels import need
from tests.openai_server import Handler, Server, answer, openai_server, send_json

SHOP = '''\
"""A shop."""

import os


class Item:
    def __init__(self, name, price=0.0):
        self.name = name
        self.price = price


def cheapest(items, limit=3):
    if limit < 1:
        raise ValueError("a limit is positive")
    return sorted(items, key=lambda item: item.price)[:limit]


def marked(items, mark):
    return [mark + item.name for item in items]


def ratio(text):
    """Return the width by the height of a text such as `16:9`."""
    try:
        wide, high = text.split(":")
    except:
        return 0
    return int(wide) // int(high)
'''
USE = """\
from shop import Item, cheapest

items: list[Item] = [Item("tea", 2.5)]
print(cheapest(items))
"""
FILES = {
    "shop.py": SHOP,
    "use.py": USE,
    "pyproject.toml": '[project]\nname = "shop"\nrequires-python = ">=3.10"\n[tool.ty]\n',
}
OPERATIONS = ("lint", "docstring", "test", "types")
BUILT_IN = {"recall", "undo", "leave", "submit_result"}
DOCSTRING = """Return the items with the lowest prices.

Raises:
    ValueError: If `limit` is less than 1."""
TEST = "def test_ratio_is_rounded_down():\n    assert ratio('16:9') == 1\n"
Call = tuple[str, dict[str, Any]]
Event = dict[str, Any]
PLANS: dict[str, tuple[Call, ...]] = {
    "lint": (
        ("read_code", {"first": 22, "last": 27}),
        ("edit_lines", {"first": 24, "last": 24, "text": "    except ValueError"}),
        ("edit_lines", {"first": 24, "last": 24, "text": "    except ValueError:"}),
    ),
    "docstring": (
        ("read_callers", {}),
        ("write_docstring", {"summary": "Cheapest of items."}),
        (
            "write_docstring",
            dict(zip(("summary", "details"), DOCSTRING.split("\n\n"), strict=True)),
        ),
    ),
    "test": (
        ("read_function", {"name": "ratio"}),
        ("write_test", {"function": "ratio", "code": TEST.replace("== 1", "== 2")}),
        ("write_test", {"function": "ratio", "code": TEST}),
    ),
    "types": (
        ("read_code", {"first": 18, "last": 18}),
        (
            "annotate",
            {"function": "marked", "signature": "(items: list[Item], mark: int) -> list[str]"},
        ),
        (
            "annotate",
            {"function": "marked", "signature": "(items: list[Item], mark: str) -> list[str]"},
        ),
    ),
}
"""Each looks, writes what a tool refuses or a checker does not like, and writes it better."""


def choose(shown: str) -> Call:
    """Make the first call of the operation's plan that the packet does not list as done, or submit."""
    found = re.search(r"^Target: (\w+) \w+ node:([^\n]+)$", shown, re.MULTILINE)
    assert found is not None, shown
    operation, node = found.groups()
    is_left = "left the docstring" in shown
    if operation == "docstring" and not node.endswith("cheapest") and not is_left:
        return LEFT[0]
    opened = "fix findings|mend docstring|write tests|write annotations"
    done = len(re.findall(rf"^\d+\. (?!{opened})\w", shown, re.MULTILINE))
    plan = () if is_left else PLANS[operation]
    return plan[done] if done < len(plan) else ("submit_result", {"summary": "done"})


REFUSED = {"lint": 1, "docstring": 1, "test": 1}
"""The checkers' word on a signature is no refusal: what they accept of it stays."""
LEFT: tuple[Call, ...] = (("leave", {"item": "the docstring", "because": "its names say it"}),)
WRITTEN = (
    "    except ValueError:",
    '    """Return the items with the lowest prices.',
    '    assert ratio("16:9") == 1',
    "def marked(items: list[Item], mark: str) -> list[str]:",
)


def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
    send_json(handler, answer(choose(request["messages"][-1]["content"])))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    need(2)
    root = write(tmp_path / "shop", FILES)
    return new_repository(root)


@pytest.fixture
def by_model(poor: Remora, shop: Path, plain_python: ProjectPython) -> Callable[..., Done]:
    """Run `remora` as a user whose model drives."""
    environ = {
        "REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "12000",  # the server counts no tokens
        "VIRTUAL_ENV": str(plain_python.python.parent.parent),
    }
    user = replace(poor, environ=environ)

    def run(*words: str) -> Done:
        process = user.start(*words, cwd=shop)
        out, err = process.communicate(timeout=300)
        return Done(process.returncode, out, err)

    return run


def analyze(by_model: Callable[..., Done], server: Server) -> Done:
    chosen = [word for name in OPERATIONS for word in ("-o", name)]
    model = ("--model", server.address, "--decisions", "model", "--json")
    return by_model("analyze", "shop.py", *chosen, *model)


def events_of(by_model: Callable[..., Done], agent: str) -> list[Event]:
    raw = by_model("trace", "export", agent, "--format", "jsonl").out
    return [json.loads(line) for line in raw.splitlines()]


def after_opening(events: list[Event]) -> list[Event]:
    """The calls of the turns that begin after the event that ends the opening."""
    opened = next(n for n, event in enumerate(events) if event["data"].get("source") == "opening")
    return [event["data"] for event in events[opened:] if event["type"] == "tool_call"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_after_the_opening_the_model_decides_in_all_four_agents(
    by_model: Callable[..., Done], shop: Path
) -> None:
    before = tree(shop)
    with openai_server(chat) as server:
        done = analyze(by_model, server)
    assert done.code == 0, done.err
    assert tree(shop) == before
    for request in server.requests:
        names = {tool["function"]["name"] for tool in request["tools"]}
        assert names - BUILT_IN, names

    jobs = done.document["jobs"]
    assert {job["operation"] for job in jobs} == set(OPERATIONS)
    for job in jobs:
        calls = after_opening(events_of(by_model, job["agent_id"]))
        made = [(call["tool"], call["args"]) for call in calls]
        assert made[-1][0] == "submit_result"  # by the model, or by rule where nothing is left
        assert {call["decided_by"] for call in calls[:-1]} == {"model"}
        assert tuple(made[:-1]) in (PLANS[job["operation"]], LEFT)  # as sent, whatever came back
        assert (job["status"], job["invalid"]) == ("verified", 0) or tuple(made[:-1]) == LEFT
    assert {job["operation"]: job["refused"] for job in jobs if job["refused"]} == REFUSED

    written = by_model("diff", "last").out
    for line in WRITTEN:
        assert f"+{line}\n" in written, written
    assert by_model("trace", "verify", "--all").code == 0
    for job in jobs:
        assert by_model("trace", "replay", job["agent_id"]).code == 0
