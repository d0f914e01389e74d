"""Whom a change reaches beyond the nodes it changed."""

import pytest

from remora.errors import ScriptError
from remora.hub.index import affected_nodes as affected_module
from remora.hub.index import script_runner
from remora.hub.index.affected_nodes import affected_nodes
from remora.hub.query.queries import NodeQueries
from remora.hub.query.snapshots import MemorySnapshot
from remora.hub.update_rules import ComputeComplexity, FindCallers, FindTests
from remora.ids import NodeKey
from tests.hub.small_files import facts_of

FILES = {
    "a.py": "def f(): ...\n\ndef g():\n    f()\n\ndef h():\n    g()\n    f()\n",
    "tests/test_a.py": "from a import g\n\n\nclass TestG:\n    def test_g(self):\n        g()\n",
}
F, G, H, TEST = (
    NodeKey(f"node:{name}")
    for name in ("a.py:f", "a.py:g", "a.py:h", "tests/test_a.py:TestG.test_g")
)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> NodeQueries:
    monkeypatch.setattr(affected_module, "PATIENCE_S", 60.0)
    return NodeQueries(MemorySnapshot({path: facts_of(path, text) for path, text in FILES.items()}))


def test_callers_of_nodes_that_are_called_otherwise_are_reached(now: NodeQueries) -> None:
    assert affected_nodes([FindCallers((F,))], now) == (G, H)


def test_nodes_that_changed_themselves_are_not_named_again(now: NodeQueries) -> None:
    assert affected_nodes([FindCallers((F, G))], now) == (H, TEST)


def test_tests_of_nodes_with_another_body_are_reached_as_nodes(now: NodeQueries) -> None:
    assert affected_nodes([FindTests((G,))], now) == (TEST,)


def test_a_call_with_several_possible_targets_reaches_its_function() -> None:
    files = {
        "a.py": "class A:\n    def go_on(self): ...\n\nclass B:\n    def go_on(self): ...\n",
        "tests/test_b.py": "from x import y\n\ndef test_y():\n    y.go_on()\n",
    }
    view = MemorySnapshot({path: facts_of(path, text) for path, text in files.items()})
    found = affected_nodes([FindTests((NodeKey("node:a.py:A.go_on"),))], NodeQueries(view))
    assert found == (NodeKey("node:tests/test_b.py:test_y"),)


def test_removed_nodes_affect_no_other_node(now: NodeQueries) -> None:
    gone = NodeKey("node:a.py:gone")
    assert affected_nodes([FindCallers((gone,)), FindTests((gone,))], now) == ()
    assert affected_nodes([ComputeComplexity("a.py", ("f",))], now) == ()


def test_the_search_for_affected_nodes_has_a_time_limit(
    now: NodeQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(affected_module, "PATIENCE_S", -1.0)
    assert affected_nodes([FindCallers((F,)), FindTests((G,))], now) == ()


def test_a_script_that_fails_reaches_nobody_and_the_log_says_so(
    now: NodeQueries, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(*_: object) -> None:
        raise ScriptError("find_callers.pym:9: no", kind="runtime")

    monkeypatch.setattr(script_runner, "find_callers", failing)
    assert affected_nodes([FindCallers((F,)), FindTests((G,))], now) == (TEST,)
    assert "find_callers.pym:9: no" in caplog.text
