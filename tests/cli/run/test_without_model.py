"""Runs without a model: where rules cannot decide, a job ends as `no change` with a reason."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, new_repository, write

QUIET = '''"""Adds one."""


class Codec:
    """Encodes."""

    def encode(self, data, errors="strict"):
        return self.table(data, errors)


def scaled(value, factor):
    """Scale a value.

    Args:
        value: the value.
        scale: the factor.
        unit: its unit.
    """
    return value * factor


def unknown(thing):
    """Ask a thing."""
    try:
        return thing.answer()
    except Exception:
        pass
'''
SETTINGS = '[tool.ruff.lint]\nselect = ["BLE001", "S110"]\n'
OWN = """name: own
operation: own
description: Waits for a model.
goal: Decide on {node_name}
node_types: [function]
needs: always
tools:
  - name: look
    script: look.pym
    description: Look.
verify: [parses]
"""
LOOK = '''"""Look."""

from remora.pym import Input

line: int = Input("line")
{"result": line, "summary": "", "knowledge_delta": {}, "outcome": "success"}
'''


@pytest.fixture
def quiet(tmp_path: Path) -> Path:
    files: dict[str, str | bytes] = {
        "src/quiet.py": QUIET,
        "pyproject.toml": SETTINGS,
        ".remora/agents/own/agent.yaml": OWN,
        ".remora/agents/own/look.pym": LOOK,
    }
    root = write(tmp_path / "quiet", files)
    return new_repository(root)


def test_a_job_that_rules_cannot_decide_changes_nothing(poor: Remora, quiet: Path) -> None:
    user = replace(poor, environ={**poor.environ, "REMORA_PYTHON": json.dumps(sys.executable)})
    done = user("analyze", "src", "-o", "own", "--json", cwd=quiet)
    assert done.code == 0, done.err
    found = done.document["jobs"]
    assert not [job["error"] for job in found if job["error"]]
    job = next(job for job in found if job["node_id"] == "node:src/quiet.py:unknown")
    assert (job["status"], job["stop_reason"]) == ("no_change", "no_change")
    reason = "rules alone cannot decide the next step, and there is no model to ask"
    assert reason in job["why"]
    assert "no change" in poor("show", "-v", cwd=quiet).out
    assert poor("trace", "verify", cwd=quiet).code == 0
