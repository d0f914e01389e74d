import pytest

from remora.errors import ConfigError
from remora.models.client.server_address import parse_address


@pytest.mark.parametrize(
    ("given", "api", "root"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080"),
        ("https://host/llm/v1", "https://host/llm/v1", "https://host/llm"),
        ("https://host/v1beta/openai", "https://host/v1beta/openai", None),
    ],
)
def test_endpoints_follow_from_the_configured_address(
    given: str, api: str, root: str | None
) -> None:
    address = parse_address(given)
    assert (address.api, address.root) == (api, root)


@pytest.mark.parametrize(
    ("section", "set_by", "setting"),
    [
        ("model", "flag", "the address on the command line"),
        ("model", "environment", "REMORA_MODEL or REMORA_MODEL__BASE_URL"),
        ("model", "user", "model.base_url in your own configuration"),
        ("model", "project", "model.base_url in the project's configuration"),
        ("escalation", "environment", "REMORA_ESCALATION__BASE_URL"),
        ("escalation", None, "escalation.base_url"),
    ],
)
def test_hints_name_the_place_of_the_address(
    section: str, set_by: str | None, setting: str
) -> None:
    assert parse_address("http://host", section, set_by).setting == setting


def test_credentials_and_query_are_never_shown() -> None:
    address = parse_address("https://me:secret@host/v1?token=abc")
    assert address.shown == "https://host/v1"


@pytest.mark.parametrize(
    ("given", "loopback"),
    [
        ("http://127.0.0.1", True),
        ("http://127.8.9.1", True),
        ("http://[::1]:1/v1", True),
        ("http://localhost:1/v1", True),
        ("http://localhost.example.com/v1", False),
        ("http://10.0.0.1/v1", False),
    ],
)
def test_only_this_machine_is_loopback(given: str, loopback: bool) -> None:
    assert parse_address(given).loopback is loopback


@pytest.mark.parametrize(
    "given", ["", "localhost:8080", "ftp://host/v1", "http://", "http://host:port/v1"]
)
def test_what_is_not_an_address_is_a_configuration_error(given: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_address(given)
    assert "http://HOST:PORT/v1" in caught.value.hint


def test_the_error_for_a_bad_address_hides_a_password() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_address("ftp://me:secret@host")
    assert "secret" not in caught.value.message
