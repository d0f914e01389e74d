"""Peak memory to list, verify and show a stream of 1 GB, plain and compressed."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from remora.memory.events import AgentStart, ToolResulted
from remora.memory.packet import DecisionPacket
from remora.trace.content.line_format import HASH_SUFFIX_SIZE, line_hash, line_with_hash
from remora.trace.stream.compression import compress_stream
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from tests.stream_writer import open_emitter

SIZE = 1_000_000_000
MOST_MB = 200
AGENT, RUN = "lint-0123456789ab", "20260101-000000-abcdef"
COMMANDS = (("list",), ("verify", AGENT), ("show", AGENT))
_CHILD = """
import atexit, sys
def told():
    status = open("/proc/self/status").read()
    print("peak", status.split("VmHWM:")[1].split()[0], file=sys.stderr)
atexit.register(told)
from remora.cli.main import main
sys.argv[0] = "remora"
main()
"""


def main() -> dict[str, float]:
    """Return peak resident memory in MB of each command over each kind of stream."""
    found: dict[str, float] = {}
    for kind, size in (("3 KB lines", 3_000), ("60 MB lines", 60_000_000)):
        with tempfile.TemporaryDirectory() as root:
            path = _stream(Path(root), size)
            _measure(found, kind, Path(root))
            before = path.stat().st_size
            start = time.perf_counter()
            after = compress_stream(path)
            seconds = time.perf_counter() - start
            print(
                f"compressing: {before / 1e6:,.0f} MB in {seconds:.1f} s, to {after / before:.1%}"
            )
            _measure(found, f"{kind}, compressed", Path(root))
    worst = max(found, key=lambda name: found[name])
    print(f"maximum: {found[worst]:.0f} MB ({worst})   (aim < {MOST_MB})")
    return {"worst_mb": found[worst]}


def _measure(found: dict[str, float], kind: str, root: Path) -> None:
    for words in COMMANDS:
        command = [sys.executable, "-c", _CHILD, "--root", str(root), "trace", *words]
        start = time.perf_counter()
        done = subprocess.run(
            command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        seconds = time.perf_counter() - start
        told = done.stderr.split()
        peak = int(told[-1]) * 1024 / 1e6
        name = f"{' '.join(words).replace(AGENT, 'AGENT')}, {kind}"
        found[name] = peak
        failed = "" if done.returncode == 0 else f"   exit {done.returncode}: {done.stderr[:200]}"
        print(f"{name:45} {peak:6.0f} MB {seconds:6.1f} s{failed}", flush=True)


def _stream(root: Path, line: int) -> Path:
    folder = TraceFolder(root)
    folder.create()
    path = folder.agent_stream(AGENT)
    identity = Identity(RUN, AGENT, "lint", "node:shop/orders.py:total")
    with open_emitter(path, identity, blobs=folder.blobs, durability="none") as writer:
        writer.emit(AgentStart(packet=DecisionPacket(), renderer="lines/2"), turn=0)
        row = ToolResulted(tool="run_linter", raw_output=["src/shop/cart.py:1 F401 "])
        writer.emit(row, turn=1)
        head = writer.head
    with path.open("rb") as file:
        pattern = file.read().splitlines()[1][:-HASH_SUFFIX_SIZE]
    with path.open("ab") as file:
        previous = head.hash
        for body in _bodies(pattern, line, head.count):
            previous = line_hash(previous, body)
            file.write(line_with_hash(body, previous))
    return path


def _bodies(pattern: bytes, line: int, first: int) -> Iterator[bytes]:
    start, _, rest = pattern.partition(b'"src/shop/cart.py:1 F401 "')
    rows = line // 34
    for seq in range(first, first + SIZE // line):
        row = b",".join(b'"src/shop/cart.py:%d F401 %d"' % (n, seq) for n in range(rows))
        begun = start.replace(b'"seq":1', b'"seq":%d' % seq).replace(
            b'"turn":1', b'"turn":%d' % seq
        )
        yield begun + row + rest


if __name__ == "__main__":
    main()
