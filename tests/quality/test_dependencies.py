"""Declared, explained and pinned dependencies say the same."""

import re
import tomllib
from importlib.metadata import PackageMetadata, metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from remora.errors import DISTRIBUTION

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
GROUPS = PYPROJECT["dependency-groups"]
FILES = {
    "core": PROJECT["dependencies"],
    **{name: PROJECT["dependencies"] + EXTRAS[name] for name in EXTRAS if name != "all"},
    **GROUPS,
    "dev": [each for name in EXTRAS if name != "all" for each in EXTRAS[name]] + GROUPS["dev"],
}

# `all` names other extras of this package
PACKAGES = [
    requirement
    for group in (PROJECT["dependencies"], *EXTRAS.values(), *GROUPS.values())
    for requirement in map(Requirement, group)
    if requirement.name != PROJECT["name"]
]


def pins(name: str) -> dict[str, str]:
    """Package → the line that pins it and its hashes, of one requirements file."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    entries = re.sub(r"(?m)^\s*#.*\n?", "", text).replace("\\\n", " ").splitlines()
    return {canonicalize_name(re.split(r"[=<>;\s]", e, maxsplit=1)[0]): e for e in entries if e}


def version(pin: str) -> str:
    found = re.match(r"[\w.-]+==(\S+)", pin)
    assert found, f"not pinned: {pin[:60]}"
    return found[1]


@pytest.mark.parametrize("name", FILES)
def test_every_pin_has_a_version_and_hashes(name: str) -> None:
    for pin in pins(name).values():
        assert version(pin)
        assert "--hash=sha256:" in pin


@pytest.mark.parametrize("name", FILES)
def test_pins_satisfy_what_pyproject_asks_for(name: str) -> None:
    pinned = pins(name)
    for text in FILES[name]:
        wanted = Requirement(text)
        pin = pinned.get(canonicalize_name(wanted.name))
        assert pin, f"{wanted.name} is not pinned: run `make lock`"
        assert wanted.specifier.contains(version(pin)), f"{pin[:60]}: run `make lock`"


def without_marker(pin: str) -> str:
    """Return a pin without its marker, which another package of the file may make unnecessary."""
    return re.sub(r" ; .*?(?=  )", "", pin)


@pytest.mark.parametrize("name", ["core", *(name for name in EXTRAS if name != "all")])
def test_users_and_developers_get_the_same_versions(name: str) -> None:
    everything = {k: without_marker(pin) for k, pin in pins("dev").items()}
    assert {k: everything.get(k) for k in pins(name)} == {
        k: without_marker(pin) for k, pin in pins(name).items()
    }


@pytest.mark.parametrize("name", ["slow", "docs", "peers"])
def test_what_few_targets_need_agrees_with_the_rest(name: str) -> None:
    everything = pins("dev")
    shared = {k: version(pin) for k, pin in pins(name).items() if k in everything}
    assert shared == {k: version(everything[k]) for k in shared}


def test_the_extra_all_has_every_other_extra() -> None:
    (requirement,) = map(Requirement, EXTRAS["all"])
    assert requirement.name == PROJECT["name"] == DISTRIBUTION
    assert set(EXTRAS) == requirement.extras | {"all"}


def test_the_core_stays_small() -> None:
    # raise the number together with a line in docs/explanation/dependencies.md
    assert len(pins("core")) <= 33


def licence(package: PackageMetadata) -> str:
    classifiers = [c for c in package.get_all("Classifier") or [] if c.startswith("License ::")]
    named = [f for key in ("License-Expression", "License") for f in package.get_all(key) or []]
    return " | ".join(field[:80] for field in (*named, *classifiers))


def test_what_users_install_asks_no_more_than_mit_does() -> None:
    licences = {name: licence(metadata(name)) for name in pins("embedded")}
    assert [name for name, text in licences.items() if not text or "GPL" in text] == []


def test_docs_explain_exactly_the_declared_dependencies() -> None:
    text = (ROOT / "docs/explanation/dependencies.md").read_text(encoding="utf-8")
    explained = re.findall(r"(?m)^\| `([\w.-]+)` \|", text)
    assert sorted(explained) == sorted({r.name for r in PACKAGES})
