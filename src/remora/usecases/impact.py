"""What a change of a project, or a change of one function, concerns: the use case of `hub impact`."""

import asyncio
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.code.file_analysis import read_facts
from remora.code.syntax.changed_behavior import ChangedNode
from remora.errors import HostError, NotFound, OutsideError
from remora.hub.link_progress import why_unknown
from remora.hub.process.hub_paths import HubPaths
from remora.hub.query.impact import Impact, ImpactSearch, is_text
from remora.hub.query.node_queries import NodeQueries
from remora.hub.query.snapshots import OverlaidSnapshot
from remora.ids import MODULE, display_name, escape_path, node_key, split_node_key
from remora.judges.gates.code_gates import failing, run_tests, test_file
from remora.text import BYTES_PER_TOKEN, count, escape_line, fill_in_turn
from remora.usecases.hub.open_hub import HubObserver, OpenedHub, open_hub
from remora.usecases.hub.target import HubTarget
from remora.usecases.judge.change_trees import ChangeRequest, ChangeTrees, change_trees
from remora.workspaces.rooted_files import RootedFiles

BUDGET = 800
"""Tokens of an answer by default (decision: agents pay for each)."""
_MOST_TESTS = 20
"""Tests of an answer in the default budget; a larger one has more."""
_FIRST_FILES = 4
"""Files of the nearest tests that run first; each later group has twice as many and more."""
_RUN_S = 120.0
"""Seconds that the tests may take (decision)."""
_MOST_FILES = 8
"""Files of an answer, with those of what was left out (decision: a person does not open more)."""
TITLES = {
    "misfits": "No longer fits",
    "overrides": "Overrides, subclasses and methods of the same name",
    "callers": "Called by",
    "references": "Referred to by",
    "texts": "Named in",
}
"""Titles of the lists of an answer, in order."""
_LISTS = ("misfits", "tests", "callers", "overrides", "references", "texts")
Edits = Mapping[str, tuple[bytes | None, bytes | None]]


class Question(NamedTuple):
    """What is asked about: a change, or a name, for which the change is ignored."""

    change: ChangeRequest = ChangeRequest()
    name: str = ""
    budget: int = BUDGET
    runs_tests: bool = False
    """True to run all tests that are found."""


def find_impact(
    invocation: Invocation,
    target: HubTarget,
    question: Question,
    observer: HubObserver,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    """Return what a change concerns, cut to the budget, as a JSON document.

    Raises UsageError for an unknown change or an ambiguous name, NotFound for an unknown name, and
    OutsideError if there is no index.
    """
    with open_hub(invocation, target, observer) as hub:
        files = RootedFiles(hub.places.root)
        named = _of_name(hub, files, question.name) if question.name else None
        if named and not question.runs_tests:
            return _answer(named, "", question.budget, hub.places)
        project = open_project(invocation)
        tell("comparing the project before and after the change")
        with change_trees(project.root, question.change, ()) as trees:
            found = named or _of_change(hub, trees)
            answer = _answer(found, "" if named else trees.since, question.budget, hub.places)
            if question.runs_tests and found.tests:
                tell("running the tests")
                python, why = project.find_python()
                run = partial(run_tests, python, trees.after) if python else None
                answer["run"] = _run(run, found.tests) if run else {"unjudged": why}
            return answer


def _of_name(hub: OpenedHub, files: RootedFiles, name: str) -> Impact:
    key = asyncio.run(_find(hub, name))

    def search(view: OverlaidSnapshot) -> Impact:
        node = view.node(key)
        queries = NodeQueries(view, root=hub.places.root)
        found = ImpactSearch(queries, queries, {}, partial(_content, files))
        line = found.line_of(key) if node is None else node.facts.line_start
        texts = filter(is_text, files.glob("**/*"))
        return found.of([ChangedNode(key=key, line=line, how="named")], texts)

    return _look(hub, search)


async def _find(hub: OpenedHub, name: str) -> str:
    """Return the key of a node, or that of what may be a constant, such as `cart.py:RATES`."""
    with suppress(NotFound):
        return (await hub.client.find(name, folder=hub.folder)).key
    owner, *constant = re.split(r"[.:](?!pyi?$)(?=\w+$)", name)
    path, within = split_node_key((await hub.client.find(owner, folder=hub.folder)).key)
    return node_key(path, ".".join([*([] if within == MODULE else [within]), *constant]))


def _of_change(hub: OpenedHub, trees: ChangeTrees) -> Impact:
    files = RootedFiles(trees.after)
    edits = {
        path: (file.before, file.after)
        for path, file in trees.files.items()
        if path.endswith(".py")
    }
    now = RootedFiles(hub.places.root)

    def side(view: OverlaidSnapshot, contents: Mapping[str, bytes | None]) -> NodeQueries:
        other = {path: new for path, new in contents.items() if new != _content(now, path)}
        facts = {
            escape_path(path): None if new is None else read_facts(path, new)
            for path, new in other.items()
        }
        return NodeQueries(OverlaidSnapshot(view, facts) if facts else view, root=hub.places.root)

    def search(view: OverlaidSnapshot) -> Impact:
        before, after = ({path: both[at] for path, both in edits.items()} for at in (0, 1))
        found = ImpactSearch(side(view, before), side(view, after), edits, partial(_content, files))
        return found.of_edits(filter(is_text, files.glob("**/*")))

    return _look(hub, search)


def _look(hub: OpenedHub, search: Callable[[OverlaidSnapshot], Impact]) -> Impact:
    found = asyncio.run(hub.client.ask_current(lambda current: current.look(search)))
    if found is None:
        raise OutsideError("there is no index", hint="build it with `remora hub index`")
    return found


def _content(files: RootedFiles, path: str) -> bytes | None:
    try:
        return files.read_bytes(path)
    except HostError:
        return None


def _answer(found: Impact, since: str, budget: int, places: HubPaths) -> dict[str, Any]:
    """Return the document: as much of each list as fits, the most important ones in turn."""
    changed = [
        {"name": display_name(node.key), "place": f"{split_node_key(node.key)[0]}:{node.line}"}
        | ({"how": node.how, "what": [*node.what]} if node.how != "named" else {})
        for node in found.changed
    ]
    waiting = {name: msgspec.to_builtins(getattr(found, name)) for name in _LISTS}
    waiting = {"changed": changed, **waiting}
    document: dict[str, Any] = {"since": since} if since else {}
    document |= {name: [] for name in waiting}
    document |= {"incomplete": [*found.incomplete]} if found.incomplete else {}
    document |= {} if found.has_all_tests else {"unknown": why_unknown(places)}

    most = max(_MOST_TESTS, _MOST_TESTS * budget // BUDGET)

    def fits() -> bool:
        size = sum(len(line.encode()) + 1 for line in impact_lines(document))
        return size <= budget * BYTES_PER_TOKEN and len(document["tests"]) <= most

    left = fill_in_turn(document, waiting, fits)
    document |= {"command": test_command(document["tests"])} if document["tests"] else {}
    if not left:
        return document
    there = {_file(item) for name in _LISTS for item in document[name]}
    others = dict.fromkeys(_file(item) for name in _LISTS for item in waiting[name])
    also = [path for path in others if path not in there][: max(0, _MOST_FILES - len(there))]
    return {**document, "left_out": left, "also": also}


def _file(item: Mapping[str, Any] | str) -> str:
    return test_file(item) if isinstance(item, str) else item["place"].partition(":")[0]


def test_command(tests: list[str]) -> str:
    """Return the command that runs some tests."""
    return f"pytest {shlex.join(tests)}"


def impact_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the answer for people and models, in which nothing is hidden."""
    yield from map(escape_line, _raw_lines(document))


def _raw_lines(document: Mapping[str, Any]) -> Iterator[str]:
    if since := document.get("since"):
        yield f"your files are as in HEAD: compared with {since}"
    changed = document["changed"]
    if not changed and not document["tests"]:
        yield "nothing that is called has changed"
    for node in changed:
        what = "; ".join(node.get("what", ()))
        yield f"{node['place']} {_short(node['name'])} {what}".rstrip()
    for name, title in TITLES.items():
        yield from [title] if document[name] else []
        yield from (_row_text(row, len(changed) > 1) for row in document[name])
    if document["tests"]:
        yield from ("Tests", test_command(document["tests"]))
    yield from _notes(document)


def _row_text(row: Mapping[str, str], of_several: bool) -> str:
    name = row.get("name", row["about"])
    where = "" if name in (row["place"], _file(row)) else _short(name)
    about = f"for {_short(row['about'])}" if "name" in row and of_several else ""
    tier = f"({row['tier']})" if "tier" in row else ""
    return " ".join(filter(None, [row["place"], where, about, row.get("why", ""), tier]))


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield how the tests ended, and what the answer lacks."""
    if run := document.get("run"):
        yield run.get("unjudged") or f"{run['passed']:,} passed"
        yield from (f"fails: {test}" for test in run.get("failed", ()))
        yield from [run["left_out"]] if "left_out" in run else []
    left_out, unknown = document.get("left_out", {}), document.get("unknown", "")
    there = {name for name in _LISTS if document[name]}.union(left_out)
    is_old = any(node.get("how") != "new" for node in document["changed"])
    if is_old and there.isdisjoint(("callers", "misfits", "overrides", "references")):
        yield f"No known callers or references{' outside tests' if 'tests' in there else ''}"
    if unknown or (document["changed"] and "tests" not in there):
        yield f"Not all tests are known yet: {unknown}" if unknown else "No known tests"
    if incomplete := document.get("incomplete"):
        yield f"Not read, and may have more: {', '.join(incomplete)}"
    if left_out:
        numbers = ", ".join(f"{number} {name}" for name, number in left_out.items())
        also = f"; also in {', '.join(document['also'])}" if document["also"] else ""
        yield f"Left out: {numbers}{also}"


def _short(name: str) -> str:
    return name.rpartition(":")[2]


def _run(run: Callable[..., Mapping[str, int]], tests: Sequence[str]) -> dict[str, Any]:
    """Return how the files of tests end, as many as the time allows, the first ones first."""
    files = [*dict.fromkeys(map(test_file, tests))]
    levels, done, late = dict[str, int](), 0, dict[str, str]()
    ends = time.monotonic() + _RUN_S
    while done < len(files) and not late:
        group = files[done : 2 * done + _FIRST_FILES]
        try:
            levels |= run(max(1.0, ends - time.monotonic()), tuple(group))
            done += len(group)
        except HostError as error:
            if not done:
                return {"unjudged": error.with_hint}
            late["left_out"] = f"not run: {count(len(files) - done, 'test file')}: {error.message}"
    failed = failing(levels)
    passed = len(levels) - 2 * len(failed)
    return {"files": files[:done], "passed": passed, "failed": failed, **late}
