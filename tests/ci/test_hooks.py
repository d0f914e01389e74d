"""The hooks of the plug-in, in a host that follows the published contract of both agents.

A host gives a hook the event as JSON on standard input. Exit code 2 gives what the hook wrote to
standard error to the agent, which goes on; with any other code it has its way.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Remora, git, new_repository, user_without_weights, write

HOOKS = Path(__file__).parents[2] / "plugin/hooks"
SHOP = {
    "pyproject.toml": "[project]\nname = 'shop'\nversion = '1'\n",
    "shop.py": '"""A shop."""\n\n\ndef total(prices: list[int]) -> int:\n    """Return the sum."""\n'
    "    return sum(prices)\n",
    "test_shop.py": "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
}
CODE = '\n\ndef {0}(amount: int) -> int:\n    """Return {1}."""\n{2}    return amount * {3}\n'
GUARD = "    if amount < 0:\n        raise ValueError(amount)\n"
GOOD = "\n\ndef test_{0}():\n    assert {0}(2) == {1}\n    assert {0}(0) == 0\n"
GUARDED = "\n\ndef test_{0}_of_less():\n    try:\n        {0}(-1)\n    except ValueError:\n        return\n    assert False\n"
HOLLOW = (
    "\n\ndef test_{0}():\n    {0}(2)\n",
    "\n\ndef test_{0}():\n    assert {0}(2) == {0}(2)\n",
    "\n\ndef test_{0}():\n    result = {0}(2)\n    assert result is not None\n    assert True\n",
    "\n\ndef test_{0}():\n    try:\n        assert {0}(2) == 5\n    except AssertionError:\n        pass\n",
)


def commits() -> dict[str, tuple[str, str, str, str]]:
    """Each planted commit: code and tests as an agent left them, and both after it has obeyed."""
    found = {}
    for number, test in enumerate(HOLLOW):
        name, code = f"hollow{number}", CODE.format(f"hollow{number}", "it", "", 7)
        found[name] = (code, test.format(name), code, GOOD.format(name, 14))
    for name in ("guard0", "guard1"):
        code, test = CODE.format(name, "it", GUARD, 7), GOOD.format(name, 14)
        found[name] = (code, test, code, test + GUARDED.format(name))
    for name in ("stale0", "stale1"):
        test = GOOD.format(name, 14)
        stale = CODE.format(name, "it.\n\n    Args:\n        price: what it costs\n    ", "", 7)
        found[name] = (stale, test, stale.replace("price:", "amount:"), test)
    for name in ("good0", "good1"):
        code, test = CODE.format(name, "it", GUARD, 7), GOOD.format(name, 14) + GUARDED.format(name)
        found[name] = (code, test, code, test)
    return found


def hear(event: str, data: Mapping[str, Any], root: Path, user: Remora, config: str) -> str:
    """Return what the hook of an event tells the agent."""
    for group in json.loads((HOOKS / config).read_text())["hooks"][event]:
        if re.fullmatch(group.get("matcher", ".*"), str(data.get("tool_name", ""))):
            (hook,) = group["hooks"]
            done = subprocess.run(
                ["sh", "-c", hook["command"]],
                input=json.dumps({"hook_event_name": event, **data}),
                cwd=root,
                env=user.environment | {"CLAUDE_PLUGIN_ROOT": str(HOOKS.parent)},
                capture_output=True,
                text=True,
                timeout=hook["timeout"],
                check=False,
            )
            return done.stderr if done.returncode == 2 else ""
    return ""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_agent_that_obeys_ends_with_few_faults_and_loses_no_good_test(tmp_path: Path) -> None:
    user = user_without_weights(tmp_path / "home")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    poor = Remora(user.home, {**user.environ, "PATH": path, "VIRTUAL_ENV": sys.prefix})
    root = new_repository(write(tmp_path / "shop", SHOP))
    mended = list[str]()
    for name, (code, test, better, better_test) in commits().items():
        before = {path: (root / path).read_text() for path in ("shop.py", "test_shop.py")}
        head, rest = before["test_shop.py"].split("\n", 1)
        start = f"{head}, {name}\n{rest}"
        write(root, {"shop.py": before["shop.py"] + code, "test_shop.py": start + test})
        edit = {"tool_name": "Edit", "tool_input": {"file_path": str(root / "shop.py")}}
        said = hear("PostToolUse", edit, root, poor, "hooks.json")
        said += hear("Stop", {"stop_hook_active": False}, root, poor, "hooks.json")
        assert hear("Stop", {"stop_hook_active": True}, root, poor, "hooks.json") == ""
        if name in said:
            mended.append(name)
            write(root, {"shop.py": before["shop.py"] + better})
            write(root, {"test_shop.py": start + better_test})
        git(root, "commit", "-qam", name)
    faults = [name for name in commits() if not name.startswith("good")]
    assert not [name for name in mended if name not in faults], "good work is left alone"
    assert len(mended) >= 0.8 * len(faults), mended


@pytest.mark.parametrize("config", ["hooks.json", "codex.json"])
@pytest.mark.parametrize(
    ("event", "data", "code", "heard"),
    [
        ("PostToolUse", {"tool_name": "Edit", "tool_input": {"file_path": "a.py"}}, 1, True),
        ("PostToolUse", {"tool_name": "Edit", "tool_input": {"file_path": "a.md"}}, 1, False),
        ("PostToolUse", {"tool_name": "Edit", "tool_input": {"file_path": "b.py"}}, 1, False),
        ("PostToolUse", {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}, 1, False),
        ("PostToolUse", {"tool_name": "Write", "tool_input": {"file_path": "a.py"}}, 0, False),
        ("PostToolUse", {"tool_name": "Write", "tool_input": {"file_path": "a.py"}}, 3, False),
        ("Stop", {"stop_hook_active": False}, 1, True),
        ("Stop", {"stop_hook_active": True}, 1, False),
    ],
)
def test_only_remarks_come_back_to_the_agent(
    tmp_path: Path, config: str, event: str, data: dict[str, Any], code: int, *, heard: bool
) -> None:
    (tmp_path / ".codex").symlink_to(HOOKS)
    program = tmp_path / "remora"
    program.write_text(f"#!/bin/sh\necho a.py:1: a remark\nexit {code}\n")
    program.chmod(0o755)
    user = Remora(tmp_path, {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})
    assert ("a.py:1: a remark" in hear(event, data, tmp_path, user, config)) is heard
    ruff, flake8 = (f"a.py:9: gate {name}: F821 undefined" for name in ("ruff", "flake8"))
    rest = [f"a.py:{line}: no test notices" for line in range(25)]
    texts = [
        ruff,
        flake8,
        *rest,
        "a.py:8: impact: no longer fits",
        "a.py:7: gate pytest: t.py::a fails",
    ]
    (tmp_path / "all").write_text("\n".join([*texts, "29 remarks on 1 file\n"]))
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/all\nexit {code}\n")
    if said := hear(event, data, tmp_path, user, config).splitlines():
        assert said[1:5] == [texts[-1], texts[-2], ruff, rest[0]]
        assert (said[20], said[-1].partition(" more: `remora judge --s")[0]) == (rest[16], "8")
    off = Remora(tmp_path, {**user.environ, "REMORA_HOOKS": "off"})
    assert hear(event, data, tmp_path, off, config) == ""
