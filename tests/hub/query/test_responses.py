"""Every question about nodes has one result, whoever is asked."""

from typing import Any

import pytest

from remora.code.file_analysis import read_facts
from remora.errors import NotFound
from remora.hub import protocol
from remora.hub.protocol import Callees, Callers, GetContext, GetNode, Health, Request, Search
from remora.hub.query import responses
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.responses import handle, nodes_of
from remora.hub.query.snapshots import MemorySnapshot

KEY = "node:a.py:f"
SOURCE = b"def f():\n    return 1\n\n\ndef g():\n    return f()\n"


@pytest.fixture
def answers() -> NodeQueries:
    facts = read_facts("a.py", SOURCE)
    return NodeQueries(MemorySnapshot({facts.path: facts}))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (GetContext(nodes=(KEY, "node:a.py:gone")), lambda a: a.context([KEY])),
        (GetNode(node=KEY), lambda a: a.node(KEY)),
        (Callers(node=KEY, depth=2), lambda a: a.callers(KEY, 2)),
        (Callees(node=KEY), lambda a: a.callees(KEY)),
        (protocol.Tests(node=KEY, depth=3), lambda a: a.tests(KEY, 3)),
        (Search(query="f", limit=1), lambda a: a.search("f", 1)),
    ],
)
def test_a_request_gets_what_the_answers_say(
    asked: Request, expected: Any, answers: NodeQueries
) -> None:
    assert handle(asked, answers) == expected(answers)


def test_an_unknown_node_is_named_and_no_limit_exceeds_the_protocols(
    answers: NodeQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFound):
        handle(GetNode(node="node:a.py:gone"), answers)
    with pytest.raises(NotFound, match="`search` finds nodes by name"):
        handle(Callers(node="node:a.py:gone"), answers, suggest=False)
    assert handle(GetContext(nodes=("node:a.py:gone",)), answers, suggest=False) == {}
    monkeypatch.setattr(responses, "MAX_FOUND", 1)
    assert len(handle(Search(query="a.py", limit=50), answers)["nodes"]) == 1


def test_which_nodes_a_request_names() -> None:
    assert nodes_of(GetContext(nodes=(KEY, KEY))) == (KEY, KEY)
    assert nodes_of(Callers(node=KEY)) == nodes_of(GetNode(node=KEY)) == (KEY,)
    assert nodes_of(Search(query="f")) == nodes_of(Health()) == ()
