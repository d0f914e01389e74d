"""Datagrams to whoever listens on this machine."""

import socket

from tests.adversarial.attacks.inside import PORT, refused


def test_none_arrives() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.sendto(b"gotcha", ("127.0.0.1", PORT))
        refused(end.sendto, b"gotcha", ("192.0.2.1", PORT))
