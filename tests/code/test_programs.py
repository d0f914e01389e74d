"""The linker finds the calls of small programs, which are verified by running them."""

import pytest

from remora.code.callgraph.linker import Linker
from remora.code.file_analysis import read_facts
from remora.hub.query.snapshots import MemorySnapshot
from tests.code.ground_truth import Pair, Program, Score, Trace, programs, run

PROGRAMS = programs()


def name(program: Program) -> str:
    return f"{program.feature}/{program.name}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    folders = []
    for number, program in enumerate(PROGRAMS):
        folders.append(tmp_path_factory.mktemp(f"program{number}"))
        program.write(folders[-1])
    return dict(zip(map(name, PROGRAMS), run(folders), strict=True))


@pytest.mark.parametrize("program", PROGRAMS, ids=name)
def test_expected_edges_are_those_of_a_run(program: Program, runs: dict[str, Trace]) -> None:
    seen = runs[name(program)]
    assert seen.direct - program.expected - program.either == set()
    provable = {pair for pair in program.taken if not is_unseen(program, pair[1])}
    assert provable - seen.direct - seen.through == set()
    # a superfluous mark would hide a fault
    assert program.unseen & seen.direct == set()


def is_unseen(program: Program, key: str) -> bool:
    """True if a trace cannot show its calls: classes and external code are not traced."""
    path, _, qualname = key.removeprefix("node:").rpartition(":")
    short = qualname.rpartition(".")[2].partition("#")[0]
    return key.startswith("ext:") or f"class {short}" in program.files[path]


def test_at_least_the_expected_number_of_programs_exists() -> None:
    assert len(PROGRAMS) >= 130
    assert len({program.feature for program in PROGRAMS}) >= 18
    names = [name(program) for program in PROGRAMS]
    assert len(set(names)) == len(names)


def found(program: Program) -> dict[Pair, str]:
    """Return the edges that the linker finds in a program, with their tiers."""
    facts = {path: read_facts(path, text.encode()) for path, text in program.files.items()}
    view = MemorySnapshot(facts)
    linker, keys = Linker(view), list(view.keys())
    return {(key, edge.key): edge.tier for key in keys for edge in linker.callees(key)}


def test_precision_and_recall() -> None:
    score, faults = Score(), []
    for program in PROGRAMS:
        faults += score.add(program, found(program))
    report = "\n".join([f"precision {score.precision:.3f}, recall {score.recall:.3f}", *faults])
    assert score.precision >= 0.98, report
    assert score.recall >= 0.88, report


def test_a_score_counts_right_wrong_and_missed_edges() -> None:
    program = next(p for p in PROGRAMS if name(p) == "direct_calls/one_call")
    ((caller, callee),) = program.expected
    score = Score()
    assert score.add(program, {(caller, callee): "exact"}) == []
    assert (score.precision, score.recall) == (1, 1)
    faults = score.add(program, {(callee, caller): "unique", (caller, "ext:x"): "exact"})
    assert len(faults) == 2
    assert (score.right, score.wrong, score.missed) == (1, 1, 1)
    assert score.tiers == {("exact", True): 1, ("unique", False): 1}
