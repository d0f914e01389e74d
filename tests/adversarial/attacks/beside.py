"""The repository beside ours: its files, its hooks."""

import os
import shutil

from tests.adversarial.attacks.inside import BESIDE, PROJECT, refused


def test_it_is_out_of_reach() -> None:
    refused((BESIDE / "app.py").read_text)
    refused((BESIDE / "app.py").open, "a")
    refused(shutil.rmtree, BESIDE)
    refused(os.listdir, PROJECT / ".." / "beside")
    refused(os.mkdir, BESIDE / ".git" / "hooks")


def test_what_lies_above_shows_only_the_way_to_us() -> None:
    assert os.listdir(PROJECT.parent) == [PROJECT.name]
