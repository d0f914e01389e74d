"""Connections to programs that listen on this machine: by file, name, address and datagram."""

import os
import socket

from tests.adversarial.attacks.inside import ABSTRACT, PORT, PROJECT, SOCKET, refused


def test_abstract_socket_is_not_found() -> None:
    with socket.socket(socket.AF_UNIX) as end:
        refused(end.connect, ABSTRACT)


def test_hub_socket_nobody_answers() -> None:
    for path in (SOCKET, str(PROJECT / "in.sock"), "in.sock"):
        with socket.socket(socket.AF_UNIX) as end:
            refused(end.connect, path)


def test_hub_socket_nobody_reads_from_a_pipe_in_the_project() -> None:
    refused(os.open, PROJECT / "in.pipe", os.O_WRONLY | os.O_NONBLOCK)


def test_tcp_no_address_leads_there() -> None:
    for address in ("127.0.0.1", "127.0.0.2", "0.0.0.0", "localhost"):
        refused(socket.create_connection, (address, PORT), timeout=5)


def test_tcp_there_is_no_way_out() -> None:
    refused(socket.create_connection, ("192.0.2.1", 80), timeout=5)
    assert [name for _, name in socket.if_nameindex()] == ["lo"]


def test_listener_does_not_answer() -> None:
    refused(socket.create_connection, ("127.0.0.1", PORT), timeout=5)


def test_udp_none_arrives() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.sendto(b"gotcha", ("127.0.0.1", PORT))
        refused(end.sendto, b"gotcha", ("192.0.2.1", PORT))


def test_raw_sockets_are_refused() -> None:
    refused(socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    refused(socket.socket, socket.AF_PACKET, socket.SOCK_RAW)
