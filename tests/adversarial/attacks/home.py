"""The user's home: keys to read, start-up files to write."""

import os
from pathlib import Path

from tests.adversarial.attacks.inside import HOME, refused


def test_it_is_not_there() -> None:
    refused((HOME / ".ssh" / "id").read_text)
    refused((HOME / ".bashrc").open, "a")
    refused((HOME / ".config" / "new").write_text, "x")
    refused(os.listdir, HOME / ".ssh")


def test_ours_is_another_and_empty() -> None:
    assert list(Path.home().iterdir()) == []
    (Path.home() / "file").write_text("x")


def test_no_other_home_is_there() -> None:
    refused(os.listdir, Path("~root").expanduser() / ".ssh")
    assert not Path("/home").exists() or not any(Path("/home").glob("*/.*"))
    for name in ("shadow", "gshadow", "sudoers", "ssh"):
        assert not Path("/etc", name).exists()
