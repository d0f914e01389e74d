"""A round of precomputing links, in which missing links are computed."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from remora.code.callgraph.files.program_protocol import OutOfTimeError
from remora.code.callgraph.incremental import AliasDigest, invalidated
from remora.code.callgraph.linker import Linker
from remora.code.ir.model import LoweredFile
from remora.errors import RemoraError, undo_on_error
from remora.hub.store.link_reader import encode_reads, link_state
from remora.hub.store.link_writer import CarriedRow, LinkRow, Portion, RoundStart, Unlinked
from remora.hub.store.reader import StoredSnapshot
from remora.ids import split_node_key
from remora.text import exception_summary

PART_S = 60.0
"""Seconds of processor time for the nodes of a portion. Those of large projects take less than one.

Time that passes while other programs run is not counted, because a round has the lowest priority.
"""
_AT_ONCE = 200  # maximum nodes per portion; requests wait while a portion is written


class LinkRound(NamedTuple):
    """A round: its first message, and the nodes without stored links, grouped by path."""

    beginning: RoundStart
    todo: Mapping[str, list[str]]
    program: StoredSnapshot
    new_linker: Callable[[], Linker]
    carried: set[str]
    """Keys of the nodes for which a CarriedRow is stored."""


def begin_round(db: Path) -> LinkRound:
    """Find the nodes without stored links. Raises DiskError if the database cannot be read.

    `find_links` closes the program.
    """
    with link_state(db) as state:  # close early: the log grows while it is open
        base, missing = state.base, dict.fromkeys(sorted(state.nodes))
        before, carried, linked = state.before(), state.carried(), list(state.linked())
        program = state.program()
    with undo_on_error(program.close):
        return _round(base, program, missing, before, carried, linked)


def _round(
    base: int,
    program: StoredSnapshot,
    missing: dict[str, None],
    before: Mapping[str, LoweredFile | None],
    carried: Mapping[str, AliasDigest],
    linked: Iterable[tuple[str, int]],
) -> LinkRound:
    new_linker = partial(Linker, program, track_inputs=True)
    inputs, renewed = 0, dict[str, AliasDigest]()
    if before:
        inputs, renewed = invalidated(program, new_linker().alias_digest, before, carried)
    # drop carried rows of removed nodes that no name reaches
    uncarried = {
        key
        for key, now in renewed.items()
        if not now.names and carried[key].names and key not in missing
    }
    stale = []
    for key, reads in linked:
        if key not in missing or reads & inputs or split_node_key(key)[0] in before:
            stale.append(key)
        else:
            del missing[key]
    todo: dict[str, list[str]] = {}
    for key in missing:
        todo.setdefault(split_node_key(key)[0], []).append(key)
    rows = tuple(_carried_row(key, now) for key, now in renewed.items() if key not in uncarried)
    beginning = RoundStart(base, tuple(stale), rows, tuple(uncarried))
    return LinkRound(beginning, todo, program, new_linker, carried.keys() - uncarried)


def find_links(about: LinkRound) -> Iterator[Portion]:
    """Compute links and yield them in portions. Each portion contains nodes of one file.

    If the linker fails for a node, the node is reported in `Portion.failed`. If it takes too long,
    all nodes of the file without a portion are reported. The program is closed at the end.
    """
    with closing(about.program):
        finder = _LinkFinder(about)
        for keys in about.todo.values():
            yield from finder.of_file(keys)


class _LinkFinder:
    """Computes links with a linker, which is replaced if a failure leaves it inconsistent."""

    def __init__(self, about: LinkRound) -> None:
        self._about = about
        self._known = about.carried
        self._linker = about.new_linker()
        about.program.clock = time.process_time

    def of_file(self, keys: list[str]) -> Iterator[Portion]:
        done: set[str] = set()
        try:
            for first in range(0, len(keys), _AT_ONCE):
                for portion in self._of_part(keys[first : first + _AT_ONCE]):
                    done |= {row.key for row in portion.links}
                    done |= {failure.key for failure in portion.failed}
                    yield portion
        except OutOfTimeError:
            self._about.program.deadline = math.inf
            self._linker = self._about.new_linker()
            left = [key for key in keys if key not in done]
            yield _failed(left, f"the file takes longer than {PART_S:g} s")

    def _of_part(self, keys: list[str]) -> Iterator[Portion]:
        self._about.program.deadline = time.process_time() + PART_S
        found = self._portion(keys)
        if found.failed and len(keys) > 1:
            for key in keys:
                yield self._portion([key])
        else:
            yield found

    def _portion(self, keys: list[str]) -> Portion:
        """Return the links of these nodes. If any of them fails, report all of them as failed."""
        linker, known = self._linker, self._known
        try:
            links = tuple(_link_row(linker, key) for key in keys)
            carried: dict[str, CarriedRow] = {}
            while unknown := linker.alias_dependent - known - carried.keys():
                carried |= {
                    key: _carried_row(key, linker.alias_digest(key)) for key in sorted(unknown)
                }
        except (RemoraError, OutOfTimeError):
            raise
        except Exception as error:  # noqa: BLE001 (one bug must not lose all other nodes' links)
            self._linker = self._about.new_linker()
            return _failed(keys, f"{exception_summary(error)}; this is a bug, please report it")
        known.update(carried)
        return Portion(links, tuple(carried.values()))


def _failed(keys: Iterable[str], why: str) -> Portion:
    return Portion((), (), tuple(Unlinked(key, why) for key in keys))


def _link_row(linker: Linker, key: str) -> LinkRow:
    found = linker.links(key)
    return LinkRow(key, encode_reads(found.inputs), *found[:-1])


def _carried_row(key: str, carried: AliasDigest) -> CarriedRow:
    return CarriedRow(key, carried.names, encode_reads(carried.inputs))
