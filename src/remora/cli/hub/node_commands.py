"""Commands that query nodes: `hub get`, `callers`, `callees`, `tests`, `search` and `impact`."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from remora.cli.app.options import PATH, Options, command
from remora.cli.app.output import (
    emit,
    note,
    print_error,
    print_lines,
    table,
    terminal_width,
    wrap_text,
)
from remora.cli.app.project_context import invocation_of
from remora.cli.app.working import progress_bar, working
from remora.cli.hub.hub_options import target_options
from remora.errors import OutsideError, UsageError
from remora.text import count, escape_line

if TYPE_CHECKING:
    from remora.cli.hub.node_queries import HubQuery
    from remora.cli.hub.node_view import Link, NodeNotes
    from remora.hub.node import AnsweredNode
    from remora.hub.sources.node_lookup import FoundNode
    from remora.usecases.hub.target import HubTarget

_DEPTH = click.IntRange(min=1)
_LIMIT = click.IntRange(min=1, max=10_000)
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _depth_option(about: str) -> Callable[[_Command], _Command]:
    return click.option("--depth", type=_DEPTH, default=1, metavar="N", help=about)


@command(
    "get",
    examples=(
        "remora hub get Cart.total",
        "remora hub get src/shop/cart.py:Cart.total -v",
        "remora hub get src/shop/cart.py --json",
    ),
)
@click.argument("node", metavar="NODE")
@target_options
def get(options: Options, node: str, target: "HubTarget") -> int:
    """Show a node's signature, location, links, tests and freshness.

    NODE is path:qualname, or just a path for a module. Paths are relative to the root or to the
    current directory. NODE can also be a unique qualname or dotted name (shop.cart.Cart), or the
    end of such a name. With -v, all links and hashes are shown.
    """
    import msgspec

    from remora.cli.hub.node_queries import hub_query
    from remora.cli.hub.node_view import node_page

    with hub_query(options, target) as hub:
        meant = hub.find(node)
        found = hub.node(meant.key)
        _note_other_definitions(options, meant)
        document: Any = msgspec.to_builtins(found)
        emit(
            options,
            document,
            node_page(found, terminal_width(), _node_notes(hub, found), verbose=options.verbose),
        )
    return 0


@command(
    "callers",
    examples=("remora hub callers Cart.total", "remora hub callers Cart.total --depth 3 --json"),
)
@click.argument("node", metavar="NODE")
@_depth_option("Include callers of callers, up to N steps. [default: 1]")
@target_options
def callers(options: Options, node: str, depth: int, target: "HubTarget") -> int:
    """Show the callers of a node.

    Each link has a tier that indicates how certain it is: exact (explicit in the source), inferred
    (follows from assignments, returns or callbacks), unique (the only definition of that name)
    or possible (one of several inferred alternatives). Calls by
    `getattr`, or through values that are only known at run time, may be missing.
    """
    return _print_links(options, target, "callers", node, depth)


@command(
    "callees",
    examples=("remora hub callees Cart.total", "remora hub callees cart.py:checkout --depth 2"),
)
@click.argument("node", metavar="NODE")
@_depth_option("Include callees of callees, up to N steps. [default: 1]")
@target_options
def callees(options: Options, node: str, depth: int, target: "HubTarget") -> int:
    """Show what a node calls.

    Names outside the project start with ext:. `remora hub callers --help` explains the tiers.
    """
    return _print_links(options, target, "callees", node, depth)


@command(
    "tests",
    examples=("remora hub tests Cart.total", "remora hub tests Cart.total | xargs -r pytest"),
)
@click.argument("node", metavar="NODE")
@_depth_option("Include tests of callers, up to N - 1 steps. [default: 1]")
@click.option(
    "--limit", type=_LIMIT, default=20, metavar="N", help="Maximum number of tests. [default: 20]"
)
@target_options
def tests(options: Options, node: str, depth: int, limit: int, target: "HubTarget") -> int:
    """Show the tests that exercise a node, as pytest IDs, the nearest first.

    `remora hub callers --help` explains the tiers. Tests with the tier covered are added from the
    project's coverage file, if it has contexts (`pytest --cov --cov-context=test`). If the output is piped, it contains one ID per
    line and may be empty. Use `xargs -r`, because pytest without an ID runs all tests. Exit with 3
    if the tests are unknown.
    """
    return _print_links(options, target, "tests", node, depth, limit)


@command("search", examples=("remora hub search total", "remora hub search cart total --limit 5"))
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--limit", type=_LIMIT, default=50, metavar="N", help="Maximum number of nodes. [default: 50]"
)
@target_options
def search(options: Options, query: tuple[str, ...], limit: int, target: "HubTarget") -> int:
    """Find nodes whose path or qualname contains every word of QUERY."""
    from remora.cli.hub.node_queries import hub_query

    with hub_query(options, target) as hub:
        found = hub.search(" ".join(query), limit)
    emit(options, found, _match_lines(found["nodes"], limit))
    return 0


@command(
    "impact",
    examples=(
        "remora hub impact",
        "remora hub impact Cart.total --run",
        "remora hub impact main...feature",
        "git diff | remora hub impact --diff - --json",
    ),
)
@click.argument("about", metavar="[REV..REV|NAME]", default="")
@click.option("--staged", is_flag=True, help="Ask about what is staged for the next commit.")
@click.option("--diff", type=PATH, metavar="FILE", help="Ask about a unified diff of your files.")
@click.option(
    "--run",
    "runs",
    is_flag=True,
    help="Run the files of all tests found, in isolation, for 2 minutes.",
)
@click.option(
    "--budget", type=click.IntRange(200, 20_000), default=800, show_default=True, metavar="N",
    help="Tokens of the answer.",
)  # fmt: skip
@target_options
def impact(  # noqa: PLR0913 (one parameter for each option)
    options: Options,
    *,
    about: str,
    staged: bool,
    diff: Path | None,
    runs: bool,
    budget: int,
    target: "HubTarget",
) -> int:
    """Show what a change concerns, and which tests to run.

    The change is REV..REV or REV...REV, or what your files have changed since HEAD, or since the
    branch began. NAME asks about a change of this function or class. The answer has the calls that
    no longer fit, other callers, overrides, the texts that name what has changed, and a command that
    runs the nearest tests, of which a larger budget has more. The exit code is 1 if a call no longer fits or a test fails.
    """
    if (diff is not None) + staged + bool(about) > 1:
        raise UsageError(
            "--diff, --staged and an argument exclude each other", hint="use one of them"
        )
    with working(options, "starting") as tell:
        from remora.cli.run.judge_command import read_diff
        from remora.usecases.hub.open_hub import HubObserver
        from remora.usecases.impact import Question, find_impact, impact_lines
        from remora.usecases.judge.change_trees import ChangeRequest

        is_change = ".." in about
        change = ChangeRequest(
            about if is_change else "", staged, None if diff is None else read_diff(diff)
        )
        question = Question(change, "" if is_change else about, budget, runs)
        observer = HubObserver(
            note=partial(note, options), progress=partial(progress_bar, options, "files")
        )
        found = find_impact(invocation_of(options), target, question, observer, tell)
    emit(options, found, impact_lines(found))
    return 1 if found["misfits"] or found.get("run", {}).get("failed") else 0


def _node_notes(hub: "HubQuery", node: "AnsweredNode") -> "NodeNotes":
    from remora.cli.hub.node_view import NodeNotes

    lacks = None in (node.callers, node.callees, node.related_tests)
    is_class = node.node_type == "class"
    return NodeNotes(
        unknown=hub.unknown_because() if lacks else "",
        constructor=hub.constructor(node.key) if is_class else None,
    )


def _print_links(
    options: Options, target: "HubTarget", kind: str, name: str, depth: int, limit: int = 0
) -> int:
    from remora.cli.hub.node_queries import hub_query

    with hub_query(options, target) as hub:
        meant = hub.find(name)
        answer = hub.links(kind, meant.key, depth)
        if kind == "tests":
            answer = hub.with_coverage(answer, limit)
        _note_other_definitions(options, meant)
        if answer[kind] is None:
            return _print_unknown(options, hub, kind, answer)
        if options.json:
            emit(options, answer, ())
            return 0
        print_lines(_output_lines(kind, meant.key, answer, verbose=options.verbose))
        for text in _notes(answer):
            note(options, text)
        if kind == "callers":
            _note_constructor(options, hub, meant)
        return 0


def _notes(answer: dict[str, Any]) -> Iterator[str]:
    """Yield what an answer lacks."""
    from remora.cli.hub.node_view import NOT_ALL_TESTS

    if note_on_coverage := answer.get("coverage", {}).get("note"):
        yield escape_line(note_on_coverage)
    if not answer["fresh"]:
        yield "not up to date: some changed files have not been read yet"
    if not answer.get("complete", True):
        yield NOT_ALL_TESTS
    if unread := answer.get("incomplete"):
        yield escape_line(f"there may be more in files that could not be read: {', '.join(unread)}")
    if "total" in answer:
        yield f"these are the nearest of {answer['total']:,} tests; --limit shows more"


def _print_unknown(options: Options, hub: "HubQuery", kind: str, answer: dict[str, Any]) -> int:
    """Print an error that explains why links are unknown, and return the exit code."""
    name = escape_line(answer["node"].removeprefix("node:"))
    because = escape_line(hub.unknown_because())
    print_error("unknown_links", f"the {kind} of {name} are unknown", because, as_json=False)
    if options.json:
        emit(options, answer, ())
    return OutsideError.exit_code


def _note_constructor(options: Options, hub: "HubQuery", meant: "FoundNode") -> None:
    """Print a note that creating an instance calls `__init__` rather than the class."""
    from remora.cli.hub.node_view import CONSTRUCTOR_NOTE

    made = hub.constructor(meant.key) if meant.node_type in ("class", None) else None
    if made is not None:
        note(options, CONSTRUCTOR_NOTE.format(made.removeprefix("node:")))


def _note_other_definitions(options: Options, meant: "FoundNode") -> None:
    if meant.further:
        first, *_, last = (key.removeprefix("node:") for key in (meant.key, *meant.further))
        times = len(meant.further) + 1
        note(options, f"{first} is the first of {times} definitions; the last is {last}")


def _output_lines(kind: str, key: str, answer: dict[str, Any], *, verbose: bool) -> Iterable[str]:
    if kind == "tests" and terminal_width() is None:
        return [escape_line(link["id"]) for link in answer[kind]]
    return _link_page(key, kind, answer, verbose=verbose)


def _link_page(key: str, kind: str, answer: dict[str, Any], *, verbose: bool) -> Iterator[str]:
    import msgspec

    from remora.cli.hub.node_view import legend, lines_of, link_lines
    from remora.code.links import Edge, Related

    name = escape_line(key.removeprefix("node:"))
    found: list[Link] = msgspec.convert(
        answer[kind], list[Related] if kind == "tests" else list[Edge]
    )
    place = lines_of(key) if kind == "callees" and found else ""
    title = count(len(found), kind.removesuffix("s")) if found else f"no known {kind}"
    yield click.style(f"{name}: {title}{place}", bold=bool(found))
    yield from link_lines(found, verbose=verbose)
    if references := msgspec.convert(answer.get("references", ()), list[Edge]):
        yield click.style(count(len(references), "reference"), bold=True)
        yield from link_lines(references, verbose=verbose)
        found = [*found, *references]
    day = answer.get("coverage", {}).get("day", "")
    for line in wrap_text(legend(found, day), terminal_width()):
        yield click.style(line, fg="bright_black")


def _match_lines(nodes: list[dict[str, Any]], limit: int) -> Iterator[str]:
    if not nodes:
        yield "no matching nodes"
        return
    rows = [[node["key"].removeprefix("node:"), node["signature"] or "module"] for node in nodes]
    yield from table(("NODE", "SIGNATURE"), rows)
    if len(nodes) == limit:
        yield f"showing {count(limit, 'match', 'matches')}; use --limit to see more"
