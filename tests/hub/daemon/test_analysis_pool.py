"""Large files are read in a process of their own, with the same result."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from remora.code.file_analysis import read_facts
from remora.code.file_facts import FileFacts
from remora.hub.daemon import analysis_pool
from remora.hub.daemon.analysis_pool import AnalysisPool
from remora.hub.daemon.child_process import frame_message
from remora.hub.process.spawn import environment
from tests.hub.daemon.hub_process import is_gone, wait_until

ENVIRONMENT = environment(os.environ)
PARENT = """
import asyncio, os, sys
from remora.hub.daemon.analysis_pool import AnalysisPool
async def main():
    child = AnalysisPool({})
    work = asyncio.create_task(child.analyze("a.py", b"x = [" + b"[1, 2], " * 3_000_000 + b"]"))
    while child.pid is None:
        await asyncio.sleep(0.01)
    print(child.pid, flush=True)
    await work
asyncio.run(main())
"""


def analyzed(*files: tuple[str, bytes]) -> list[FileFacts]:
    """The facts of files that are sent to one pool together."""

    async def work() -> list[FileFacts]:
        child = AnalysisPool(ENVIRONMENT)
        try:
            return await asyncio.gather(*(child.analyze(*file) for file in files))
        finally:
            await child.close()

    return asyncio.run(work())


def same(one: FileFacts, other: FileFacts) -> bool:
    """As they are stored."""
    return msgspec.msgpack.encode(one) == msgspec.msgpack.encode(other)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.py", b"def f(x: int) -> str:\n    return g(x)\n" * 50),
        ("b\udcff%.py", b"class A:\n    def m(self): pass\n"),
        ("c.py", b"def broken(:\n"),
        ("d.py", b"\xff\x00"),
        ("e.py", b""),
    ],
)
def test_the_facts_are_those_that_would_be_found_here(path: str, source: bytes) -> None:
    (found,) = analyzed((path, source))
    assert same(found, read_facts(path, source))


def test_a_child_that_dies_costs_its_file_only() -> None:
    async def asked() -> None:
        child = AnalysisPool(ENVIRONMENT)
        try:
            await child.analyze("a.py", b"x = 1\n")
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)
            lost = await child.analyze("b.py", b"y = 1\n")
            assert lost.partial or same(lost, read_facts("b.py", b"y = 1\n"))
            assert same(await child.analyze("c.py", b"z = 1\n"), read_facts("c.py", b"z = 1\n"))
        finally:
            await child.close()

    asyncio.run(asked())


def test_a_file_that_takes_too_long_is_partial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis_pool, "LIMIT_S", 0.01)

    (facts,) = analyzed(("a.py", b"x = 1\n" * 100_000))
    assert (facts.partial, facts.nodes, bool(facts.detail)) == (True, (), True)


def test_analysis_pool_ends_with_its_parent_even_in_the_middle_of_a_file() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
    finally:
        parent.kill()
        parent.communicate()
    wait_until(lambda: is_gone(child))


def test_nothing_of_the_folder_or_the_environment_is_imported(tmp_path: Path) -> None:
    for name in ("remora.py", "json.py", "sitecustomize.py", "usercustomize.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    hostile = environment({**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONSTARTUP": "json.py"})
    assert not [name for name in hostile if name.startswith("PYTHON")]
    code = f"""
import asyncio, os
from remora.hub.daemon.analysis_pool import AnalysisPool
os.chdir({str(tmp_path)!r})
async def main():
    child = AnalysisPool({hostile!r})
    await child.analyze("a.py", b"x = 1")
    await child.close()
asyncio.run(main())
"""
    subprocess.run([sys.executable, "-P", "-c", code], check=True, timeout=50)
    assert not (tmp_path / "run").exists()


def test_child_processes_get_no_keys() -> None:
    keys = dict.fromkeys(("REMORA_API_KEY", "REMORA_ESCALATION_API_KEY", "OPENAI_API_KEY"), "k")
    assert environment({**keys, "REMORA_HUB__MEMORY": "1"}) == {"REMORA_HUB__MEMORY": "1"}


@pytest.mark.slow
def test_the_system_ends_a_child_whose_file_takes_too_long() -> None:
    program = "from remora.hub.daemon import analysis_child as child; child.CPU_S = 1; child.main()"
    done = subprocess.run(
        [sys.executable, "-c", program, str(1 << 31)],
        input=frame_message(msgspec.msgpack.encode((b"a.py", b"if a:\n ((\n" * 80_000))),
        stdout=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (-signal.SIGXCPU, b"")


@pytest.mark.slow
def test_a_file_that_needs_too_much_memory_is_partial_and_the_next_is_read() -> None:
    large, small = analyzed(("a.py", b"a;" * 500_000), ("b.py", b"def f(): pass\n"))
    assert "memory" in large.detail
    assert same(small, read_facts("b.py", b"def f(): pass\n"))
