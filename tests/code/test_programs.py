"""Ground truth: small programs by language feature, proved by running them."""

import pytest

from remora.code.callgraph.linker import Linker
from remora.code.file_analysis import read_facts
from remora.hub.query.snapshots import MemorySnapshot
from tests.code.ground import Pair, Program, Score, Seen, programs, run

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


def found(program: Program) -> dict[Pair, str]:
    """Every edge that the linker finds in a program, with its tier."""
    facts = {path: read_facts(path, text.encode()) for path, text in program.files.items()}
    view = MemorySnapshot(facts)
    linker, keys = Linker(view), list(view.keys())
    return {(key, edge.key): edge.tier for key in keys for edge in linker.callees(key)}


def test_the_linker_finds_what_is_there() -> None:
    score, faults = Score(), []
    for program in PROGRAMS:
        faults += score.add(program, found(program))
    told = "\n".join([f"precision {score.precision:.3f}, recall {score.recall:.3f}", *faults])
    assert score.precision >= 0.98, told
    assert score.recall >= 0.88, told


def test_a_score_counts_what_is_right_wrong_and_missed() -> None:
    program = next(p for p in PROGRAMS if name(p) == "direct_calls/one_call")
    ((caller, callee),) = program.expected
    score = Score()
    assert score.add(program, {(caller, callee): "exact"}) == []
    assert (score.precision, score.recall) == (1, 1)
    faults = score.add(program, {(callee, caller): "unique", (caller, "ext:x"): "exact"})
    assert len(faults) == 2
    assert (score.right, score.wrong, score.missed) == (1, 1, 1)
    assert score.tiers == {("exact", True): 1, ("unique", False): 1}
