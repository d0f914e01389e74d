"""Files whose docstrings are corrected."""

from pathlib import Path

import pytest

from remora.code.syntax.extract import parse_module
from remora.code.syntax.nodes import Module
from remora.operations.docstring.docstring_need import docstring_work

OUTDATED = '''def total(price):
    """Return the total.

    Args:
        prize: What one costs.
    """
    return 2 * price
'''


@pytest.mark.parametrize(
    ("path", "expected"),
    [("shop/cart.py", 1), ("shop/_vendor/cart.py", 0), ("tests/test_cart.py", 0)],
)
def test_tests_and_copied_code_are_left_alone(tmp_path: Path, path: str, expected: int) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(OUTDATED)
    module = parse_module(path, OUTDATED.encode())
    assert isinstance(module, Module)
    assert docstring_work(tmp_path, [module], {})(module, module.nodes[1]) == expected
