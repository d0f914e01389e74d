"""A project with code, a run with failed and pending jobs, and clients of its MCP server."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import mcp_types as types
from mcp.client.client import Client

from remora.bootstrap.invocation import Invocation
from remora.mcp.hub_answers import HubAnswers
from remora.mcp.project_data import ProjectRedactor
from remora.mcp.record_answers import RecordAnswers
from remora.mcp.server import Allowance, Handlers, create_server
from tests.cli.conftest import Remora

CART = '''"""A cart."""
import os


class Cart:
    """What a customer wants to buy."""

    def __init__(self):
        self.prices = []

    def total(self, discount=0):
        """Return the sum of all prices."""
        return sum(self.prices) - discount


def checkout(cart: Cart):
    return cart.total()


def preview(cart: Cart):
    return cart.total(1)
'''
TEST = """from shop.cart import Cart


def test_total_of_an_empty_cart():
    assert Cart().total() == 0
"""
FILES = {"shop/__init__.py": "", "shop/cart.py": CART, "tests/test_cart.py": TEST}


def invocation_in(root: Path, home: Path) -> Invocation:
    return Invocation(environ=Remora(home).environment, folder=root)


@asynccontextmanager
async def connected(
    invocation: Invocation,
    *,
    allow_run: bool = False,
    writable: Sequence[str] = (),
    mode: str = "auto",
    all_tools: bool = True,
) -> AsyncIterator[Client]:
    """Yield a client of a server in this process."""
    project = ProjectRedactor(invocation)
    with closing(HubAnswers(invocation, project, lambda _text: None)) as hub:
        records = RecordAnswers(invocation)
        allowed = Allowance(allow_run, writable, all_tools)
        handlers = Handlers(hub, records, invocation, project, allowed)
        async with Client(create_server(handlers), mode=mode) as client:
            yield client


def data_in(text: str) -> str:
    """Return the project's text between its marks, of which there is one pair."""
    first, rest = text.split("\n", 1)
    data, last = rest.rsplit("\n", 1)
    mark = re.fullmatch(r"<(project-data [0-9a-f]{16})>", first)
    assert mark is not None
    assert last == f"</{mark[1]}>"
    assert mark[1] not in data
    return data


def text_of(result: types.CallToolResult) -> str:
    """Return the data in an answer that is not an error."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert not result.is_error, content.text
    return data_in(content.text)


def error_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert result.is_error
    return content.text
