"""Ground truth: small programs by language feature, proved by running them."""

import pytest

from tests.code.ground import Program, Seen, programs, run

PROGRAMS = programs()


def name(program: Program) -> str:
    return f"{program.feature}/{program.name}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    folders = []
    for number, program in enumerate(PROGRAMS):
        folders.append(tmp_path_factory.mktemp(f"program{number}"))
        program.write(folders[-1])
    return dict(zip(map(name, PROGRAMS), run(folders), strict=True))


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_the_expected_edges_are_what_a_run_shows(program: Program, runs: dict[str, Seen]) -> None:
    seen = runs[name(program)]
    assert seen.direct - program.expected - program.either == set()
    provable = {pair for pair in program.taken if not is_unseen(program, pair[1])}
    assert provable - seen.direct - seen.through == set()
    # a mark that is not needed would hide a fault
    assert program.unseen & seen.direct == set()


def is_unseen(program: Program, key: str) -> bool:
    """Whether no run can show a call of it: a class has no code of its own, others' is not ours."""
    path, _, qualname = key.removeprefix("node:").rpartition(":")
    short = qualname.rpartition(".")[2].partition("#")[0]
    return key.startswith("ext:") or f"class {short}" in program.files[path]


def test_the_suite_is_as_large_as_promised() -> None:
    assert len(PROGRAMS) >= 130
    assert len({program.feature for program in PROGRAMS}) >= 18
    names = [name(program) for program in PROGRAMS]
    assert len(set(names)) == len(names)
