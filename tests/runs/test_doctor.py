"""Checks of the machine and of the project's folder."""

import os
import subprocess
from pathlib import Path

import pytest

from remora.runs.doctor import check_git


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
def test_a_repository_that_git_refuses_is_reported_with_the_command_that_allows_it(
    tmp_path: Path,
) -> None:
    shop = tmp_path / "my shop"
    subprocess.run(["git", "init", "-q", shop], check=True)
    assert check_git(shop).ok
    for each in (shop, shop / ".git"):
        os.chown(each, 1234, 1234)
    refused = check_git(shop)
    assert not refused.ok
    assert not refused.needed, "without git, all files are read"
    assert "because another user owns it" in refused.detail
    assert (
        refused.hint == f"if you trust it, run `git config --global --add safe.directory '{shop}'`"
    )
