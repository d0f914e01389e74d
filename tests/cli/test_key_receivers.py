"""A key goes only to an address that its owner set: recorded by real servers on loopback."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Remora, write
from tests.openai_server import Server

KEY = "key-of-the-environment-1"
FILE_KEY = "key-of-the-users-file-2"
PATIENCE = {"REMORA_MODEL__RETRIES": "0", "REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "20000"}


def of_project(project: Path, listener: Server) -> None:
    write(project, {"remora.yaml": f"model: {{base_url: '{listener.address}'}}\n"})


def agreed(user: Remora, listener: Server, environ: Mapping[str, str]) -> Remora:
    """Return a user who has agreed to the address of a project."""
    allowed = {"REMORA_MODEL__ALLOW_ADDRESSES": f"[{listener.address}]"}
    return Remora(user.home, {**allowed, **environ})


def of_user(user: Remora, text: str) -> None:
    write(user.home / "config" / "remora", {"config.yaml": text})


def test_a_projects_address_gets_no_key(poor: Remora, project: Path, listener: Server) -> None:
    of_project(project, listener)
    of_user(poor, f"model: {{api_key: {FILE_KEY}}}")
    keyed = agreed(poor, listener, {**PATIENCE, "REMORA_API_KEY": KEY, "OPENAI_API_KEY": KEY})
    for words in ("doctor", "model status", "analyze -o steps --node read"):
        listener.keys.clear()
        done = keyed(*words.split(), "--json", cwd=project)
        assert done.code in (0, 1, 3), done.err
        assert listener.keys
        assert set(listener.keys) == {None}
        assert KEY not in done.out + done.err


def test_one_line_explains_why_the_key_is_not_sent(
    poor: Remora, project: Path, listener: Server
) -> None:
    of_project(project, listener)
    words = ("model", "status")
    with_key = agreed(poor, listener, {"OPENAI_API_KEY": KEY})(*words, cwd=project)
    (line,) = [line for line in with_key.out.splitlines() if "not sent" in line]
    assert "the project sets model.base_url" in line
    assert "not sent" not in agreed(poor, listener, {})(*words, cwd=project).out


@pytest.mark.slow
def test_runs_that_are_continued_send_no_key_either(
    poor: Remora, project: Path, listener: Server
) -> None:
    keyed = agreed(poor, listener, {**PATIENCE, "REMORA_API_KEY": KEY})
    by_flag = keyed(
        "analyze",
        "-o",
        "steps",
        "--node",
        "read",
        "--model",
        listener.address,
        "--json",
        cwd=project,
    )
    (job,) = by_flag.document["jobs"]
    assert set(listener.keys) == {f"Bearer {KEY}"}, "the flag is the key owner's"
    listener.keys.clear()
    of_project(project, listener)
    forked = keyed("trace", "fork", job["agent_id"], "--json", "--turn", "1", cwd=project)
    assert forked.code == 0, forked.err
    resumed = keyed("analyze", "--resume", "last", "--json", cwd=project)
    assert "jobs" in resumed.document, resumed.err
    count = len(listener.keys)
    assert count
    keyed("retry", "last", "read", "--json", cwd=project)
    assert len(listener.keys) > count
    assert set(listener.keys) == {None}
    listener.keys.clear()
    keyed("retry", "last", "read", "--model", listener.address, "--json", cwd=project)
    assert set(listener.keys) == {f"Bearer {KEY}"}


@pytest.mark.parametrize(
    ("user", "environ", "expected"),
    [
        (f"base_url: URL, api_key: {FILE_KEY}", {"OPENAI_API_KEY": KEY}, KEY),
        (f"api_key: {FILE_KEY}", {"REMORA_MODEL__BASE_URL": "URL"}, None),
    ],
    ids=["both", "only the file"],
)
def test_an_address_of_the_user_gets_the_key_of_its_layer(
    poor: Remora,
    project: Path,
    listener: Server,
    user: str,
    environ: dict[str, str],
    expected: str | None,
) -> None:
    of_user(poor, "model: {" + user.replace("URL", f"'{listener.address}'") + "}")
    placed = {name: value.replace("URL", listener.address) for name, value in environ.items()}
    done = Remora(poor.home, placed)("model", "status", "--json", cwd=project)
    assert json.loads(done.out)["base_url"] == listener.address
    assert set(listener.keys) == {expected and f"Bearer {expected}"}
