"""A Unix socket with a file, such as the Hub's: outside the project, and within it."""

import os
import socket

from tests.adversarial.attacks.inside import PROJECT, SOCKET, refused


def test_nobody_answers() -> None:
    for path in (SOCKET, str(PROJECT / "in.sock"), "in.sock"):
        with socket.socket(socket.AF_UNIX) as end:
            refused(end.connect, path)


def test_nobody_reads_from_a_pipe_in_the_project() -> None:
    refused(os.open, PROJECT / "in.pipe", os.O_WRONLY | os.O_NONBLOCK)
