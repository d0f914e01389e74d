"""Code that shows a writer what a node is for."""

from pathlib import Path

from remora.operations.docstring.related_code import calls_of_name
from remora.tools.tree import ToolTree


def test_of_a_long_call_twelve_lines_are_shown(tmp_path: Path) -> None:
    arguments = "".join(f"    {number},\n" for number in range(20))
    (tmp_path / "a.py").write_text(f"x = 1\ny = 2\nship(\n{arguments})\n")
    (call,) = calls_of_name(ToolTree(tmp_path), "ship", ())
    assert call["code"].splitlines()[:3] == ["x = 1", "y = 2", "ship("]
    assert len(call["code"].splitlines()) == 12
