"""The user's consent to addresses: what needs it, and a file that other users cannot write."""

import shlex
from pathlib import Path

import pytest

from remora.bootstrap.invocation import Invocation, open_with_places
from remora.config.schema import Config
from remora.errors import ConfigError, DiskError
from remora.models.agreed_addresses import keep_agreed, require_agreed, unagreed_addresses

ADDRESS, OTHER = "http://127.0.0.1:8080/v1", "http://127.0.0.1:8081/v1"
TWO = f"model: {{base_url: '{ADDRESS}'}}\nescalation: {{enabled: true, base_url: '{OTHER}'}}"
REMOTE = "https://models.example.com/v1"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def load(root: Path, project: str, **environ: str) -> Config:
    (root / "remora.yaml").write_text(project)
    named = {"HOME": str(root.parent), **environ}
    return open_with_places(Invocation(environ=named, folder=root), root)[0]


def unagreed(config: Config) -> tuple[str, ...]:
    return tuple(each.entry for each in unagreed_addresses(config))


def consent(root: Path) -> Path:
    return Invocation(environ={"HOME": str(root.parent)}, folder=root).agreed_file(root)


@pytest.mark.parametrize(
    ("project", "environ", "needed"),
    [
        (f"model: {{base_url: '{ADDRESS}'}}", {}, (ADDRESS,)),
        (TWO, {}, (ADDRESS, OTHER)),
        (f"model: {{base_url: '{ADDRESS}'}}", {"REMORA_MODEL": "m"}, (ADDRESS,)),
        (f"model: {{base_url: '{ADDRESS}'}}", {"REMORA_MODEL": OTHER}, ()),
        (f"model: {{base_url: '{ADDRESS}'}}", {"REMORA_MODEL": "none"}, ()),
        (f"model: {{base_url: '{ADDRESS}', provider: embedded}}", {}, ()),
        ("model: {provider: openai}", {"REMORA_MODEL__BASE_URL": REMOTE}, (REMOTE,)),
        ("model: {retries: 2}", {"REMORA_MODEL__BASE_URL": REMOTE}, ()),
        (f"escalation: {{enabled: true, base_url: '{ADDRESS}'}}", {}, (ADDRESS,)),
        ("escalation: {enabled: true}", {"REMORA_ESCALATION__BASE_URL": ADDRESS}, (ADDRESS,)),
        (
            f"escalation: {{base_url: '{ADDRESS}'}}",
            {"REMORA_ESCALATION__ENABLED": "true"},
            (ADDRESS,),
        ),
        (f"escalation: {{base_url: '{ADDRESS}'}}", {}, ()),
        ("", {"REMORA_MODEL": ADDRESS, "REMORA_ESCALATION__ENABLED": "false"}, ()),
        (
            f"model: {{base_url: '{ADDRESS}'}}",
            {"REMORA_MODEL__ALLOW_ADDRESSES": f"[{ADDRESS}]"},
            (),
        ),
        (f"model: {{base_url: '{ADDRESS}'}}", {"REMORA_MODEL__ALLOW_ADDRESSES": ADDRESS}, ()),
        ("model: {name: 'big:cloud'}", {"REMORA_MODEL": REMOTE}, (f"{REMOTE}#big%3Acloud",)),
        (
            f"model: {{base_url: '{ADDRESS}', name: m}}",
            {"REMORA_MODEL__ALLOW_ADDRESSES": ADDRESS},
            (f"{ADDRESS}#m",),
        ),
        (
            f"model: {{base_url: '{ADDRESS}', name: m}}",
            {"REMORA_MODEL__ALLOW_ADDRESSES": f"{ADDRESS}#m"},
            (),
        ),
        ("model: {name: m}", {"REMORA_MODEL": REMOTE, "REMORA_MODEL__NAME": "mine"}, ()),
        ("model: {name: null}", {"REMORA_MODEL": REMOTE}, (REMOTE,)),
        (
            "escalation: {name: m}",
            {"REMORA_ESCALATION__BASE_URL": REMOTE, "REMORA_ESCALATION__ENABLED": "true"},
            (f"{REMOTE}#m",),
        ),
    ],
)
def test_what_the_project_chooses_needs_consent(
    root: Path, project: str, environ: dict[str, str], needed: tuple[str, ...]
) -> None:
    config = load(root, project, **environ)
    assert unagreed(config) == needed


def test_a_model_that_is_named_later_needs_it_too(root: Path) -> None:
    config = load(root, f"model: {{base_url: '{ADDRESS}', name: none}}")
    require_agreed(config)
    with pytest.raises(ConfigError, match="you have not agreed"):
        require_agreed(config, "m")


def test_consent_to_a_model_holds_for_this_model(root: Path) -> None:
    for name in ("a", "b"):
        config = load(root, f"model: {{base_url: '{ADDRESS}', name: {name}}}")
        assert unagreed(config) == (f"{ADDRESS}#{name}",)
        keep_agreed(consent(root), root, [f"{ADDRESS}#a"])
    assert unagreed(load(root, f"model: {{base_url: '{ADDRESS}'}}")) == (ADDRESS,)


def test_a_model_that_an_agent_of_the_project_names_needs_it_at_the_users_server(
    root: Path,
) -> None:
    config = load(root, "", REMORA_MODEL=REMOTE)
    require_agreed(config, "m")
    with pytest.raises(ConfigError, match=f"{REMOTE}#m, and you have not agreed"):
        require_agreed(config, "m", by_project=True)


def test_the_hint_names_every_address_and_works(root: Path) -> None:
    text = TWO.replace("}", ", name: \"a 'b' c: @d\"}", 1)
    with pytest.raises(ConfigError) as caught:
        require_agreed(load(root, text))
    (setting,) = (word for word in shlex.split(caught.value.hint) if "ALLOW" in word)
    assert unagreed(load(root, text, **dict([setting.split("=", 1)]))) == ()


def test_what_a_flag_allows_is_added_to_what_the_user_allows(root: Path) -> None:
    (root / "remora.yaml").write_text(TWO)
    environ = {"HOME": str(root.parent), "REMORA_MODEL__ALLOW_ADDRESSES": ADDRESS}
    flags = {"model.allow_addresses": (OTHER,)}
    invocation = Invocation(environ=environ, folder=root, flags=flags)
    assert unagreed(open_with_places(invocation, root)[0]) == ()


def test_a_consent_that_cannot_be_kept_leaves_nothing_behind(root: Path) -> None:
    file = consent(root)
    (file / "in the way").mkdir(parents=True)
    with pytest.raises(DiskError, match="directory") as caught:
        keep_agreed(file, root, [ADDRESS])
    assert f"make {file.parent} writable" in caught.value.hint
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_consent_holds_for_its_root_and_its_addresses(root: Path) -> None:
    keep_agreed(consent(root), root, [ADDRESS])
    assert unagreed(load(root, TWO)) == (OTHER,)
    keep_agreed(consent(root), root, [OTHER])
    assert unagreed(load(root, TWO)) == ()
    moved = root.rename(root.with_name("moved"))
    assert unagreed(load(moved, TWO)) == (ADDRESS, OTHER)


def test_consent_for_another_root_in_this_file_does_not_count(root: Path) -> None:
    keep_agreed(consent(root), root / "other", [ADDRESS])
    assert unagreed(load(root, f"model: {{base_url: '{ADDRESS}'}}")) == (ADDRESS,)


@pytest.mark.parametrize("damage", ["others may write", "no JSON", "a folder", "a pipe"])
def test_a_file_that_cannot_be_trusted_is_no_consent(root: Path, damage: str) -> None:
    import os

    file = consent(root)
    keep_agreed(file, root, [ADDRESS])
    if damage == "others may write":
        file.chmod(0o622)
    elif damage == "no JSON":
        file.write_text("yes")
    else:
        file.unlink()
        os.mkfifo(file) if damage == "a pipe" else file.mkdir()
    assert unagreed(load(root, f"model: {{base_url: '{ADDRESS}'}}")) == (ADDRESS,)


def test_a_root_whose_name_is_not_utf_8_can_be_agreed_to(tmp_path: Path) -> None:
    root = tmp_path / "caf\udce9"
    root.mkdir()
    keep_agreed(consent(root), root, [ADDRESS])
    assert unagreed(load(root, f"model: {{base_url: '{ADDRESS}'}}")) == ()
