"""TCP to whoever listens on this machine, by the name that everybody tries first."""

import socket

from tests.adversarial.attacks.inside import PORT, refused


def test_it_does_not_answer() -> None:
    refused(socket.create_connection, ("127.0.0.1", PORT), timeout=5)
