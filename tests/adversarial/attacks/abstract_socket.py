"""A Unix socket that has a name but no file."""

import socket

from tests.adversarial.attacks.inside import ABSTRACT, refused


def test_it_is_not_found() -> None:
    with socket.socket(socket.AF_UNIX) as end:
        refused(end.connect, ABSTRACT)
