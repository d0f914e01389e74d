"""Files outside: their content, new ones, none of them any more."""

import os

from tests.adversarial.attacks.inside import BESIDE, HOME, PARENT, refused


def test_they_keep_what_they_have_for_themselves() -> None:
    for path in (HOME / ".ssh" / "id", BESIDE / "app.py"):
        refused(path.read_text)
        refused(path.open, "a")
        refused(os.truncate, path, 0)
        refused(path.unlink)
        refused((path.parent / "new").write_text, "x")
        refused((path.parent / "folder").mkdir)
        refused(os.listdir, path.parent)
    for name in ("/etc/shadow", f"/proc/{PARENT}/environ"):
        refused(open, name)
