"""Whatever a model writes instead of calls, the tests that rules write are kept."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from remora.sandbox.interpreters import ProjectPython
from tests.cli.conftest import Remora, git, tree, write
from tests.isolation_levels import need
from tests.openai_server import Handler, answer, openai_server, send_json

RATIOS = '''\
def ratio(text):
    wide, high = text.split(":")
    if int(high) == 0:
        raise ValueError("a ratio without a height")
    return int(wide) // int(high)


def doubled(text):
    """Return a text twice.

    >>> doubled("ab")
    'abab'
    >>> doubled("")
    '-'
    """
    return text + text if text else "-"
'''
CODES = (
    "Sure! Here are some calls of the function.",
    "import os",
    "import os\nos.system('touch damage.txt')\nratio(str(os.system('touch damage.txt')))",
    "ratio(str(1 / 0))",
    "ratio(str([each for each in iter(int, 1)]))",
    "ratio('16:4')\n" * 80_000,
)
_FUNCTION = re.compile(r'try_calls\(function="(\w+)"\)')


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_faulty_calls_are_recorded_and_change_nothing(
    poor: Remora, tmp_path: Path, plain_python: ProjectPython
) -> None:
    need(2)
    root = write(tmp_path / "ratios", {"ratios.py": RATIOS})
    git(root, "init", "-q")
    before = tree(root)
    asked: list[str] = []

    def chat(handler: Handler, request: dict[str, Any], _number: int) -> None:
        (name,) = _FUNCTION.findall(str(request["messages"][-1]["content"]))
        asked.append(name)
        code = CODES[asked.count(name) - 1]
        send_json(handler, answer(("try_calls", {"function": name, "code": code})))

    environ = {"VIRTUAL_ENV": str(plain_python.python.parent.parent), "REMORA_MODEL__SAMPLES": "3"}
    user = replace(poor, environ=environ)
    with openai_server(chat) as server:
        done = user.start("analyze", "-o", "test", "--model", server.address, "--json", cwd=root)
        out, err = done.communicate(timeout=250)
    assert done.returncode == 0, err
    (job,) = json.loads(out)["jobs"]
    assert asked.count("ratio") == len(CODES)
    assert (job["status"], job["error"]) == ("submitted", None)
    assert tree(root) == before
    written = user("diff", "last", cwd=root).out
    assert 'doubled("ab") == "abab"' in written
    assert "ratio(" not in written
    shown = user("trace", "show", "ratios.py", cwd=root).out
    assert "the code is not Python: invalid syntax" in shown
    assert "context_update  trials: 3 tried, 0 kept" in shown
    verified = user("trace", "verify", "--all", cwd=root)
    assert verified.code == 0, verified.out
