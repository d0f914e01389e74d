"""Files that were open when we started, and the way back to them."""

import os

from tests.adversarial.attacks.inside import refused


def test_only_three_were_inherited() -> None:
    mine = os.open("/dev/null", os.O_RDONLY)
    open_now = {int(name) for name in os.listdir("/proc/self/fd")}
    assert {number for number in open_now if leads_out(number)} == set()
    os.close(mine)


def leads_out(number: int) -> bool:
    """Whether it is a file of the outside."""
    try:
        target = os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return False
    return "world" in target and not os.path.exists(target)


def test_the_first_process_shows_none_to_write_to() -> None:
    own = {os.readlink(f"/proc/self/fd/{number}") for number in (0, 1, 2)}
    try:
        names = os.listdir("/proc/1/fd")
    except OSError:
        return
    for name in names:
        try:
            target = os.readlink(f"/proc/1/fd/{name}")
        except OSError:
            continue
        if target not in own and not target.startswith("anon_inode:"):
            refused(os.open, f"/proc/1/fd/{name}", os.O_WRONLY)
