"""Validation by JSON Schema does not import what checks the format of IRIs."""

import subprocess
import sys

IMPORT = (
    "import sys; from remora.json_schema import validator; "
    "print(validator({'type': 'integer'}).is_valid('x'), 'lark' in sys.modules); "
    "import rfc3987_syntax"
)


def test_the_grammars_of_iris_are_not_built_but_can_still_be_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], capture_output=True, check=True, text=True
    )
    assert done.stdout == "False False\n"
