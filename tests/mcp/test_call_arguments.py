"""Arguments of calls: values in texts are read, and paths may be spelled in many ways."""

from pathlib import Path
from typing import Any

import pytest

from remora.errors import UsageError
from remora.mcp.call_arguments import place_paths, read_values
from remora.mcp.tool_list import CONTEXT, HUB_CALLERS, HUB_SEARCH, TRACE_PACKET, VERIFY_EDIT


@pytest.mark.parametrize(
    ("tool", "written", "meant"),
    [
        (HUB_CALLERS, {"name": "5", "depth": "2", "limit": " 5 "}, {"name": "5", "depth": 2, "limit": 5}),
        (HUB_SEARCH, {"query": "[true]"}, {"query": "[true]"}),
        (HUB_SEARCH, {"query": 3, "limit": "many"}, {"query": "3", "limit": "many"}),
        (VERIFY_EDIT, {"path": "1", "edits": '[{"old": "1"}]'}, {"path": "1", "edits": [{"old": "1"}]}),
        (VERIFY_EDIT, {"edits": ['{"old": "1"}'], "apply": "true"}, {"edits": [{"old": "1"}], "apply": True}),
        (VERIFY_EDIT, {"edits": (cut := '[{"old": "1"')}, {"edits": cut}),
        (VERIFY_EDIT, {"edits": (lone := r'[{"old": "\ud800"}]')}, {"edits": lone}),
    ],
)  # fmt: skip
def test_a_value_in_a_text_is_read_where_no_text_is_allowed(
    tool: Any, written: dict[str, Any], meant: dict[str, Any]
) -> None:
    assert read_values(written, tool) == meant


@pytest.mark.parametrize(
    "spelled",
    [
        "a b/c.py", "{}/a b/c.py", "./a b/c.py", "x/../a b//c.py", "{}/./a b/c.py", r"a b\c.py",
        r".\a b\c.py", "file://{}/a%20b/c.py", "file:{}/a b/c.py", "file://localhost{}/a b/c.py",
        "{}/../link/a b/c.py",
    ],
)  # fmt: skip
def test_a_path_of_the_project_may_be_spelled_in_many_ways(tmp_path: Path, spelled: str) -> None:
    root = tmp_path / "r"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    for rest in ("", ":f", ":3", "::TestX::test_y[a/../b]"):
        path = spelled.format(root) + rest
        for tool, name in ((CONTEXT, "name"), (HUB_SEARCH, "query"), (TRACE_PACKET, "agent")):
            assert place_paths({name: path}, tool, root) == {name: f"a b/c.py{rest}"}
    line = place_paths({"name": f"file://{root}/c.py#L3-L5", "edits": "./x"}, CONTEXT, root)
    assert line == {"name": "c.py:3", "edits": "./x"}


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../a.py", "file:///etc/a.py", r"C:\a.py", "D:/a.py", r"\\host\a.py"]
)
def test_a_path_outside_the_project_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="is outside the project"):
        place_paths({"name": f"{path}:f"}, CONTEXT, Path("/r"))
    assert place_paths({"query": path}, HUB_SEARCH, Path("/r")) == {"query": path}
