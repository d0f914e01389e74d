"""Checks of the machine and of the project's folder."""

import os
import subprocess
from pathlib import Path

import pytest

from remora.config.user_folders import UserFolders
from remora.runs.doctor import DoctorCheck, check_machine


def _git(root: Path, folders: UserFolders) -> DoctorCheck:
    return next(each for each in check_machine(root, folders) if each.name == "git")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
def test_a_repository_that_git_refuses_is_reported_with_the_command_that_allows_it(
    tmp_path: Path,
) -> None:
    folders = UserFolders(*(tmp_path / name for name in UserFolders._fields))
    shop = tmp_path / "my shop"
    subprocess.run(["git", "init", "-q", shop], check=True)
    assert _git(shop, folders).ok
    for each in (shop, shop / ".git"):
        os.chown(each, 1234, 1234)
    refused = _git(shop, folders)
    assert not refused.ok
    assert not refused.needed, "without git, all files are read"
    assert "dubious ownership" in refused.detail
    assert refused.hint == f"run `git config --global --add safe.directory '{shop}'`"
