"""An agent that names a model asks that one, on the configured server."""

import asyncio
from pathlib import Path

from remora.bootstrap.invocation import Invocation
from remora.runs.execution.run import NoObserver, RunRequest
from remora.runs.records.results import read_run
from remora.trace.read.reader import read_events
from remora.trace.stream.line_builder import utc_now
from remora.usecases.analyze.prepare_run import prepare
from remora.usecases.analyze.session import execute_plan
from tests.scripted_model import ScriptedModel

AGENT = """\
name: wordy
operation: wordy
goal: Look at {node_name}
node_types: [function]
tools: []
model: larger
"""


def test_each_operation_asks_its_own_model(tmp_path: Path) -> None:
    root = tmp_path / "project"
    folder = root / ".remora" / "agents" / "wordy"
    folder.mkdir(parents=True)
    (folder / "agent.yaml").write_text(AGENT)
    (root / "a.py").write_text("def f(a):\n    return a\n")
    caller = Invocation(environ={"HOME": str(tmp_path)}, folder=root, root=root)
    request = RunRequest(operations=("wordy",))
    prepared = prepare(caller, request)
    configured = ScriptedModel([], name="small")
    larger = ScriptedModel(['{"tool":"submit_result","args":{}}'], name="larger")
    own = {"larger": larger}
    asyncio.run(execute_plan(prepared, configured, NoObserver(), utc_now, own))
    prepared.close()
    assert (len(configured.requests), len(larger.requests)) == (0, 1)
    job = read_run(prepared.project, prepared.run_id).jobs[0]
    assert job.status == "no_change"
    first = next(read_events(prepared.project.trace.agent_stream(job.agent_id)))
    assert b'"name":"larger"' in bytes(first.data)
