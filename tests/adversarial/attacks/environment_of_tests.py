"""The interpreter and its packages: what runs next time, with more rights."""

import os
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.adversarial.attacks.inside import refused


def test_they_cannot_be_changed() -> None:
    for place in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")):
        refused(Path(place, "evil.pth").write_text, "import evil")
        refused(os.mkdir, Path(place, "evil"))
    refused(Path(pytest.__file__).open, "a")
    refused(Path(sys.executable).open, "a")
    refused(Path("/usr/bin/env").unlink)
