"""Scripts are checked with the host functions that they are granted."""

from pathlib import Path

from remora.bootstrap.operations import BUILT_IN
from remora.pym import ScriptChecks
from remora.usecases.tool_lookup import check_script

READ = """from remora.pym import Input, external

path: str = Input("path")
@external
def read_text(path: str) -> str: ...
"""


def test_checking_a_file_names_what_it_will_not_get(tmp_path: Path) -> None:
    path = tmp_path / "t.pym"
    path.write_text(READ + "@external\ndef unheard() -> int: ...\nread_text(path)\n")

    free = check_script(path, ScriptChecks(), BUILT_IN.host_functions, grants=None)
    bound = check_script(path, ScriptChecks(), [*BUILT_IN.host_functions, "unheard"], grants=[])

    assert not free.ok
    assert free.errors == ["t.pym:7: there is no host function `unheard`"]
    assert bound.errors == [
        "t.pym:5: `read_text` is not granted",
        "t.pym:7: `unheard` is not granted",
    ]


def test_checking_a_file_that_is_wrong_lists_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "t.pym"
    path.write_text('x: int = "a"\n')

    found = check_script(path, ScriptChecks(), BUILT_IN.host_functions, grants=None)

    assert not found.ok
    assert found.errors[0].startswith("t.pym:1: ")
