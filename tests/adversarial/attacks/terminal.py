"""Typing into the terminal that shows our output: its shell would run it when we are gone."""

import fcntl
import os

from tests.adversarial.attacks.inside import refused

TIOCSTI, TIOCLINUX, TIOCSCTTY = 0x5412, 0x541C, 0x540E


def type_in() -> None:
    for number in (0, 1, 2):
        refused(fcntl.ioctl, number, TIOCSCTTY, 1)
        for letter in b"id\n":
            refused(fcntl.ioctl, number, TIOCSTI, bytes([letter]))
        refused(fcntl.ioctl, number, TIOCLINUX, b"\x03" + bytes(7))
    refused(os.open, "/dev/tty", os.O_RDWR)


def test_nobody_types_for_the_user() -> None:
    assert not any(map(os.isatty, range(3)))
    type_in()
    assert os.listdir("/dev/pts") == ["ptmx"]


def test_nor_as_the_first_of_a_session() -> None:
    child = os.fork()
    if child == 0:
        os.setsid()
        try:
            type_in()
        except AssertionError:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
