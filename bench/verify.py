"""Verification of a stream, against parsing and writing each line."""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import median

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from remora.chat import Message, ToolSchema
from remora.memory.budget import fit
from remora.memory.canonical import canonical_sha256
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta, candidate
from remora.memory.events import (
    AgentStart,
    ContextUpdate,
    ModelRequest,
    ModelResponse,
    Payload,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.memory.prompt.render import render
from remora.trace.content.line_format import iter_lines
from remora.trace.read.reader import open_stream
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.chain_check import ChainCheck
from remora.trace.verify.content_check import ContentStores
from remora.trace.verify.stream_check import VerifyTarget, verify_stream
from remora.trace.verify.verify_report import Problems
from tests.stream_writer import open_emitter

TURNS = 2_000
ROUNDS = 3
LIMIT = 2_400
"""Characters of a request: about the 600 tokens that the embedded model is given."""
AGENT = "lint-0123456789ab"
NODE = "node:src/shop/cart.py:Cart.total"
TOOLS = (ToolSchema(name="apply_fix", parameters={"properties": {"line": {"type": "integer"}}}),)


def main() -> dict[str, float]:
    """Return MB per CPU second: the chain alone, everything, and the baseline."""
    with tempfile.TemporaryDirectory() as place:
        path = _stream(Path(place))
        megabytes = path.stat().st_size / 1e6
        works = {"baseline": _parsed_and_written, "chain": _chain, "all": _all}
        spent: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(ROUNDS):
            for name, work in works.items():
                spent[name].append(_seconds(partial(work, path)))
        rates = {name: megabytes / median(seconds) for name, seconds in spent.items()}
    chain, whole = rates["chain"] / rates["baseline"], rates["all"] / rates["baseline"]
    print(f"stream of {TURNS:,} turns                {megabytes:6.0f} MB")
    print(f"json.loads + dumps + sha256, a line  {rates['baseline']:6.0f} MB/s")
    print(
        f"verify, the chain                    {rates['chain']:6.0f} MB/s   {chain:5.2f} x (aim >= 300, or 3 x)"
    )
    print(f"verify, with packets and prompts     {rates['all']:6.0f} MB/s   {whole:5.2f} x")
    return {
        "verify_chain_mb_per_second": rates["chain"],
        "verify_chain_over_reserialise": chain,
        "verify_all_mb_per_second": rates["all"],
    }


def _seconds(work: Callable[[], object]) -> float:
    """Return CPU seconds of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _parsed_and_written(path: Path) -> None:
    previous = "0" * 64
    with path.open("rb") as file:
        for line in file:
            event = json.loads(line)
            stated = event.pop("hash")
            text = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
            previous = sha256((previous + text[:-1]).encode()).hexdigest()
            if previous != stated:
                raise SystemExit("the baseline does not agree with the chain")


def _chain(path: Path) -> None:
    found = Problems()
    check = ChainCheck(found)
    with open_stream(path) as source:
        for line in iter_lines(source):
            check.see(line)
    if found.all():
        raise SystemExit(str(found.all()[0]))


def _all(path: Path) -> None:
    folder = TraceFolder(path.parents[2])
    report = verify_stream(VerifyTarget(path=path, stores=ContentStores(folder)))
    if not report.ok:
        raise SystemExit(str(report.problems[0]))


def _stream(place: Path) -> Path:
    """Write the stream of an agent that asks a model each turn."""
    folder = TraceFolder(place)
    folder.create()
    memory = ContextManager({"goal": "Fix lint findings", "node_id": NODE})
    path = folder.agent_stream(AGENT)
    identity = Identity("20261120-090000-abcdef", AGENT, "lint", NODE)
    with open_emitter(path, identity, blobs=folder.blobs, durability="none") as writer:
        start = AgentStart(packet=memory.packet, tools=TOOLS, renderer="lines/2")
        writer.emit(start, turn=0)
        for turn in range(1, TURNS + 1):
            for payload, delta in _turn(memory, turn):
                writer.emit(payload, turn=turn, delta=delta)
    return path


def _turn(memory: ContextManager, turn: int) -> Iterator[tuple[Payload, PacketDelta | None]]:
    """Write one turn; each event's delta is applied before the next event, as in a run."""

    def said(
        payload: Payload, delta: PacketDelta | None = None
    ) -> tuple[Payload, PacketDelta | None]:
        memory.packet = apply(memory.packet, delta)
        return payload, delta

    offered = tuple(candidate("apply_fix", {"line": turn % 400 + n}, "F401") for n in range(3))
    yield said(TurnStart(), PacketDelta(turn=turn))
    facts = {f"{NODE}{turn % 7}": {"signature": "def total(self) -> int"}}
    yield said(ContextUpdate(source="hub", value=facts), PacketDelta(hub_context=facts))
    yield said(ContextUpdate(source="candidates"), PacketDelta(candidate_actions=offered))
    fitted = fit(memory.packet, LIMIT, _size)
    digest = canonical_sha256(fitted.packet)
    yield said(
        ModelRequest(
            messages=[msgspec.to_builtins(message) for message in _rendered(fitted.packet)],
            renderer="lines/2",
            decoding={"strategy": "grammar"},
            packet_sha256=digest,
            trim=fitted.trim,
        )
    )
    yield said(ModelResponse(text='{"tool":"apply_fix","args":{}}'))
    yield said(
        ToolCalled(tool="apply_fix", args=offered[0].args, packet_sha256=digest, trim=fitted.trim)
    )
    yield said(*_result(memory, turn))


def _result(memory: ContextManager, turn: int) -> tuple[ToolResulted, PacketDelta]:
    finding = {"code": "E722", "message": "a bare except", "path": "src/shop/cart.py"}
    output = {"findings": [{**finding, "line": turn % 400 + n} for n in range(12)]}
    payload = ToolResulted(tool=f"look_{turn % 90}", args={"line": turn % 400}, raw_output=output)
    return payload, memory.delta_for(msgspec.structs.asdict(payload))


def _rendered(packet: DecisionPacket) -> tuple[Message, ...]:
    return render("lines/2", packet, TOOLS, "grammar").messages or ()


def _size(packet: DecisionPacket) -> int:
    return sum(len(message.content) for message in _rendered(packet))


if __name__ == "__main__":
    main()
