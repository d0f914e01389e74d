"""The release workflow: its jobs, their permissions, and the script that they call."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]
SCRIPT = REPOSITORY / ".ci/release"
FILE = REPOSITORY / ".github/workflows/release.yml"
WORKFLOW: dict[Any, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
COMMAND = re.compile(r"bash \.ci/release (\w+) dist( \S+)?")
_PINNED = re.compile(r"[\w./-]+@(?:release/)?v\d+")


def commands(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def actions(job: str) -> list[str]:
    return [step["uses"].partition("@")[0] for step in JOBS[job]["steps"] if "uses" in step]


def test_only_a_tag_of_a_version_starts_it() -> None:
    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}}, "YAML 1.1 reads the key `on` as true"


def test_each_job_has_the_permissions_that_it_needs_and_no_others() -> None:
    assert WORKFLOW["permissions"] == {}
    assert {name: job["permissions"] for name, job in JOBS.items()} == {
        "build": {"contents": "read"},
        "test": {"contents": "read"},
        "publish": {"id-token": "write"},
    }
    for job in ("build", "test"):
        (checkout,) = (step for step in JOBS[job]["steps"] if "checkout" in step.get("uses", ""))
        assert checkout["with"]["persist-credentials"] is False


def test_what_was_built_is_tested_before_it_is_published() -> None:
    assert {name: job.get("needs") for name, job in JOBS.items()} == {
        "build": None,
        "test": "build",
        "publish": "test",
    }


def test_the_wheel_is_tried_with_every_python_that_the_package_declares() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    prefix = "Programming Language :: Python :: "
    classifiers = tomllib.loads(text)["project"]["classifiers"]
    declared = [line.removeprefix(prefix) for line in classifiers if line.startswith(prefix)]
    assert JOBS["test"]["strategy"]["matrix"] == {"python": declared}


def test_the_job_with_the_token_runs_nothing_but_the_upload_with_attestations() -> None:
    assert commands("publish") == []
    assert actions("publish") == ["actions/download-artifact", "pypa/gh-action-pypi-publish"]
    assert JOBS["publish"]["steps"][-1]["with"] == {"attestations": True}
    assert JOBS["publish"]["environment"] == "pypi"


def test_every_action_is_pinned_and_no_value_becomes_part_of_a_script() -> None:
    for job in JOBS.values():
        assert job["timeout-minutes"] <= 20
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            assert "${{" not in str([step.get("run"), step.get("env")])
            assert _PINNED.fullmatch(step.get("uses", "a@v1"))


def test_the_jobs_call_the_script() -> None:
    called = {
        job: [
            match.groups(default="")
            for command in commands(job)
            if (match := COMMAND.fullmatch(command))
        ]
        for job in JOBS
    }
    assert called == {
        "build": [("build", ' "$GITHUB_REF_NAME"'), ("sbom", " remora-code.cdx.json")],
        "test": [("try", "")],
        "publish": [],
    }
    assert commands("build")[0] == "make setup-all"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with version 1.2.3, in which the folder `dist` exists already."""
    for name, text in {
        "src/remora/version.py": '__version__ = "1.2.3"\n',
        "CHANGELOG.md": "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2030-01-01\n",
        "dist/old": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".ci").mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci")
    return tmp_path


def refusal(checkout: Path, *words: str) -> str:
    line = ["bash", ".ci/release", *words]
    done = subprocess.run(line, cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize("tag", ["v1.2.4", "1.2.3", "v1.2.3.post1"])
def test_a_tag_of_another_version_is_refused(checkout: Path, tag: str) -> None:
    text = f"release: the tag {tag} is not v1.2.3, which src/remora/version.py names\n"
    assert refusal(checkout, "build", "dist", tag) == text


def test_a_version_without_a_section_in_the_changelog_is_refused(checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n")
    text = "release: CHANGELOG.md has no section '## 1.2.3 - DATE'\n"
    assert refusal(checkout, "build", "dist", "v1.2.3") == text


def test_files_of_another_build_are_not_released(checkout: Path) -> None:
    assert refusal(checkout, "build", "dist", "v1.2.3") == "release: dist exists\n"
    assert refusal(checkout, "build", "dist") == "release: dist exists\n"
    assert refusal(checkout, "try", "dist") == "release: dist does not have one wheel\n"
