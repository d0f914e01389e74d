"""Records golden streams: `python -m tests.golden.record OUT`."""

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from remora.agents.definition.agent import load_agent
from remora.models.protocol import Request
from remora.runs.execution.run import RunRequest
from remora.testing import golden_packets
from remora.trace.read.reader import read_events
from remora.usecases.review.verdicts import accept, reject
from tests.agents.conftest import Play, Played, Theatre
from tests.agents.every_script import everything
from tests.offered_calls import offered
from tests.runs.conftest import CHOICE, RULES, UNUSED, Desk, ticking
from tests.scripted_model import ScriptedModel
from tests.step_lint.operations import OPERATIONS, STEP_LINT

ODD = """
    name: own
    operation: own
    goal: Try everything on {node_name}
    tools:
      - {name: act, script: act.pym, description: Does as the turn says.}
    context: [look.pym]
    packet_extension: {type: object, properties: {mood: {type: string}}}
    max_turns: 12
    """
LOOK = """
    {"result": [1, 2], "summary": "", "outcome": "success", "state_summary": "fresh",
     "knowledge_delta": {"é": "ü", "z": [1, {"deep": None}], "a": 1.5}, "extensions": {"mood": "ok"}}
    """
ACT = """
    from remora.pym import Input
    packet: dict = Input("packet")
    how: str = Input("how")
    if how == "raise":
        raise ValueError("as the turn says")
    if how == "break":
        report = {"result": 1, "summary": 2, "outcome": "success"}
    elif how == "mood":
        report = {"result": 1, "summary": "bad mood", "outcome": "partial", "extensions": {"mood": 7}}
    elif how == "plain":
        report = [{"path": "a.py", "line": n, "text": "x" * 40} for n in range(12)]
    else:
        report = {"result": how, "summary": "same as ever", "outcome": "success",
                  "diagnostics": [f"finding {n}: é" for n in range(25)],
                  "excerpt": {"ref": "act", "path": "mod.py", "lines": [1, 9],
                              "text": "\\n".join([f"line {n}" for n in range(9)])}}
    report
    """


class Facts:
    """A hub that knows one node."""

    async def get_context(self, keys: list[str]) -> Mapping[str, Any]:
        facts = {"signature": "def f()", "callers": [], "last_updated": "2026-01-02T03:04:05Z"}
        return dict.fromkeys(keys, facts)


def call(tool: str, **args: Any) -> str:
    return json.dumps({"tool": tool, "args": args}, separators=(",", ":"))


def odd(theatre: Theatre, **more: Any) -> Played:
    """Errors, bad calls, facts, extensions, repeats, an excerpt, a recall."""
    agent = theatre.agent(ODD, look=LOOK, act=ACT)
    answers = [
        "this is no call", call("act", how="raise"), call("nope"), call("act", how="break"),
        call("act", how="break"), call("act", how="mood"), call("act", how="plain"),
        call("act", how="x"), call("recall", ref="turn:7", lines=[2, 4]),
        call("recall", ref="turn:99", lines=[1, 1]), call("submit_result", summary="that is all"),
    ]  # fmt: skip
    return theatre.play(Play(agent=agent, answers=answers, facts=Facts(), **more))


def functiongemma(theatre: Theatre) -> Played:
    agent = theatre.agent(ODD, look=LOOK, act=ACT)
    answers = [
        "<start_function_call>call:act{how:<escape>x<escape>}<end_function_call>",
        "I do not know.",
        "<start_function_call>call:recall{lines:[1,2],ref:<escape>turn:1<escape>}"
        "<end_function_call>",
        "<start_function_call>call:submit_result{}<end_function_call>",
    ]
    return theatre.play(
        Play(agent=agent, answers=answers, strategy="completion", renderer="functiongemma/3")
    )


def second(request: Request) -> str:
    """The second candidate, or the only one."""
    return offered(request)[:2][-1]


def record_run(desk: Desk) -> str:
    """A lint run with choices and verdicts."""
    files = {"a%b.py": UNUSED, "b.py": CHOICE, "ruff.toml": RULES}
    desk.write({**files, "remora.yaml": "gates: {time_s: 0}"})  # their notes name a folder
    run_id = desk.analyze(
        second, request=RunRequest(concurrency=1, seed=7), run_id="golden-1", clock=ticking()
    )
    accept(run_id, "a%25b.py:load", root=desk.project)
    reject(run_id, "a%25b.py:__module__", root=desk.project, feedback="not now")
    return run_id


def keep(out: Path, name: str, stream: Path) -> None:
    """The stream, and for an agent's the packets that it stands for."""
    shutil.copy(stream, out / f"{name}.jsonl")
    events = list(read_events(stream))
    if not events[0].agent_id:
        return
    head = {"count": len(events), "hash": events[-1].hash}
    expected = {**golden_packets(events), "head": head}
    text = json.dumps(expected, indent=1, ensure_ascii=False)
    (out / f"{name}.packets.json").write_text(text + "\n")


def keep_contents(out: Path, folders: Iterable[Path]) -> None:
    for folder in folders:
        shutil.copytree(folder, out / folder.name, dirs_exist_ok=True)


def main(out: Path) -> None:
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as loop:
        desk = Desk(Path(folder) / "desk")
        run_id = record_run(desk)
        trace = desk.project.trace
        keep(out, "run", trace.run_stream(run_id))
        for number, job in enumerate(desk.view(run_id).jobs):
            keep(out, f"lint-{number}", trace.agent_stream(job.agent_id))
        keep_contents(out, [trace.objects.folder])
        theatre = Theatre(Path(folder), loop)
        lint = load_agent(STEP_LINT.folder, OPERATIONS, builtin=True)
        written = Play(
            agent=lint,
            source=CHOICE,
            node="guarded",
            files={"ruff.toml": RULES},
            strategy="grammar",
            renderer="history/1",
            model=ScriptedModel([call("read_code"), *["no call"] * 3]),
        )
        plays = {
            "errors": odd(theatre, limit=1150),
            "json": odd(theatre, renderer="json/1", limit=1600),
            "functiongemma": functiongemma(theatre),
            "history": theatre.play(written),
            "scripts": everything(theatre, long=False),
        }
        for name, played in plays.items():
            (stream,) = played.folder.agent_streams()
            keep(out, name, stream)
            keep_contents(out, [played.folder.objects.folder])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
