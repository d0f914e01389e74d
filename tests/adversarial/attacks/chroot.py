"""The oldest way out: a root below, a folder above."""

import os

from tests.adversarial.attacks.inside import HOME, PROJECT, refused


def test_there_is_no_chroot() -> None:
    (PROJECT / "cell").mkdir()
    refused(os.chroot, PROJECT / "cell")


def test_nothing_lies_above_the_root() -> None:
    up = "/".join([".."] * 40)
    assert os.path.samefile(up, "/")
    refused(os.stat, f"{up}{HOME}/.bashrc")
