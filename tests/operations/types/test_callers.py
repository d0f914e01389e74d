"""The code of other files that is added to a file for its inference."""

import ast

import pytest

from remora.judges.types.project_index import ProjectIndex
from remora.operations.types.callers import Callers

UTILS = "def keep(lot):\n    return lot\n"


def added(importer: str, text: str) -> str:
    """Return what one file adds to `utils.py`, without the function around it."""
    found = Callers().with_callers(["utils.py"], ProjectIndex({"utils.py": UTILS, importer: text}))
    code = found["utils.py"].removeprefix(UTILS)
    return "\n".join(ast.unparse(node) for node in ast.parse(code).body[-1:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from .utils import keep\nkeep(3)\n", "pass\n    keep(3)"),
        ("from . import utils\nutils.keep(3)\n", "pass\n    keep(3)"),
        ("from . import other, utils as u\nu.keep(other.N)\n", "import other\n    keep(other.N)"),
        ("from .other import N\nfrom .utils import keep\nkeep(N)\n", "from other import N\n    pass\n    keep(N)"),
    ],
)  # fmt: skip
def test_relative_imports_of_modules_at_the_root_are_followed(text: str, expected: str) -> None:
    assert added("shop.py", text) == f"def _remora_caller_0():\n    {expected}"


def test_relative_imports_within_a_package_are_written_out() -> None:
    text = "from utils import keep\nfrom . import other\nkeep(other.N)\n"
    assert "from shop import other" in added("shop/cart.py", text)
