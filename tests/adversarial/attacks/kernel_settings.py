"""Files of /proc and /sys by which root sets the kernel, whatever it may otherwise."""

from pathlib import Path

from tests.adversarial.attacks.inside import refused


def test_none_can_be_written() -> None:
    for name in (
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/pid_max",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/user/max_user_namespaces",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sysrq-trigger",
        "/proc/self/setgroups",
        "/proc/self/uid_map",
    ):
        refused(Path(name).write_text, "0")
    for folder in ("/sys/kernel", "/sys/fs/cgroup", "/proc/acpi"):
        assert not Path(folder).exists() or not any(Path(folder).rglob("release_agent"))
    assert not Path("/sys/fs/cgroup").exists()
