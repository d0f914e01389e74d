"""Validation by JSON Schema does not import what checks the format of IRIs."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

IMPORT = (
    "import sys; from remora.json_schema import validator; "
    "print(validator({'type': 'integer'}).is_valid('x'), 'lark' in sys.modules); "
    "import rfc3987_syntax"
)


@pytest.mark.process
@pytest.mark.skipif(find_spec("rfc3987_syntax") is None, reason="rfc3987_syntax is not installed")
def test_the_grammars_of_iris_are_not_built_but_can_still_be_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], capture_output=True, check=True, text=True
    )
    assert done.stdout == "False False\n"
