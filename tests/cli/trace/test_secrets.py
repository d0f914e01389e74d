"""No secret that a run meets can be read in anything it leaves, or in anything it prints.

Excepted are the user's own code: exact contents in `objects/`, and what `diff` shows of it.
"""

import random
import string
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard

from tests.cli.conftest import Done, Remora, new_repository, step_agent, write
from tests.openai_server import answer, openai_server, send_json
from tests.trace.redact.planted import Planted, planted, readable

pytestmark = pytest.mark.slow

AGENT = """
name: spill
operation: spill
description: Says everything it can read.
goal: Look at {node_name}
node_types: [module]
needs: always
max_turns: 6
tools:
  - {name: spill, script: spill.pym, description: Read it all., grants: [read_text]}
  - {name: fail, script: fail.pym, description: Fail., grants: [read_text]}
  - {name: note, script: note.pym, description: Leave a note., grants: [read_text, write_new_file]}
candidates: {script: candidates.pym, grants: []}
verify: [parses]
"""
HEAD = """
from remora.pym import Input, external

@external
def read_text(path: str) -> str: ...
"""
SPILL = (
    HEAD
    + """
text = read_text("data/leaks.txt")
{
    "result": {"text": text, "lines": text.split("\\n")[:400], text[:60]: 1},
    "summary": text[:150],
    "knowledge_delta": {"first": text[:200], "rest": text.split("\\n")[7]},
    "outcome": "partial",
    "state_summary": text.split("\\n")[3],
    "excerpt": {"ref": "leaks", "path": "data/leaks.txt", "lines": [1, 40], "text": text[:4000]},
    "diagnostics": [{"message": line} for line in text.split("\\n")[20:30]],
}
"""
)
FAIL = HEAD + '\nraise ValueError("cannot use " + read_text("data/leaks.txt")[:300])\n'
NOTE = (
    HEAD
    + """
@external
def write_new_file(path: str, text: str) -> dict: ...

write_new_file("NOTES.py", "x = 1\\n")
{"result": read_text("src/keys.py"), "summary": "noted", "knowledge_delta": {}, "outcome": "success"}
"""
)
CANDIDATES = """
from remora.pym import Input

packet: dict = Input("packet")

names = ["spill", "fail", "note", "submit_result"]
action = {"tool": names[min(packet["turn"], 4) - 1], "args": {}, "reason": "next"}
{"result": None, "summary": "", "knowledge_delta": {}, "outcome": "success", "candidate_actions": [action]}
"""
OPERATIONS = ("-o", "spill", "-o", "steps")


@dataclass(frozen=True)
class Spilt:
    """A run over a project full of secrets, and everything that it printed so far."""

    remora: Remora
    root: Path
    secrets: list[Planted]
    said: list[Done]

    def __call__(self, *args: str) -> Done:
        done = self.remora(*args, cwd=self.root)
        self.said.append(done)
        return done

    def readable(self, text: bytes) -> list[str]:
        return [
            f"{secret.kind}: {secret.context[:80]}"
            for secret in self.secrets
            if any(part.encode() in text for part in readable(secret))
        ]


@pytest.fixture(scope="module")
def spilt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spilt]:
    with openai_server(
        lambda handler, *_: send_json(handler, answer(("submit_result", {})))
    ) as server:
        yield run_over_secrets(tmp_path_factory, server.address)


def run_over_secrets(tmp_path_factory: pytest.TempPathFactory, address: str) -> Spilt:
    folder = tmp_path_factory.mktemp("spilt")
    (folder / "home").mkdir()
    secrets = [*planted(7), *of_the_environment()]
    assert len(secrets) >= 290
    assert len({secret.kind for secret in secrets}) >= 19
    root = folder / "project"
    leaks = "\n".join(secret.context for secret in secrets).encode("utf-8", "backslashreplace")
    code = "".join(f"K{n} = {secret.context!r}\n" for n, secret in enumerate(secrets)) + (
        f"\n\ndef connect(path, token={secrets[0].context!r}):\n"
        f'    """Reads {secrets[-1].context}."""\n'
        "    import json\n\n    try:\n"
        f"        return open(path, {secrets[1].context!r}); x = 1\n"
        "    except:\n        return None\n"
    )
    write(
        root,
        {
            **step_agent(),
            "src/keys.py": code,
            "data/leaks.txt": leaks + b"\nordinary words" * 1500,
            "pyproject.toml": '[tool.ruff.lint]\nselect = ["E4", "E7", "F", "S107"]\n',
            ".remora/agents/spill/agent.yaml": AGENT,
            ".remora/agents/spill/spill.pym": SPILL,
            ".remora/agents/spill/fail.pym": FAIL,
            ".remora/agents/spill/note.pym": NOTE,
            ".remora/agents/spill/candidates.pym": CANDIDATES,
        },
    )
    new_repository(root)
    environ = {secret.kind: secret.value for secret in of_the_environment()}
    environ["REMORA_MODEL__BASE_URL"] = address
    spilt = Spilt(Remora(folder / "home", environ), root, secrets, [])
    done = spilt("analyze", ".", *OPERATIONS, "--max-turns", "6", "--yes", "--json")
    assert done.code in (0, 1), done.err
    assert {job["operation"] for job in done.document["jobs"]} == {"spill", "steps"}, done.out
    rejected = spilt("reject", "last", "--all", "--feedback", f"not with {secrets[0].context}")
    assert "tries again with this feedback" in rejected.err
    return spilt


def of_the_environment() -> list[Planted]:
    """What only the name of a variable tells to be secret."""
    pick = random.Random(3)
    found = []
    for name in ("DB_PASSWORD", "SHOP_API_KEY", "DEPLOY_TOKEN", "SIGNING_SECRET", "FTP_PASSWD"):
        for number in range(4):
            value = "".join(pick.choices(string.ascii_letters + string.digits + "!%+", k=14))
            wrap = ("{}", "a {} b", "x={};", "[{}]")[number]
            found.append(Planted(f"{name}_{number}", value, wrap.format(value)))
    return found


def records(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below `.agentfs`, whatever is packed unpacked; without the user's own code."""
    for path in sorted((root / ".agentfs").rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not name.startswith(".agentfs/objects/"):
            content = path.read_bytes()
            yield name, content
            if content.startswith(zstandard.MAGIC_NUMBER.to_bytes(4, "little")):
                unpacker = zstandard.ZstdDecompressor().stream_reader(
                    content, read_across_frames=True
                )
                yield f"{name} (unpacked)", unpacker.read()


def test_the_run_met_every_secret(spilt: Spilt) -> None:
    # a check of the test: without redaction each would stand in what the tools gave back
    met = (spilt.root / "data/leaks.txt").read_bytes()
    assert len(spilt.readable(met)) == len(spilt.secrets)
    unpacked = b"".join(content for _, content in records(spilt.root))
    assert unpacked.count(b"<secret:") > len(spilt.secrets)
    blobs = list((spilt.root / ".agentfs/blobs").rglob("*"))
    assert any(path.is_file() for path in blobs)


def test_no_stored_file_contains_a_secret(spilt: Spilt) -> None:
    spilt("trace", "list", "--json")
    assert {
        name: found for name, content in records(spilt.root) if (found := spilt.readable(content))
    } == {}


EXPORTS = ("jsonl", "otel", "sft", "functiongemma")
LOOKS = (
    *("runs", "show last", "show last -v", "trace list -v", "trace verify"),
    *(f"trace export --all --format {name}" for name in EXPORTS),
)


def test_no_output_contains_a_secret(spilt: Spilt) -> None:
    for line in LOOKS:
        done = spilt(*line.split())
        # a format for training has no rows where no model decided, and says so
        said = done.out + (done.err if "sft" in line or "gemma" in line else "")
        assert (done.code in (0, 1), bool(said.strip())) == (True, True), (line, done.err)
    streams = spilt("trace", "list", "--json").document["streams"]
    assert len(streams) >= 2
    for stream in streams:
        agent = stream["agent_id"]
        spilt("trace", "show", agent)
        spilt("trace", "transcript", agent)
        for turn in range(1, stream["turns"] + 1):
            spilt("trace", "show", agent, "--turn", str(turn))
            spilt("trace", "packet", agent, "--turn", str(turn))
    printed = "".join(done.out + done.err for done in spilt.said)
    assert "<secret:" in printed
    assert spilt.readable(printed.encode("utf-8", "surrogatepass")) == []


def test_what_was_recorded_can_be_proved(spilt: Spilt) -> None:
    done = spilt("trace", "verify", "--json")
    assert done.document["ok"], done.document
