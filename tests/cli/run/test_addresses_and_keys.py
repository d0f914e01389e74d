"""A project's settings send no code to an address without consent, and no key to any.

Recorded by real servers on loopback.
"""

import json
import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import MODULE, SETTINGS, Remora, write
from tests.cli.review.terminal import Terminal
from tests.openai_server import Handler, Server, openai_server, send_json

ANALYZE = ("analyze", "-o", "steps", "--node", "read")
PATIENCE = {"REMORA_MODEL__RETRIES": "0", "REMORA_RUNNER__MEMORY__PACKET_SIZE_LIMIT": "20000"}
QUESTION = r"Send this project's code to \S+, now and later\? \[y/N\]: "


@pytest.fixture
def user(poor: Remora) -> Remora:
    return replace(poor, environ=PATIENCE)


@pytest.fixture
def project(project: Path) -> Path:
    """A project with a finding that rules leave to a model."""
    source = MODULE.replace('return ""', "raise ValueError")
    select = SETTINGS.replace('"F"', '"F", "B904"')
    return write(project, {"src/settings.py": source, "pyproject.toml": select})


UNREACHABLE = Server("http://127.0.0.1:9/v1", "m")


def choose(project: Path, listener: Server) -> str:
    write(project, {"remora.yaml": f"model: {{base_url: '{listener.address}'}}\n"})
    return listener.address


def answer(user: Remora, project: Path, key: str, *words: str) -> tuple[int, str]:
    """Run a command on a terminal, answer its question, and return its exit code and the question."""
    terminal = Terminal(user, project, *(words or ANALYZE), size=(40, 200))
    asked = terminal.sees(QUESTION)
    terminal.types(key)
    return terminal.ends()[0], asked


COMMANDS = [
    ANALYZE,
    (*ANALYZE, "--json-lines"),
    (*ANALYZE, "--model", "odd"),
    ("model", "status"),
    ("eval", "-o", "lint", "--arm", "rules", "--arm", "configured"),
]


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_without_consent_nothing_is_sent(
    user: Remora, project: Path, listener: Server, words: tuple[str, ...]
) -> None:
    address = choose(project, listener)
    done = user(*words, cwd=project)
    assert done.code == 2, done.err
    assert f"send its code to {address}, and you have not agreed" in " ".join(
        (done.out + done.err).split()
    )
    assert listener.keys == []
    assert not (project / ".agentfs").exists()


def test_doctor_reports_the_missing_consent(user: Remora, project: Path, listener: Server) -> None:
    choose(project, listener)
    done = user("doctor", "--json", cwd=project)
    assert done.code == 1
    checks = {each["name"]: each for each in done.document["checks"]}
    assert "you have not agreed" in checks["model"]["detail"]
    assert (checks["model"]["ok"], checks["config"]["ok"]) == (False, True)
    assert "tests" in checks
    assert listener.keys == []


@pytest.mark.slow
def test_a_retry_and_a_resumed_run_need_consent(
    user: Remora, project: Path, listener: Server
) -> None:
    begun = user(*ANALYZE, "--model", listener.address, "--json", cwd=project)
    (job,) = begun.document["jobs"]
    forked = user("trace", "fork", job["agent_id"], "--turn", "1", cwd=project)
    assert forked.code == 0, forked.err
    listener.keys.clear()
    choose(project, listener)
    for words in (
        ("analyze", "--resume", "last"),
        ("retry", "last", "read"),
        ("trace", "fork", job["agent_id"], "--turn", "1", "--continue"),
    ):
        done = user(*words, cwd=project)
        assert done.code == 2, (words, done.err)
        assert "you have not agreed" in done.err
    assert listener.keys == []


class TestCheck:
    def test_it_takes_no_server_from_the_project(
        self, user: Remora, project: Path, listener: Server
    ) -> None:
        text = f"{{enabled: true, base_url: '{listener.address}'}}"
        write(
            project,
            {"remora.yaml": f"model: {{base_url: '{listener.address}'}}\nescalation: {text}\n"},
        )
        done = user("check", "-o", "steps", cwd=project)
        assert done.code == 1, done.err
        assert listener.keys == []

    @pytest.mark.slow
    def test_it_takes_no_model_from_an_agent_of_the_project(
        self, user: Remora, project: Path, listener: Server
    ) -> None:
        file = project / ".remora/agents/steps/agent.yaml"
        file.write_text(file.read_text() + "model: another\n")
        listener.models = ["m", "another"]
        named = ("--model", listener.address)
        environ = {**PATIENCE, "REMORA_MODEL__NAME": "m"}
        refused = replace(user, environ=environ)(*ANALYZE, *named, cwd=project)
        assert (refused.code, f"{listener.address}#another" in refused.err) == (2, True)
        environ["REMORA_MODEL__ALLOW_ADDRESSES"] = f"{listener.address}#another"
        for words, asked in ((ANALYZE, "another"), (("check", "-o", "steps"), "m")):
            listener.requests.clear()
            replace(user, environ=environ)(*words, *named, cwd=project)
            assert {request["model"] for request in listener.requests} == {asked}

    @pytest.mark.slow
    def test_it_still_takes_the_users_server(
        self, user: Remora, project: Path, listener: Server
    ) -> None:
        choose(project, UNREACHABLE)
        named = replace(user, environ={**PATIENCE, "REMORA_MODEL": listener.address})
        assert named("check", "-o", "steps", cwd=project).code != 2
        assert listener.keys


class TestQuestion:
    def test_it_says_what_would_be_sent_and_where_and_is_asked_once(
        self, user: Remora, project: Path, listener: Server
    ) -> None:
        address = choose(project, listener)
        assert answer(user, project, "n")[0] == 2
        assert listener.keys == []
        assert not list((user.home / "state").rglob("agreed_addresses.json"))
        code, asked = answer(user, project, "y")
        assert code != 2
        words = " ".join(asked.split())
        assert f"project {project} choose where its source code" in words
        assert f"{address} (an address on this machine that the project names" in words
        assert "the model" not in words
        assert "without an API key" in words
        assert set(listener.keys) == {None}
        listener.keys.clear()
        assert user(*ANALYZE, cwd=project).code != 2
        assert listener.keys
        (file,) = (user.home / "state").rglob("agreed_addresses.json")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        shown = user("config", "show", "model.allow_addresses", "--json", cwd=project)
        (setting,) = shown.document["settings"]
        assert setting["value"] == [address]
        assert setting["from"] == f"your consent in {file}"

    def test_it_names_the_users_address_the_model_and_the_key(
        self, user: Remora, project: Path, listener: Server
    ) -> None:
        write(project, {"remora.yaml": "model: {name: big-cloud}\n"})
        mine = {"REMORA_MODEL": listener.address, "REMORA_API_KEY": "a-key-of-mine"}
        owner = replace(user, environ={**PATIENCE, **mine})
        code, asked = answer(owner, project, "n")
        words = " ".join(asked.split())
        assert "(an address of your own settings; the project names the model big-cloud" in words
        assert "with your API key" in words
        assert "on this machine" not in words
        assert (code, listener.keys) == (2, [])


@pytest.mark.slow
def test_a_flag_allows_an_address_for_one_command(
    user: Remora, project: Path, listener: Server
) -> None:
    address = choose(project, listener)
    assert user(*ANALYZE, "--allow-address", "http://127.0.0.1:9/v1", cwd=project).code == 2
    assert listener.keys == []
    keyed = replace(user, environ={**PATIENCE, "REMORA_API_KEY": "a-key-of-mine"})
    assert keyed(*ANALYZE, "--allow-address", address, cwd=project).code != 2
    assert set(listener.keys) == {None}, "an address of the project gets no key"
    listener.keys.clear()
    assert user(*ANALYZE, cwd=project).code == 2
    assert listener.keys == []


def test_a_server_cannot_send_the_code_on(user: Remora, project: Path, listener: Server) -> None:
    def redirects(handler: Handler, _request: object, _number: int) -> None:
        send_json(handler, {}, 307, {"Location": f"{listener.address}/chat/completions"})

    with openai_server(redirects) as server:
        choose(project, server)
        done = user(*ANALYZE, "--allow-address", server.address, cwd=project)
    assert done.code == 3, done.err
    assert server.requests
    assert listener.keys == []


KEY = "key-of-the-environment-1"
FILE_KEY = "key-of-the-users-file-2"


def agreed(user: Remora, listener: Server, environ: Mapping[str, str]) -> Remora:
    """Return a user who has agreed to the address of a project."""
    allowed = {"REMORA_MODEL__ALLOW_ADDRESSES": f"[{listener.address}]"}
    return Remora(user.home, {**allowed, **environ})


def of_user(user: Remora, text: str) -> None:
    write(user.home / "config" / "remora", {"config.yaml": text})


def test_a_projects_address_gets_no_key_and_one_line_explains_why(
    poor: Remora, project: Path, listener: Server
) -> None:
    choose(project, listener)
    of_user(poor, f"model: {{api_key: {FILE_KEY}}}")
    keyed = agreed(poor, listener, {**PATIENCE, "REMORA_API_KEY": KEY, "OPENAI_API_KEY": KEY})
    for line in ("doctor", "model status", "analyze -o steps --node read"):
        listener.keys.clear()
        done = keyed(*line.split(), "--json", cwd=project)
        assert done.code in (0, 1, 3), done.err
        assert listener.keys
        assert set(listener.keys) == {None}
        assert KEY not in done.out + done.err
    of_user(poor, "")
    words = ("model", "status")
    with_key = agreed(poor, listener, {"OPENAI_API_KEY": KEY})(*words, cwd=project)
    (said,) = [line for line in with_key.out.splitlines() if "not sent" in line]
    assert "the project sets model.base_url" in said
    assert "not sent" not in agreed(poor, listener, {})(*words, cwd=project).out


@pytest.mark.slow
def test_runs_that_are_continued_send_no_key_either(
    poor: Remora, project: Path, listener: Server
) -> None:
    keyed = agreed(poor, listener, {**PATIENCE, "REMORA_API_KEY": KEY})
    by_flag = keyed(*ANALYZE, "--model", listener.address, "--json", cwd=project)
    (job,) = by_flag.document["jobs"]
    assert set(listener.keys) == {f"Bearer {KEY}"}, "the flag is the key owner's"
    listener.keys.clear()
    choose(project, listener)
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
