"""Moving things across: out, in, and one for another."""

import ctypes
import os

from tests.adversarial.attacks.inside import HOME, LIBC, PROJECT, called, refused

EXCHANGE = 2


def test_nothing_goes_across() -> None:
    refused(os.rename, PROJECT / "app.py", HOME / "app.py")
    refused(os.rename, HOME / ".bashrc", PROJECT / "mine")
    refused(os.rename, "/usr/bin/env", "/usr/bin/other")
    one, other = os.fsencode(PROJECT / "app.py"), os.fsencode(HOME / ".bashrc")
    refused(called, LIBC.renameat2, -100, one, -100, other, ctypes.c_uint(EXCHANGE))
    assert os.path.exists(PROJECT / "app.py")
