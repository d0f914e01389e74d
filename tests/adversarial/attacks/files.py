"""What lies outside: files, folders, links, and the devices below them."""

import ctypes
import os
import shutil
import stat
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.adversarial.attacks.inside import (
    BESIDE,
    HOME,
    LIBC,
    MARK,
    PARENT,
    PROJECT,
    called,
    refused,
)


def test_beside_is_out_of_reach() -> None:
    refused((BESIDE / "app.py").read_text)
    refused((BESIDE / "app.py").open, "a")
    refused(shutil.rmtree, BESIDE)
    refused(os.listdir, PROJECT / ".." / "beside")
    refused(os.mkdir, BESIDE / ".git" / "hooks")


def test_beside_nothing_else_is_shown_above() -> None:
    assert os.listdir(PROJECT.parent) == [PROJECT.name]


def test_home_is_not_there() -> None:
    refused((HOME / ".ssh" / "id").read_text)
    refused((HOME / ".bashrc").open, "a")
    refused((HOME / ".config" / "new").write_text, "x")
    refused(os.listdir, HOME / ".ssh")


def test_home_ours_is_another_and_empty() -> None:
    assert list(Path.home().iterdir()) == []
    (Path.home() / "file").write_text("x")


def test_home_no_other_home_is_there() -> None:
    refused(os.listdir, Path("~root").expanduser() / ".ssh")
    assert not Path("/home").exists() or not any(Path("/home").glob("*/.*"))
    for name in ("shadow", "gshadow", "sudoers", "ssh"):
        assert not Path("/etc", name).exists()


def test_outside_files_keep_what_they_have() -> None:
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


def test_hard_links_files_outside_cannot_be_linked_to() -> None:
    refused(os.link, HOME / ".bashrc", PROJECT / "mine")
    refused(os.link, "/usr/bin/env", PROJECT / "mine")
    refused(os.link, PROJECT / "app.py", HOME / "theirs")


def test_hard_links_a_second_name_keeps_what_had() -> None:
    with (PROJECT / "twin").open("r+") as file:  # in place, as formatters do
        file.write("gotcha")
    assert (PROJECT / "twin").read_text().startswith("gotcha")


def test_symlinks_lead_nowhere() -> None:
    for name in ("to_file", "to_folder/.bashrc", "relative/.bashrc"):
        refused((PROJECT / name).read_text)
        refused((PROJECT / name).open, "a")
    for number, target in enumerate((str(HOME), "/proc/1/root", f"/proc/{os.getppid()}/cwd")):
        link = PROJECT / f"new{number}"
        link.symlink_to(target)
        refused((link / str(HOME).lstrip("/") / ".bashrc").read_text)
        refused((link / ".bashrc").read_text)


EXCHANGE = 2


def test_rename_nothing_goes_across() -> None:
    refused(os.rename, PROJECT / "app.py", HOME / "app.py")
    refused(os.rename, HOME / ".bashrc", PROJECT / "mine")
    refused(os.rename, "/usr/bin/env", "/usr/bin/other")
    one, other = os.fsencode(PROJECT / "app.py"), os.fsencode(HOME / ".bashrc")
    refused(called, LIBC.renameat2, -100, one, -100, other, ctypes.c_uint(EXCHANGE))
    assert os.path.exists(PROJECT / "app.py")


def test_metadata_none_can_be_changed() -> None:
    for path in (
        HOME / ".bashrc",
        BESIDE / "app.py",
        "/usr/bin/env",
        sys.executable,
        "/etc/passwd",
    ):
        refused(os.chmod, path, 0o777)
        refused(os.utime, path, (0, 0))
        refused(os.chown, path, os.getuid(), os.getgid())
        refused(os.setxattr, path, "user.mine", b"1")


def test_environment_of_tests_cannot_be_changed() -> None:
    for place in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")):
        refused(Path(place, "evil.pth").write_text, "import evil")
        refused(os.mkdir, Path(place, "evil"))
    refused(Path(pytest.__file__).open, "a")
    refused(Path(sys.executable).open, "a")
    refused(Path("/usr/bin/env").unlink)


def test_devices_there_is_none_that_keeps_anything() -> None:
    assert not [path for path in Path("/dev").iterdir() if path.is_block_device()]
    for name in ("mem", "kmem", "port", "kmsg", "fuse", "kvm", "net", "vda", "sda", "loop0"):
        assert not Path("/dev", name).exists()


def test_devices_none_can_be_made() -> None:
    for folder in (PROJECT, Path(os.environ["TMPDIR"])):
        refused(os.mknod, folder / "disk", stat.S_IFBLK | 0o600, os.makedev(8, 0))
        refused(os.mknod, folder / "memory", stat.S_IFCHR | 0o600, os.makedev(1, 1))
        assert os.statvfs(folder).f_flag & os.ST_NODEV


def test_temporary_write_wherever_works() -> None:
    written = 0
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run"):
        try:
            Path(folder, MARK).write_text("x")
            written += 1
        except OSError:
            continue
    assert written >= 2, "temporary files must be possible"
    assert os.environ["TMPDIR"]


def test_descriptors_only_three_were_inherited() -> None:
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


def test_descriptors_the_first_process_shows_none_to_write_to() -> None:
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
