"""Links in the project that lead out of it: those that lie there, and new ones."""

import os

from tests.adversarial.attacks.inside import HOME, PROJECT, refused


def test_they_lead_nowhere() -> None:
    for name in ("to_file", "to_folder/.bashrc", "relative/.bashrc"):
        refused((PROJECT / name).read_text)
        refused((PROJECT / name).open, "a")
    for number, target in enumerate((str(HOME), "/proc/1/root", f"/proc/{os.getppid()}/cwd")):
        link = PROJECT / f"new{number}"
        link.symlink_to(target)
        refused((link / str(HOME).lstrip("/") / ".bashrc").read_text)
        refused((link / ".bashrc").read_text)
