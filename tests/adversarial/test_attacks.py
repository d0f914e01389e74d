"""Hostile tests, really run with pytest: from level 2 on, nothing outside knows of them."""

import signal

import pytest

from tests.adversarial.attack_targets import ATTACKS, World
from tests.isolation_levels import need

NAMES = sorted(path.stem for path in ATTACKS.glob("*.py") if path.stem != "inside")
ALONE = [
    ["daemons"], ["files_without_end"], ["fork_bomb"], ["kill_parent"], ["kill_them_all"],
    ["memory"], ["own_tree"],
]  # fmt: skip
"""Those that end the run, or leave nothing for others."""
TOGETHER = [name for name in NAMES if [name] not in ALONE]
ENDS_ITSELF = {"kill_them_all": {0, -signal.SIGKILL}, "kill_parent": {0, -signal.SIGKILL}}
HARMLESS = (
    "abstract_socket",
    "beside",
    "environment_of_tests",
    "hard_links",
    "home",
    "hub_socket",
    "metadata",
    "own_tree",
    "parent_environment",
    "proc_memory",
    "rename",
    "shared_memory",
    "symlinks",
    "tcp",
    "temporary",
    "udp",
)
"""Those that may be let loose on this world: they reach nothing but what belongs to it."""
STOPPED_BY_LANDLOCK = (
    "abstract_socket",
    "daemons",
    "environment_of_tests",
    "io_uring",
    "keys",
    "outside_files",
    "ptrace",
    "raw_sockets",
    "rename",
    "signals",
    "listener",
)


@pytest.fixture(params=[2, pytest.param(3, marks=pytest.mark.slow)], ids="L{}".format)
def level(request: pytest.FixtureRequest) -> int:
    return need(request.param)


@pytest.mark.parametrize("names", [TOGETHER, *ALONE], ids=lambda names: names[0])
def test_an_attack_reaches_nothing(world: World, names: list[str], level: int) -> None:
    code, said = world.attack(*names, level=level)
    assert code in ENDS_ITSELF.get(names[0], {0}), said
    world.check()


@pytest.mark.slow
@pytest.mark.parametrize("name", STOPPED_BY_LANDLOCK)
def test_landlock_alone_stops_it(world: World, name: str) -> None:
    code, said = world.attack(name, level=need(1))
    assert code == 0, said
    world.check()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hub_socket", "metadata", "shared_memory", "udp"])
def test_landlock_alone_does_not_stop_it(world: World, name: str) -> None:
    """Why level 1 is not enough for code that nobody vouches for."""
    code, _ = world.attack(name, level=need(1))
    assert code != 0 or breached(world)


@pytest.mark.slow
@pytest.mark.parametrize("name", HARMLESS)
def test_without_isolation_it_does_reach_something(world: World, name: str) -> None:
    """An attack that never works would prove nothing."""
    code, _ = world.attack(name, level=0)
    assert code != 0 or breached(world)


def breached(world: World) -> bool:
    try:
        world.check()
    except AssertionError:
        return True
    return False
