"""A cloned repository cannot grant itself anything."""

from pathlib import Path

import pytest

from remora.bootstrap.operations import BUILT_IN
from remora.config.forbidden_settings import is_loopback
from remora.config.loading import load_config
from remora.config.schema import Config
from remora.errors import ConfigError
from remora.models.provider import wants_none


def load(folder: Path, project: str, user: str = "", **environ: str) -> Config:
    for name, text in (("config.yaml", user), ("remora.yaml", project)):
        (folder / name).write_text(text)
    return load_config(
        user_file=folder / "config.yaml",
        project_file=folder / "remora.yaml",
        environ=environ,
        flags={},
        operations=BUILT_IN.settings,
    )[0]


@pytest.mark.parametrize(
    ("text", "place", "key"),
    [
        ("workspace:\n  allow_unsandboxed: true", "2:22", "workspace.allow_unsandboxed"),
        ("workspace: {allow_unsandboxed: 1}", "1:32", "workspace.allow_unsandboxed"),
        ("model: {base_url: 'https://example.org'}", "1:19", "model.base_url"),
        ("model: {base_url: 'http://127.0.0.1:9/admin/delete'}", "1:19", "model.base_url"),
        ("model: {allow_addresses: ['http://[::1]:1']}", "1:26", "model.allow_addresses"),
        ("escalation: {base_url: 'http://10.0.0.1'}", "1:24", "escalation.base_url"),
        ("escalation: {base_url: 'http://[::1]:1/v2'}", "1:24", "escalation.base_url"),
        ("agents: {replace: [lint]}", "1:19", "agents.replace"),
        ("model: {api_key: x}", "1:18", "model.api_key"),
        ("escalation: {api_key: x}", "1:23", "escalation.api_key"),
        ("postgres: {dsn: null}", "1:17", "postgres.dsn"),
        ("postgres: {dsn: ''}", "1:17", "postgres.dsn"),
        ("model: {base_url: null}", "1:19", "model.base_url"),
        ("model: {base_url: ['http://[::1]:1']}", "1:19", "model.base_url"),
        ("escalation: {base_url: null}", "1:24", "escalation.base_url"),
        ("model: {api_key: null}", "1:18", "model.api_key"),
        ("model: {allow_addresses: []}", "1:26", "model.allow_addresses"),
    ],
)
def test_only_the_user_can_set_trusted_settings(
    tmp_path: Path, text: str, place: str, key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert caught.value.message.startswith(f"{tmp_path}/remora.yaml:{place}: {key}: a project")
    assert "config.yaml" in caught.value.hint
    assert "REMORA_" in caught.value.hint


def test_the_user_may_set_it(tmp_path: Path) -> None:
    text = (
        "workspace: {allow_unsandboxed: true}\n"
        "escalation: {enabled: true, base_url: 'https://example.org'}"
    )
    config = load(tmp_path, "", text, REMORA_MODEL__BASE_URL="https://example.org/v1")
    assert config.workspace.allow_unsandboxed
    assert config.escalation.enabled
    assert config.model.base_url == "https://example.org/v1"


def test_a_project_may_say_no_and_name_this_machine(tmp_path: Path) -> None:
    text = (
        "workspace: {allow_unsandboxed: false}\nmodel: {base_url: 'http://localhost:8080/v1'}\n"
        "escalation: {enabled: true, base_url: 'http://[::1]:1'}"
    )
    config = load(tmp_path, text, "workspace: {allow_unsandboxed: true}")
    assert not config.workspace.allow_unsandboxed
    assert config.escalation.enabled


@pytest.mark.parametrize(
    ("user", "environ"),
    [
        ("", {}),
        ("escalation: {base_url: 'https://example.org'}", {}),
        ("", {"REMORA_ESCALATION__BASE_URL": "https://example.org"}),
    ],
)
def test_a_project_cannot_switch_on_what_leaves_the_machine(
    tmp_path: Path, user: str, environ: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match=r"escalation\.enabled: a project"):
        load(tmp_path, "escalation: {enabled: true}", user, **environ)
    off = load(tmp_path, "escalation: {enabled: false}", user, **environ)
    assert not off.escalation.enabled


@pytest.mark.parametrize("user", ["model: none", "model: {provider: none}", "model: {name: none}"])
@pytest.mark.parametrize("choice", ["provider: auto", "provider: openai", "name: m"])
def test_a_project_cannot_switch_on_a_model_that_the_user_has_switched_off(
    tmp_path: Path, user: str, choice: str
) -> None:
    config = load(tmp_path, f"model: {{{choice}, base_url: 'http://[::1]:1', retries: 2}}", user)
    assert wants_none(config.model)
    assert config.model.retries == 2


def test_a_project_can_switch_models_off(tmp_path: Path) -> None:
    for text in ("model: none", "model: {provider: none}"):
        for user in ("model: {provider: openai}", "model: none", ""):
            assert load(tmp_path, text, user).model.provider == "none"


def test_a_project_uses_no_database_that_the_user_has_not_named(tmp_path: Path) -> None:
    text = "runner: {memory: {trace_store: postgres}}"
    with pytest.raises(ConfigError, match=r"trace_store: a project") as caught:
        load(tmp_path, text)
    assert "REMORA_POSTGRES__DSN" in caught.value.hint
    load(tmp_path, text, REMORA_POSTGRES__DSN="")
    dsn = "postgres: {dsn: 'postgresql://db.example.com/x'}"
    load(tmp_path, text, dsn)
    for value in ("null", "''"):
        for user in ("", dsn):
            with pytest.raises(ConfigError, match="cannot set the address of a database"):
                load(tmp_path, f"{text}\npostgres: {{dsn: {value}}}", user)
    load(tmp_path, "", text)


@pytest.mark.parametrize(
    ("settings", "user", "weaker", "stricter"),
    [
        ("runner: {memory: {durability: VALUE}}", "event", "none", "event"),
        ("runner: {memory: {durability: VALUE}}", "none", "none", "turn"),
        ("runner: {memory: {retention: {keep_days: VALUE}}}", "30", "0", "31"),
        ("runner: {memory: {retention: {keep_days: VALUE}}}", "null", "30", "null"),
        ("model: {max_requests: VALUE}", "9", "1000000", "8"),
        ("model: {max_requests: VALUE}", "100", "101", "0x01"),
        ("model: {max_tokens: VALUE}", "1000", "1001", "999"),
        ("model: {max_concurrency: VALUE}", "1", "256", "1"),
        ("hub: {memory_mb: VALUE}", "100", "1000000", "99"),
        ("hub: {max_file_mb: VALUE}", "1", "64", "1"),
    ],
)
def test_a_project_cannot_weaken_the_users_limits(
    tmp_path: Path, settings: str, user: str, weaker: str, stricter: str
) -> None:
    mine, bad, good = (settings.replace("VALUE", each) for each in (user, weaker, stricter))
    assert load(tmp_path, bad, mine) == load(tmp_path, "", mine)
    assert load(tmp_path, good, mine) == load(tmp_path, "", good)


def test_a_project_cannot_have_backups_removed_sooner(tmp_path: Path) -> None:
    settings = "runner: {memory: {retention: {keep_days: DAYS}}}"
    sooner = load(tmp_path, settings.replace("DAYS", "0")).runner.memory.retention
    assert sooner.keep_days == 30
    later = load(tmp_path, settings.replace("DAYS", "31")).runner.memory.retention
    assert later.keep_days == 31


def test_a_project_cannot_raise_the_default_costs(tmp_path: Path) -> None:
    config = load(tmp_path, "model: {max_requests: 101, max_tokens: 200001, max_concurrency: 9}")
    assert (config.model.max_requests, config.model.max_tokens) == (100, 200_000)
    assert config.model.max_concurrency == 9
    assert config.layer_of("model", "max_requests") == "user"


@pytest.mark.parametrize("rules", ["[]", "[{name: badge, pattern: X}]", "[{name: b, pattern: X}]"])
def test_a_projects_redaction_rules_are_added_to_the_users(tmp_path: Path, rules: str) -> None:
    user = "redaction: {rules: [{name: badge, pattern: 'B-[0-9]{8}'}]}"
    found = load(tmp_path, f"redaction: {{rules: {rules}}}", user).redaction.rules
    assert found[0] == load(tmp_path, "", user).redaction.rules[0]
    assert [each.pattern for each in found[1:]] == (["X"] if rules != "[]" else [])
    assert load(tmp_path, user, user).redaction.rules == found[:1]
    wrong = "redaction: {rules: [{name: b, pattern: 1}]}"
    with pytest.raises(ConfigError, match=r"remora\.yaml:1:\d+: redaction\.rules\.0\.pattern"):
        load(tmp_path, wrong, user)


@pytest.mark.parametrize(("user", "project", "level"), [(2, 0, 2), (0, 2, 2), (1, 3, 3), (3, 3, 3)])
def test_a_project_can_only_raise_the_isolation(
    tmp_path: Path, user: int, project: int, level: int
) -> None:
    texts = [f"workspace: {{require_isolation: {n}}}" for n in (project, user)]
    assert load(tmp_path, *texts).workspace.require_isolation == level
    changed = load(tmp_path, *texts, REMORA_WORKSPACE__REQUIRE_ISOLATION="0")
    assert changed.workspace.require_isolation == 0


def test_an_invalid_isolation_level_is_refused(tmp_path: Path) -> None:
    for value in ("true", "'0'", "-1"):
        with pytest.raises(ConfigError, match="require_isolation: expected"):
            load(
                tmp_path,
                f"workspace: {{require_isolation: {value}}}",
                "workspace: {require_isolation: 0}",
            )


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("http://localhost", True),
        ("http://localhost:8080/v1", True),
        ("https://127.0.0.1/v1/", True),
        ("http://127.8.9.10:1", True),
        ("http://127.8.9.10:1/", True),
        ("http://127.0.0.256/v1", False),
        ("http://127.0.0.01/v1", False),
        ("http://localhost:8080/v1/../admin", False),
        ("http://localhost:8080/v1/x", False),
        ("http://localhost:8080/admin", False),
        ("http://localhost:8080/v1?x=1", False),
        ("http://localhost:8080/v1//", False),
        ("http://LOCALHOST:8080/v1", False),
        ("file:///v1", False),
        ("unix:///run/docker.sock", False),
        ("http+unix://%2Frun%2Fdocker.sock/v1", False),
        ("http://[::1]:8080/v1", True),
        ("http://localhost.example.org", False),
        ("http://127.0.0.1.example.org", False),
        ("http://127.0.0.1@example.org", False),
        ("http://localhost:80@example.org", False),
        ("http://example.org/localhost", False),
        ("http://example.org#localhost", False),
        ("http://127.0.0.1\\@example.org", False),
        ("http://127.0.0.1:80\n@example.org", False),
        ("http://localhost\n", False),
        ("http://0.0.0.0", False),
        ("http://127.1", False),
        ("http://127.0.0.\uff11", False),
        ("http://[::ffff:127.0.0.1]", False),
        ("ftp://localhost", False),
        ("//localhost", False),
        ("", False),
    ],
)
def test_addresses_of_this_machine(address: str, loopback: bool) -> None:
    assert is_loopback(address) is loopback


@pytest.mark.parametrize(
    "address",
    ["example.org", "ftp://x", "http://", "http://u:secret@x", "http://x y", "http://x\u200b", "http://x:99999", "http://[x"],
)  # fmt: skip
def test_an_address_is_one_and_holds_no_credentials(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError, match=r"model\.base_url: expected an address") as caught:
        load(tmp_path, "", f"model: {{base_url: '{address}'}}")
    assert "secret" not in caught.value.message
