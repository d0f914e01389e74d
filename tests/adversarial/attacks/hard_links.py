"""Hard links: to files outside, and a file of the project that has a second name outside."""

import os

from tests.adversarial.attacks.inside import HOME, PROJECT, refused


def test_files_outside_cannot_be_linked_to() -> None:
    refused(os.link, HOME / ".bashrc", PROJECT / "mine")
    refused(os.link, "/usr/bin/env", PROJECT / "mine")
    refused(os.link, PROJECT / "app.py", HOME / "theirs")


def test_a_second_name_keeps_what_it_had() -> None:
    with (PROJECT / "twin").open("r+") as file:  # in place, as formatters do
        file.write("gotcha")
    assert (PROJECT / "twin").read_text().startswith("gotcha")
