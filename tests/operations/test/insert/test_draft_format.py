"""How the body of a new test is formatted."""

from pathlib import Path

from remora.operations.test.cases.drafts import Draft
from remora.operations.test.insert.draft_format import formatted_draft
from remora.operations.test.insert_location import InsertLocation
from remora.tools.tree import ToolTree


def test_letters_of_several_bytes_do_not_make_a_line_too_long(tmp_path: Path) -> None:
    body = [f"assert f('{'é' * 60}') == 1"]
    home = InsertLocation(
        path="test_mod.py", exists=False, imports_from="mod", quote="'", typed=False
    )
    made = formatted_draft(ToolTree(tmp_path), home, Draft(name="test_f", body=body))
    assert made.body == body
