"""Ground truth for the call graph: small programs, their traced calls, and the scoring."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from remora.ids import MODULE, node_key

SHEETS = Path(__file__).parent / "programs"
TRACER = Path(__file__).with_name("tracer.py")
MARKS = {"~": "unseen", "?": "either"}

Pair = tuple[str, str]
"""Node keys of caller and callee; a callee outside the project is `ext:…`."""


@dataclass(frozen=True)
class Program:
    """A small program and its edges: traced, not visible in a trace, or not counted."""

    feature: str
    name: str
    files: Mapping[str, str]
    taken: frozenset[Pair]
    unseen: frozenset[Pair]
    either: frozenset[Pair]

    @property
    def expected(self) -> frozenset[Pair]:
        """Edges that a linker should find."""
        return self.taken | self.unseen

    def write(self, folder: Path) -> None:
        """Write the program's files below `folder`."""
        for path, text in self.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def programs() -> list[Program]:
    """Return all programs, by feature and in the order of their sheet."""
    return [one for sheet in sorted(SHEETS.glob("*.txt")) for one in _sheet(sheet)]


def _sheet(sheet: Path) -> Iterable[Program]:
    _, *parts = re.split(r"(?m)^## (\w+)\n", sheet.read_text(encoding="utf-8"))
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        yield _program(sheet.stem, name, text)


def _program(feature: str, name: str, text: str) -> Program:
    first, *parts = re.split(r"(?m)^### (\S+)\n", text)
    files = dict(zip(parts[::2], parts[1::2], strict=True))
    lines = files.pop("edges").split("\n")
    if first.strip():
        files["main.py"] = first
    edges: dict[str, set[Pair]] = {"taken": set(), "unseen": set(), "either": set()}
    for line in filter(None, lines):
        caller, _, callees = line.partition(" -> ")
        for callee in callees.split(", "):
            kind = MARKS.get(callee[0], "taken")
            edges[kind].add((_key(caller), _key(callee.lstrip("~?"))))
    return Program(
        feature, name, files, **{kind: frozenset(pairs) for kind, pairs in edges.items()}
    )


def _key(short: str) -> str:
    if short.startswith("ext:"):
        return short
    if short.endswith(".py"):
        return node_key(short, MODULE)
    path, _, qualname = short.rpartition(":")
    return node_key(path or "main.py", qualname)


@dataclass(frozen=True)
class Trace:
    """Calls of a run: `direct`, and `through` frames of other code."""

    direct: frozenset[Pair]
    through: frozenset[Pair]


def run(folders: Sequence[Path]) -> list[Trace]:
    """Run `main.py` in each folder and trace its calls; each program must succeed."""
    done = subprocess.run(
        [sys.executable, "-X", "utf8", str(TRACER), *map(str, folders)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    return [_trace(folder, json.loads(line)) for folder, line in zip(folders, lines, strict=True)]


def _trace(folder: Path, found: Mapping[str, list[list[list[object]]]]) -> Trace:
    names = Names(folder)
    direct, through = (
        frozenset(p for a, b in found[kind] if (p := names.pair(a, b)))
        for kind in ("direct", "through")
    )
    return Trace(direct, through)


class Names:
    """Node keys of code objects (file, first line, qualified name) in one tree."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[str, dict[tuple[int, str], tuple[str, str]]] = {}

    def pair(self, caller: list[object], callee: list[object]) -> Pair | None:
        """Return the keys of two code objects; None if the callee is not a project function."""
        if str(callee[2]).endswith(">"):  # lambdas and comprehensions belong to their node
            return None
        called = self._node(callee)
        if called is None or called[1] != "function":
            return None
        calling = self._node(caller)
        return None if calling is None else (calling[0], called[0])

    def _node(self, code: list[object]) -> tuple[str, str] | None:
        path, line, qualname = str(code[0]), int(str(code[1])), str(code[2])
        table = self._table(path)
        if qualname == "<module>":
            return node_key(path, MODULE), "module"
        # code inside lambdas and comprehensions belongs to the node around them
        while re.search(r"(\.<locals>)?\.?<(lambda|\w+comp|genexpr)>$", qualname):
            qualname = re.sub(r"(\.<locals>)?\.?<(lambda|\w+comp|genexpr)>$", "", qualname)
            line = 0
        if not qualname:
            return node_key(path, MODULE), "module"
        name = qualname.replace(".<locals>", "")
        if line:
            return table.get((line, name))
        around = [node for (_, known), node in table.items() if known == name]
        return around[-1] if around else None

    def _table(self, path: str) -> dict[tuple[int, str], tuple[str, str]]:
        if path not in self._files:
            table: dict[tuple[int, str], tuple[str, str]] = {}
            text = (self._root / path).read_text(encoding="utf-8")
            _definitions(ast.parse(text), path, "", "", table)
            self._files[path] = table
        return self._files[path]


def _definitions(
    block: ast.AST,
    path: str,
    plain: str,
    qualname: str,
    table: dict[tuple[int, str], tuple[str, str]],
) -> None:
    """Fill `table`: (first line, name without repeats) → key and kind; independent of remora.code."""
    seen: Counter[str] = Counter()
    pending = list(ast.iter_child_nodes(block))
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            seen[node.name] += 1
            repeat = f"#{seen[node.name]}" if seen[node.name] > 1 else ""
            line = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            full = f"{qualname}{node.name}{repeat}"
            table[line, plain + node.name] = (node_key(path, full), kind)
            _definitions(node, path, f"{plain}{node.name}.", f"{full}.", table)
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            pending[:0] = list(ast.iter_child_nodes(node))


@dataclass
class Score:
    """Counts of right, wrong and missed edges."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    tiers: Counter[tuple[str, bool]] = field(default_factory=Counter)
    """(tier, right) → edges."""

    @property
    def precision(self) -> float:
        """Share of correct edges among those found."""
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """Share of found edges among those expected."""
        return self.right / max(1, self.right + self.missed)

    def add(self, program: Program, found: Mapping[Pair, str]) -> list[str]:
        """Count one program's edges (pair → tier); return descriptions of the errors."""
        faults = []
        counted = {pair: tier for pair, tier in found.items() if _counts(program, pair)}
        for pair, tier in counted.items():
            good = pair in program.expected
            self.tiers[tier, good] += 1
            self.right, self.wrong = self.right + good, self.wrong + (not good)
            if not good:
                faults.append(f"{program.feature}/{program.name}: wrong {tier} {_text(pair)}")
        lost = program.expected - counted.keys()
        self.missed += len(lost)
        faults += [f"{program.feature}/{program.name}: missed {_text(p)}" for p in sorted(lost)]
        return faults


def _counts(program: Program, pair: Pair) -> bool:
    """True unless excluded; external edges count if the program expects some, builtins never."""
    if pair in program.either or pair[1].startswith("ext:builtins."):
        return False
    named = any(callee.startswith("ext:") for _, callee in program.expected)
    return named or not pair[1].startswith("ext:")


def _text(pair: Pair) -> str:
    return " -> ".join(key.removeprefix("node:") for key in pair)
