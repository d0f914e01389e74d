"""The entry of the MCP registry names this version, and arguments that the command takes."""

import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from packaging.requirements import Requirement

from remora.errors import DISTRIBUTION
from remora.version import __version__
from tests.packages.server_manifest import MANIFEST, PACKAGE, ROOT, client_command, words
from tests.packages.server_schema import SERVER
from tests.quality.test_readme import what_is_not_understood

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_manifest_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SERVER)
    jsonschema.validate(MANIFEST, SERVER)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "remora"},
        {"description": "x" * 101},
        {"version": "latest"},
        {"packages": []},
        {"packages": [{**PACKAGE, "registryBaseUrl": "https://example.org"}]},
        {"packages": [{**PACKAGE, "packageArguments": [{"type": "positional"}]}]},
    ],
)
def test_a_wrong_manifest_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**MANIFEST, **change}, SERVER)


def test_the_readme_has_the_line_by_which_the_registry_knows_the_package() -> None:
    readme = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    assert re.findall(r"^<!-- mcp-name: (\S+) -->$", readme, re.MULTILINE) == [MANIFEST["name"]]


def test_the_versions_are_those_of_the_package() -> None:
    assert MANIFEST["version"] == PACKAGE["version"] == __version__


def test_the_package_has_the_command_that_clients_run() -> None:
    """Clients cannot run a command that has another name than the package."""
    assert PACKAGE["identifier"] == PROJECT["name"] == DISTRIBUTION
    assert PROJECT["scripts"][PACKAGE["identifier"]] == PROJECT["scripts"]["remora"]
    assert client_command()[-2:] == [f"{DISTRIBUTION}=={__version__}", "mcp"]


def test_the_extra_that_the_server_needs_comes_with_it() -> None:
    option, requirement = words(PACKAGE["runtimeArguments"])
    assert option == "--with"
    assert Requirement(requirement).name == DISTRIBUTION
    assert Requirement(requirement).extras == {"mcp"} <= set(PROJECT["optional-dependencies"])


def test_the_command_takes_the_arguments(tmp_path: Path) -> None:
    line = " ".join(["remora", *words(PACKAGE["packageArguments"])])
    assert what_is_not_understood([line], tmp_path) == ""
    assert "--writable" in what_is_not_understood([f"{line} --writable"], tmp_path)
