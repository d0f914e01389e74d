"""The files of a release, as `.ci/release` makes and tries them."""

import json
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from remora.errors import DISTRIBUTION
from remora.version import __version__
from tests.packages.conftest import ROOT
from tests.quality.test_dependencies import pins

SILENT = f'def main():\n    print("remora {__version__}")\n'
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def release(*words: str | Path) -> subprocess.CompletedProcess[str]:
    line = ["bash", ".ci/release", *map(str, words)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_wheel_has_what_the_source_has(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for path in (ROOT / "src/remora").rglob("*"):
        if path.suffix in {".py", ".pym", ".yaml"}:
            assert path.relative_to(ROOT / "src").as_posix() in names
    assert {name.split("/")[0] for name in names} == {
        "remora",
        f"remora_code-{__version__}.dist-info",
    }


def test_the_same_commit_gives_the_same_files(dist: Path, tmp_path: Path) -> None:
    assert release("build", tmp_path / "again").returncode == 0
    first = {path.name: path.read_bytes() for path in dist.iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()} == first
    assert len(first) == 2


def test_the_source_archive_has_the_licence_and_no_built_file(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "src/remora/version.py"} <= names
    assert not [name for name in names if name.startswith((".venv", ".git/", "site/", ".agentfs"))]


def test_the_bill_of_materials_has_what_users_install(dist: Path, tmp_path: Path) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    file = tmp_path / "bill.json"
    done = release("sbom", dist, file)
    assert done.returncode == 0, done.stderr
    text = file.read_text(encoding="utf-8")
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(text) is None
    assert validator.validate_str(text.replace('"bomFormat"', '"format"')) is not None
    bill = json.loads(text)
    subject = bill["metadata"]["component"]
    assert (subject["name"], subject["version"]) == (DISTRIBUTION, __version__)
    listed = {canonicalize_name(part["name"]): part["version"] for part in bill["components"]}
    assert listed == {name: pin.split("==")[1].split()[0] for name, pin in pins("core").items()}
    assert str(Path.home()) not in text
    assert str(tmp_path.parent) not in text


def test_the_wheel_passes_what_the_workflow_tries(dist: Path) -> None:
    done = release("try", dist)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wheel_that_finds_nothing_is_refused(wheel: Path, tmp_path: Path) -> None:
    broken = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(broken, "w") as target:
        for name in source.namelist():
            is_main = name == "remora/cli/main.py"
            target.writestr(name, SILENT if is_main else source.read(name))
    done = release("try", tmp_path)
    assert done.returncode == 1
    assert "remora check does not find an unused import (exit code 0)" in done.stderr
