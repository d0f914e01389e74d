"""Tokens of the questions of a run: evaluated by the server, and beside the raw history.

All operations work on the example project without its docstrings. A llama.cpp server with the
embedded model's weights answers; the tokens that it evaluated are its own count.
"""

import ast
import asyncio
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path

import msgspec

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import connect_model
from remora.bootstrap.operations import BUILT_IN
from remora.config.user_folders import UserFolders
from remora.memory.canonical import json_text
from remora.memory.events import (
    AgentError,
    ContextUpdate,
    Event,
    ModelRequest,
    ModelResponse,
    ToolCalled,
    ToolResulted,
    payload,
)
from remora.models.embedded import weights
from remora.models.embedded.known_models import DEFAULT
from remora.models.embedded.server_process import ServerOptions, ServerProcess, usable_cores
from remora.models.protocol import Model, TokenCounter
from remora.runs.execution.run import NoObserver, RunRequest
from remora.trace.read.blobs import whole_payload
from remora.trace.read.reader import read_events
from remora.trace.stream.line_builder import utc_now
from remora.trace.trace_folder import TraceFolder
from remora.usecases.analyze.prepare_run import prepare
from remora.usecases.analyze.session import connect_own_models, execute_plan

SHOP = Path(__file__).parent.parent / "examples" / "shop"
SLOTS, CONTEXT = 2, 4096
NAMES = tuple(each.name for each in BUILT_IN.all)


class Question(msgspec.Struct, frozen=True):
    """Tokens of a question, in the order in which the questions were asked.

    `own` are those of the packet, which is the last message. `evaluated` is the server's count.
    `history` are those of all that scripts and tools had returned before, `lines` those of the
    agent's whole stream.
    """

    asked: str
    operation: str
    own: int
    whole: int
    evaluated: int
    history: int
    lines: int


def main() -> dict[str, float]:
    """Run all operations, and return evaluated tokens and the size of the history as ratios."""
    cache = UserFolders.from_environ(os.environ).cache
    options = ServerOptions(
        weights=weights.require(Path(cache)),
        name=DEFAULT.name,
        context=CONTEXT,
        slots=SLOTS,
        threads=usable_cores(),
        cache_mib=256,
    )
    with closing(ServerProcess(options)) as process, tempfile.TemporaryDirectory() as folder:
        served = process.ensure_running()
        environ = {
            **os.environ,
            "REMORA_MODEL__BASE_URL": served.address,
            "REMORA_API_KEY": served.key,
            "REMORA_PYTHON": sys.executable,
            "REMORA_MODEL__TIMEOUT_S": "300",
        }
        root = without_docstrings(Path(folder) / "shop")
        questions = asyncio.run(_questions(Invocation(environ=environ, folder=root, root=root)))
    return _report(sorted(questions, key=lambda one: one.asked))


def without_docstrings(root: Path) -> Path:
    """Copy the example project without the docstrings of its functions, so that they are missing."""
    shutil.copytree(SHOP, root)
    for path in root.glob("src/**/*.py"):
        text = path.read_text("utf-8")
        lines = text.splitlines(keepends=True)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) and node.body[1:]:
                for number in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1):
                    lines[number - 1] = ""
        path.write_text("".join(lines), "utf-8")
    return root


async def _questions(caller: Invocation) -> list[Question]:
    request = RunRequest(operations=NAMES, yes=True)
    prepared = prepare(caller, request)
    try:
        model = connect_model(caller, prepared.project.config)
        own = connect_own_models(caller, prepared, model)
        try:
            await execute_plan(prepared, model, NoObserver(), utc_now, own)
            return list(await asyncio.to_thread(_recorded, prepared.project.trace, model))
        finally:
            for each in (model, *own.values()):
                await each.aclose()
    finally:
        prepared.close()


def _recorded(trace: TraceFolder, model: Model) -> Iterator[Question]:
    for path in trace.agent_streams():
        events = list(read_events(path))
        asked: tuple[int, Event, ModelRequest] | None = None
        for number, event in enumerate(events):
            if event.type == ModelRequest.type:
                asked = number, event, whole_payload(event, ModelRequest, trace.blobs)
            elif event.type == ModelResponse.type and asked is not None:
                answer = whole_payload(event, ModelResponse, trace.blobs)
                yield _question(events[: asked[0]], *asked[1:], answer, model.counter)
                asked = None


def _question(
    before: list[Event],
    event: Event,
    request: ModelRequest,
    answer: ModelResponse,
    counter: TokenCounter,
) -> Question:
    packet = request.prompt or ""
    if request.messages is not None:
        packet = str(request.messages[-1]["content"])
    returned = "\n".join(chain.from_iterable(_returned(one) for one in before))
    lines = b"\n".join(bytes(one.data) for one in before if not _is_question(one)).decode()
    return Question(
        asked=event.timestamp,
        operation=event.operation,
        own=counter.count_text(packet),
        whole=answer.usage.prompt_tokens or 0,
        evaluated=answer.usage.evaluated or 0,
        history=counter.count_text(returned),
        lines=counter.count_text(lines),
    )


def _is_question(event: Event) -> bool:
    return event.type in (ModelRequest.type, ModelResponse.type)


def _returned(event: Event) -> Iterator[str]:
    """Yield what a chat that keeps everything contains of an event."""
    data = payload(event)
    if isinstance(data, ContextUpdate):
        yield json_text(data.value)
    elif isinstance(data, ToolCalled | ToolResulted | AgentError):
        yield json_text(msgspec.json.decode(event.data))


def _report(questions: list[Question]) -> dict[str, float]:
    counts = {name: sum(one.operation == name for one in questions) for name in NAMES}
    print(f"{len(questions)} questions: {', '.join(f'{n} {each}' for each, n in counts.items())}")
    found: dict[str, float] = {}
    if questions[1:]:
        found |= _evaluated("asked", questions[1:])
    for operation in (*NAMES, "all"):
        some = [one for one in questions if operation in (one.operation, "all")]
        if some:
            found |= _beside_history(operation, some)
    return found


def _evaluated(name: str, some: list[Question]) -> Mapping[str, float]:
    share = evaluated_share(some)
    whole = sum(one.evaluated for one in some) / sum(one.whole for one in some)
    print(f"{name:24} {len(some):4} after the first: evaluated / packets {share:.2f} (aim <= 1.10)")
    print(f"{'':46} evaluated / whole requests {whole:.2f}")
    return {f"{name}: evaluated over packets": share}


def evaluated_share(some: list[Question]) -> float:
    """Return all tokens that the server evaluated, as a share of the packets' own tokens."""
    return sum(one.evaluated for one in some) / sum(one.own for one in some)


def _beside_history(operation: str, some: list[Question]) -> Mapping[str, float]:
    returned, lines = history_shares(some)
    tokens = statistics.median(one.whole for one in some)
    print(
        f"{operation:24} {len(some):4} questions, median {tokens:.0f} tokens: "
        f"{lines:.2f} of the stream (aim <= 0.20), {returned:.2f} of the values in it"
    )
    return {f"{operation}: question over values": returned, f"{operation}: over stream": lines}


def history_shares(some: list[Question]) -> tuple[float, float]:
    """Return the medians of a question's size over the values, and the lines, before it."""
    returned = statistics.median(one.whole / max(one.history, 1) for one in some)
    return returned, statistics.median(one.whole / max(one.lines, 1) for one in some)


if __name__ == "__main__":
    main()
