"""Devices: disks and memory, those that are there and those that one could make."""

import os
import stat
from pathlib import Path

from tests.adversarial.attacks.inside import PROJECT, refused


def test_there_is_none_that_keeps_anything() -> None:
    assert not [path for path in Path("/dev").iterdir() if path.is_block_device()]
    for name in ("mem", "kmem", "port", "kmsg", "fuse", "kvm", "net", "vda", "sda", "loop0"):
        assert not Path("/dev", name).exists()


def test_none_can_be_made() -> None:
    for folder in (PROJECT, Path(os.environ["TMPDIR"])):
        refused(os.mknod, folder / "disk", stat.S_IFBLK | 0o600, os.makedev(8, 0))
        refused(os.mknod, folder / "memory", stat.S_IFCHR | 0o600, os.makedev(1, 1))
        assert os.statvfs(folder).f_flag & os.ST_NODEV
