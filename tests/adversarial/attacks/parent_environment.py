"""What our parents know: their variables and command lines."""

import os
from pathlib import Path

from tests.adversarial.attacks.inside import SECRET


def test_no_process_tells_the_secret() -> None:
    for process in Path("/proc").iterdir():
        for name in ("environ", "cmdline"):
            try:
                said = (process / name).read_bytes()
            except OSError:
                continue
            assert SECRET.encode() not in said
    assert SECRET not in os.environ.values()
