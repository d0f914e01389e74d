"""TCP to whoever listens on this machine, by each of its names."""

import socket

from tests.adversarial.attacks.inside import PORT, refused


def test_no_address_leads_there() -> None:
    for address in ("127.0.0.1", "127.0.0.2", "0.0.0.0", "localhost"):
        refused(socket.create_connection, (address, PORT), timeout=5)


def test_there_is_no_way_out() -> None:
    refused(socket.create_connection, ("192.0.2.1", 80), timeout=5)
    assert [name for _, name in socket.if_nameindex()] == ["lo"]
