"""`analyze` with a hub: packets hold its facts."""

from pathlib import Path

from tests.cli.conftest import Remora, lint_project, write

READ = "node:src/settings.py:read"
MORE = {
    "src/app.py": "from src.settings import read\n\n\ndef main():\n    return read('x')\n",
    "tests/test_settings.py": (
        "from src.settings import read\n\n\ndef test_read():\n    assert read('') == ''\n"
    ),
    # exact: facts are waited for, however busy the machine
    "remora.yaml": "model: {exact: true}\n",
}


def test_packets_hold_callers_tests_and_freshness(poor: Remora, tmp_path: Path) -> None:
    root = lint_project(write(tmp_path / "project", MORE))
    user = Remora(poor.home, {**poor.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run")})
    assert user("hub", "start", cwd=root).code == 0
    user("hub", "index", cwd=root)  # what a hub has not looked at yet, it is busy with
    try:
        done = user("analyze", "src", "-o", "steps", "--node", "read", "--json", cwd=root)
    finally:
        user("hub", "stop", cwd=root)
    (job,) = done.document["jobs"]
    packet = user("trace", "packet", job["agent_id"], "--turn", "1", cwd=root).document
    facts = packet["hub_context"][READ]
    assert facts["callers"] == ["src/app.py:main", "tests/test_settings.py:test_read"]
    assert facts["tests"] == ["tests/test_settings.py::test_read"]
    assert "fresh" not in facts, "only what is not fresh is marked"
    assert packet["hub_freshness"][READ].startswith("20")
    assert user("trace", "verify", "--all", cwd=root).code == 0, "without the hub"
