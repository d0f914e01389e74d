"""What a change of the types operation may change."""

import pytest

from remora.ids import NodeKey
from remora.judges.submission import Submission
from remora.operations.types.checks import annotations_added, annotations_only

LAZY = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
BEFORE = "import os\n\ndef f(a, b: int = 1):  # why\n    return os.sep * a\n"


def submitted(after: str, before: str = BEFORE) -> Submission:
    return Submission(
        path="a.py",
        node_id=NodeKey("node:a.py:f"),
        node_name="f",
        qualname="f",
        files={"a.py": (before.encode(), after.encode())},
        findings_before=lambda _path: [],
        findings_after=lambda _path: [],
        names=lambda *_: [],
    )


def test_annotations_and_imports_may_be_added_and_lines_broken() -> None:
    after = (
        "import os\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from x import A\n\n"
        'def f(\n    a: "A", b: int = 1\n) -> str:  # why\n    return os.sep * a\n'
    )
    assert annotations_only(submitted(after)) == ""
    assert annotations_added(submitted(after)) == ""


def test_imports_for_type_checkers_may_be_beside_classes() -> None:
    before = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import a\n\n    class B: ...\n\ndef f(b): ...\n"
    after = before.replace("import a\n", "import a, c\n").replace("f(b)", "f(b: c.D)")
    assert annotations_only(submitted(after, before)) == ""
    after = after.replace("class B", "class C")
    assert "more than annotations" in annotations_only(submitted(after, before))


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        (LAZY + BEFORE.replace("import os\n", "    import os\n"), "an import has changed"),
        (BEFORE.replace("import os\n", "") + "import os\n", "an import has changed"),
        (BEFORE + "from os import path as f\n", "hides a name"),
        (BEFORE + "from os import open\n", "hides a name"),
        (LAZY + "    from os import *\n" + BEFORE, "hides a name"),
        (BEFORE.replace("sep * a", "sep + a"), "more than annotations"),
        (BEFORE.replace("b: int", "b: str"), "an annotation that was there"),
        (BEFORE.replace("b: int = 1", "b = 1"), "an annotation that was there"),
        (BEFORE.replace("# why", "# what"), "a comment"),
        (BEFORE.replace("import os", "import sys as os"), "an import"),
        (BEFORE.replace("= 1", "= 2"), "more than annotations"),
        (BEFORE + "x: int = 1\n", "more than annotations"),
    ],
)
def test_nothing_else_may_change(after: str, problem: str) -> None:
    assert problem in annotations_only(submitted(after))


def test_a_change_without_annotations_is_refused() -> None:
    assert annotations_added(submitted(BEFORE + "\n")) == "no annotation was added"
