"""What is not content: modes, times, owners, attributes."""

import os
import sys

from tests.adversarial.attacks.inside import BESIDE, HOME, refused


def test_none_can_be_changed() -> None:
    for path in (
        HOME / ".bashrc",
        BESIDE / "app.py",
        "/usr/bin/env",
        sys.executable,
        "/etc/passwd",
    ):
        refused(os.chmod, path, 0o777)
        refused(os.utime, path, (0, 0))
        refused(os.chown, path, os.getuid(), os.getgid())
        refused(os.setxattr, path, "user.mine", b"1")
