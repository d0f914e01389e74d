"""A file that fills the disk."""

import os
import signal
from pathlib import Path

from tests.adversarial.attacks.inside import PROJECT, refused


def test_there_is_an_end() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for folder in (PROJECT, Path(os.environ["TMPDIR"]), Path("/tmp"), Path.home()):
        place = os.statvfs(folder)
        assert place.f_blocks * place.f_frsize <= 1 << 30
        with (folder / "large").open("wb") as file:
            refused(os.truncate, file.fileno(), 2 << 30)
