"""What a project leaves unannotated."""

import pytest

from remora.operations.types.ranking.siblings import Habits
from remora.operations.types.source.project_index import ProjectIndex
from remora.operations.types.source.slots import RETURN

BARE = "def {}(path: str, **options) -> None: ...\n"
FULL = "def {}(path: str, **options: Any) -> None: ...\n"
LAST = "def last(path, **options): ...\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BARE.format("a") + BARE.format("b") + FULL.format("c"), True),
        (BARE.format("a") + FULL.format("b") + FULL.format("c"), False),
        (BARE.format("a"), False),
    ],
)
def test_star_parameters_stay_bare_where_most_are(text: str, expected: bool) -> None:
    index = ProjectIndex({"shop.py": text + LAST})
    habits = Habits(index)
    (last,) = index.functions["last"]
    assert habits.omits(last, "options") is expected
    assert not habits.omits(last, "path")
    assert not habits.omits(last, RETURN)
