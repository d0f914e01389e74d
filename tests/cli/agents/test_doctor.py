"""`remora doctor` names what the platform offers."""

from dataclasses import replace
from pathlib import Path

from remora.facilities import FACILITIES, POSIX_VARIABLE
from tests.cli.conftest import Remora
from tests.platform_facilities import need_facility


def test_doctor_lists_what_linux_offers(poor: Remora, project: Path) -> None:
    need_facility(*FACILITIES)
    shown = poor("doctor", cwd=project).out.splitlines()
    for name in FACILITIES:
        assert f"ok  {name:<10} the kernel has it" in shown


def test_doctor_says_what_is_lost_without_each_facility(poor: Remora, project: Path) -> None:
    elsewhere = replace(poor, environ={POSIX_VARIABLE: "1"})
    shown = elsewhere("doctor", cwd=project)
    assert shown.code == 0
    for name, (_, lost) in FACILITIES.items():
        assert f"--  {name:<10} missing: {lost}" in shown.out.splitlines()
    assert "subprocesses are not isolated (L0, limits only)" in shown.out
    document = elsewhere("doctor", "--json", cwd=project).document
    found = {check["name"]: check for check in document["checks"]}
    assert [(found[name]["ok"], found[name]["needed"]) for name in FACILITIES] == [
        (False, False) for _ in FACILITIES
    ]
