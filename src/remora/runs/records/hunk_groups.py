"""Groups of the hunks of a change that need each other.

A fix of `UP045` replaces `Optional[int]` in two functions, and then nothing uses the import of
`Optional`. Each of these hunks alone would leave an undefined name or an unused import, so that the
three hunks are one group, which is accepted, rejected or taken out as a whole:

1. Hunks of a file belong together if they change how often a name occurs that is imported or
   defined only before or only after the change, or if they move the same import or definition.
   So do hunks in a block, such as that of an `elif`, if one of them adds or removes its first line.
2. Fixes of a linter are named by the rules of the findings that are gone. A fix may also change
   lines without a finding: such a hunk belongs with the hunks of its function that have one.
3. Other changes are grouped and named by function, and changed signatures by class.
"""

import ast
import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import msgspec

from remora.code.extract import parse_module
from remora.code.syntax.definitions import DEFINITIONS
from remora.code.syntax.nodes import Module, node_at_line
from remora.code.syntax.source import Source, read_source
from remora.ids import MODULE, NodeKey, escape_path, file_of_key, node_key, split_node_key
from remora.operations.base import is_lint_code
from remora.runs.records.findings import ListedFinding, fixed
from remora.runs.records.job_view import JobView
from remora.text import some_of
from remora.workspaces.apply.line_diff import split_lines
from remora.workspaces.apply.merge_change_set import FilePatch
from remora.workspaces.hunks import ChangeHunk, divided, hunks_of, joint_diff

_WORD = re.compile(rb"[^\W\d]\w*")
_NUMBERS = re.compile(r"\(\d+ > \d+\)")
_PART = re.compile(rb"\s*(elif|else|finally)\b")
_LONE = re.compile(rb"\r(?!\n)")  # begins a line for Python, but not in a diff
_FUTURE = "annotations"
"""The name of `from __future__ import annotations`, which every changed signature may need."""
_NAMED = 3
"""Functions that a label names."""


class HunkGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Hunks of a change set that need each other."""

    number: int
    """The number of the group, from 1."""
    hunks: tuple[int, ...]
    """The numbers of `hunks_of`."""
    label: str
    """The rules of a linter, or else the functions."""
    rules: tuple[str, ...]
    """The codes of the findings that the group fixes."""
    nodes: frozenset[NodeKey]
    """The functions, classes and modules that it changes."""
    blocks: tuple[tuple[int, ...], ...]
    """Its hunks, by the blocks that they add or remove together."""


def groups_of(patches: Sequence[FilePatch], job: JobView) -> list[HunkGroup]:
    """Return the groups of the hunks of a job's change set, in the order of their first hunks."""
    hunks = list(_hunks(patches))
    codes = fixed(job.findings.before or {}, job.findings.after or {})
    is_linted = any(map(is_lint_code, codes))
    _name_rules(hunks, job)
    _join_blocks(hunks)
    for hunk in hunks:
        hunk.keys |= hunk.inside
        if not is_linted:
            hunk.keys |= {(hunk.path, owner) for owner in {*hunk.owners, *hunk.signed} - {MODULE}}
    for group in _joined(hunks) if is_linted else ():
        if not any(hunk.rules for hunk in group):
            for hunk in group:
                hunk.keys.update(*(other.keys for other in hunk.fixed_with(hunks)))
    return [
        HunkGroup(
            number=number,
            hunks=tuple(hunk.number for hunk in group),
            label=", ".join(rules) if is_linted and rules else _names(group),
            rules=rules or tuple(sorted(codes)),
            nodes=frozenset(
                node_key(escape_path(hunk.path), owner) for hunk in group for owner in hunk.owners
            ),
            blocks=tuple(
                tuple(hunk.number for hunk in block)
                for block in _joined(group, lambda hunk: hunk.inside)
            ),
        )
        for number, group in enumerate(_joined(hunks), 1)
        for rules in [tuple(sorted({rule for hunk in group for rule in hunk.rules}))]
    ]


def labelled_hunks(
    patches: Sequence[FilePatch], job: JobView, numbers: Collection[int] | None = None
) -> list[ChangeHunk]:
    """Return the hunks of a change set with their groups: all, or those with these numbers."""
    groups = {number: group for group in groups_of(patches, job) for number in group.hunks}
    found = [hunk for hunk in hunks_of(patches) if numbers is None or hunk.number in numbers]
    blocks = dict[int, list[int]]()
    for hunk in found:
        own = next(block for block in groups[hunk.number].blocks if hunk.number in block)
        blocks.setdefault(own[0], []).append(hunk.number)
    together = {block[0]: joint_diff(patches, block) for block in blocks.values() if block[1:]}
    first = {number: block[0] for block in blocks.values() for number in block}
    return [
        msgspec.structs.replace(
            hunk,
            group=groups[hunk.number].number,
            label=groups[hunk.number].label,
            block=first[hunk.number],
            diff=together.get(hunk.number, "") if first[hunk.number] in together else hunk.diff,
        )
        for hunk in found
    ]


@dataclass(eq=False)
class _Hunk:
    """A hunk, as it is grouped."""

    number: int
    path: str
    old: range
    """Its lines before the change."""
    new: range
    """Its lines after the change."""
    owners: list[str]
    """The functions, classes or modules of its lines."""
    signed: set[str]
    """The outermost of them whose signatures it changes."""
    blocks: list[tuple[bool, range]]
    """The lines of the blocks that it adds (True) or removes."""
    keys: set[tuple[str, str]]
    """Hunks that share a key are one group."""
    inside: set[tuple[str, str]]
    """The same for the blocks that hunks add or remove together."""
    rules: set[str] = field(default_factory=set)
    """The codes of the findings that it fixes."""

    def distance(self, line: int) -> int:
        """Return the number of lines from a line of the old version to the hunk."""
        return max(self.old.start - line, line - max(self.old.start, self.old.stop - 1), 0)

    def fixed_with(self, hunks: Sequence["_Hunk"]) -> list["_Hunk"]:
        """Return the hunks of the same function that have a rule, or the nearest of the module."""
        fixes = (hunk for hunk in hunks if hunk.rules and hunk.path == self.path)
        alike = [hunk for hunk in fixes if not {*self.owners}.isdisjoint(hunk.owners)]
        alike.sort(key=lambda hunk: hunk.distance(self.old.start))
        return alike[:1] if self.owners == [MODULE] else alike


class _Version:
    """A version of a file, with the names that each line imports or defines, and its signatures."""

    def __init__(self, path: str, content: bytes | None) -> None:
        content = _LONE.sub(b" ", content or b"")
        self.lines = split_lines(content)
        self.names = defaultdict[int, set[str]](set)
        self.signatures = set[int]()
        self.blocks = dict[int, tuple[str, range]]()
        is_python = path.endswith((".py", ".pyi"))
        self._module = parse_module(path, content) if is_python else None
        source = read_source(path, content) if is_python else None
        for node in ast.walk(source.tree) if isinstance(source, Source) else ():
            if isinstance(node, ast.alias):
                self.names[node.lineno].add(node.asname or node.name.partition(".")[0])
            elif not isinstance(node, DEFINITIONS):
                self._find_blocks(node)
            else:
                self.names[node.lineno].add(node.name)
                if not isinstance(node, ast.ClassDef):
                    self.signatures |= {node.lineno, *range(node.lineno, node.body[0].lineno)}

    def _find_blocks(self, node: ast.AST) -> None:
        """Find the first and the last lines of a statement with a body, its `else` and `finally`."""
        if not isinstance(node, ast.stmt | ast.excepthandler):
            return
        if hasattr(node, "body") or isinstance(node, ast.Match):
            lines = range(node.lineno, (node.end_lineno or 0) + 1)
            self.blocks[node.lineno] = type(node).__name__, lines
        for part in ("orelse", "finalbody"):
            body = getattr(node, part, None) or [node]
            above = range(body[0].lineno, node.lineno, -1)
            first = next((line for line in above if _PART.match(self.lines[line - 1])), 0)
            if first:  # an `elif` is an `if` of the tree, which sets its line again
                self.blocks[first] = part, range(first, (body[-1].end_lineno or 0) + 1)

    @cached_property
    def all_names(self) -> set[str]:
        return set[str]().union(*self.names.values())

    def owner(self, line: int) -> str:
        if not isinstance(self._module, Module):
            return MODULE
        return split_node_key(node_at_line(self._module, line))[1]


class _Side(NamedTuple):
    """The lines of a hunk in one version of its file."""

    version: _Version
    at: range

    @property
    def lines(self) -> list[int]:
        """The lines that are not blank."""
        return [line for line in self.at if self.version.lines[line - 1].strip()]

    def owners(self) -> Iterator[str]:
        """Yield the function, class or module of each line."""
        return map(self.version.owner, self.lines)

    def words(self) -> Counter[bytes]:
        """Count the words of the lines."""
        text = b"".join(self.version.lines[line - 1] for line in self.at)
        return Counter(_WORD.findall(text))

    def names(self) -> set[str]:
        """Return the names that the lines import or define."""
        return set[str]().union(*(self.version.names.get(line, ()) for line in self.at))

    def blocks(self) -> list[tuple[str, range]]:
        """Return the kinds and the lines of the blocks that begin here."""
        return [self.version.blocks[line] for line in self.at if line in self.version.blocks]

    def is_signed(self) -> bool:
        """Return True if there is a line of a signature."""
        return not self.version.signatures.isdisjoint(self.lines)


def _hunks(patches: Sequence[FilePatch]) -> Iterator[_Hunk]:
    path, added = "", 0
    before = after = _Version("", None)
    for number, (patch, hunk) in enumerate(divided(patches), 1):
        if patch.path != path:
            path, added = patch.path, 0
            before, after = _Version(path, patch.base), _Version(path, patch.theirs)
        old, new = range(1, len(before.lines) + 1), range(1, len(after.lines) + 1)
        if hunk is not None:
            start = hunk.start + 1
            old = range(start, hunk.end + 1)
            new = range(start + added, start + added + len(hunk.lines))
            added += len(new) - len(old)
        yield _make_hunk(number, path, _Side(before, old), _Side(after, new))


def _make_hunk(number: int, path: str, before: _Side, after: _Side) -> _Hunk:
    owners = list(dict.fromkeys((*before.owners(), *after.owners()))) or [MODULE]
    is_signed = before.is_signed() or after.is_signed()
    old, new = before.words(), after.words()
    words = {word.decode("utf-8", "replace") for word in (old - new) + (new - old)}
    words |= before.names() | after.names() | ({_FUTURE} if is_signed else set())
    known = before.version.all_names, after.version.all_names
    needed = {word for word in words if (word in known[0]) != (word in known[1])}
    needed |= before.names() ^ after.names()
    blocks = [(False, *block) for block in before.blocks()]
    blocks += [(True, *block) for block in after.blocks()]
    kinds = [Counter(kind for is_new, kind, _ in blocks if is_new == side) for side in (0, 1)]
    return _Hunk(
        number=number,
        path=path,
        old=before.at,
        new=after.at,
        owners=owners,
        signed={owner.partition(".")[0] for owner in owners if is_signed},
        blocks=[(is_new, lines) for is_new, _, lines in blocks if kinds[0] != kinds[1]],
        keys={(path, name) for name in needed},
        inside={("", str(number))},
    )


def _join_blocks(hunks: Sequence[_Hunk]) -> None:
    """Give a key to the hunks in each block that is added or removed."""
    placed = defaultdict[tuple[str, bool, int], list[_Hunk]](list)
    for hunk in hunks:
        for is_new, line in (*((False, n) for n in hunk.old), *((True, n) for n in hunk.new)):
            placed[hunk.path, is_new, line].append(hunk)
    for path, is_new, block in {(hunk.path, *block) for hunk in hunks for block in hunk.blocks}:
        for hunk in (hunk for line in block for hunk in placed.get((path, is_new, line), ())):
            hunk.inside.add((path, f"{is_new} {block}"))


def _name_rules(hunks: Sequence[_Hunk], job: JobView) -> None:
    """Give each finding that is gone to the hunk that is nearest to its line."""
    own = [hunk for hunk in hunks if hunk.path == file_of_key(job.node_id)]
    left = Counter(map(_known, job.findings.last))
    placed: list[tuple[int, _Hunk, ListedFinding]] = []
    for finding in job.findings.first:
        if own and (line := finding.line):
            after = bisect(own, line, key=lambda hunk: hunk.old.start)
            hunk = min(own[max(after - 1, 0) : after + 1], key=lambda hunk: hunk.distance(line))
            placed.append((hunk.distance(line), hunk, finding))
    # of findings with the same text, those far from any hunk are the ones that are left
    for _, nearest, finding in sorted(placed, key=lambda place: -place[0]):
        known = _known(finding)
        if left[known]:
            left[known] -= 1
        else:
            nearest.rules.add(finding.code)


def _known(finding: ListedFinding) -> tuple[str, str]:
    """Return what a finding is known by: a text such as `too many branches (13 > 12)` may change."""
    return finding.code, _NUMBERS.sub("", finding.message)


def _joined(
    hunks: Sequence[_Hunk], keys: Callable[[_Hunk], set[tuple[str, str]]] = attrgetter("keys")
) -> list[list[_Hunk]]:
    """Return the groups of hunks that share a key, directly or by another hunk."""
    groups: dict[tuple[str, str], list[_Hunk]] = {}
    for hunk in hunks:
        group = [hunk]
        for key in keys(hunk):
            other = groups.setdefault(key, group)
            if other is not group:
                smaller, group = sorted((group, other), key=len)
                group += smaller
                groups |= dict.fromkeys((key for moved in smaller for key in keys(moved)), group)
    distinct = {id(group): group for group in groups.values()}.values()
    found = (sorted(group, key=lambda hunk: hunk.number) for group in distinct)
    return sorted(found, key=lambda group: group[0].number)


def _names(group: Sequence[_Hunk]) -> str:
    """Return the functions and classes of a group, or its files if it changes none."""
    owners = dict.fromkeys(owner for hunk in group for owner in hunk.owners if owner != MODULE)
    return some_of(list(owners or dict.fromkeys(hunk.path for hunk in group)), _NAMED)
