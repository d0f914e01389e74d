"""Sockets that see what others say, and netlink, which could change the network."""

import socket

from tests.adversarial.attacks.inside import refused


def test_they_are_refused() -> None:
    refused(socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    refused(socket.socket, socket.AF_PACKET, socket.SOCK_RAW)
