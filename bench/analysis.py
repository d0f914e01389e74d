"""Analysis of source files, against `ast.parse` of the same files."""

import ast
import gc
import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from remora.code.file_analysis import read_facts

CORPORA = ("inspect_ai", "networkx", "mypy")
ROUNDS = 3
GROUP = 40
"""Files that are read by both in turn, so that a busy moment hits both; the best round counts."""
SMALL, LARGE = 5_000, 50_000
Source = tuple[str, bytes]


def main() -> dict[str, float]:
    """Return CPU time of `read_facts` / `ast.parse`, by corpus, and its growth."""
    found = {}
    for name, files in (("library", _library()), *((name, _package(name)) for name in CORPORA)):
        if files:
            found[f"facts_over_parse_{name}"] = ratio = _facts_over_parse(files)
            size = f"{len(files):,} files of {name}"
            print(
                f"parse and extract everything / ast.parse, {size:28} {ratio:5.2f} x   (aim <= 1.4)"
            )
    for name, source in _generated().items():
        found[f"growth_{name}"] = growth = _growth(source)
        print(f"{LARGE:,} / {SMALL:,} {name:40} {growth:5.2f} x   (linear: 1)")
    return found


def _library() -> list[Source]:
    folder = Path(ast.__file__).parent
    return _read(folder, (p for p in folder.rglob("*.py") if "site-packages" not in p.parts))


def _package(name: str) -> list[Source]:
    spec = importlib.util.find_spec(name)
    folders = spec.submodule_search_locations if spec is not None else None
    return _read(Path(folders[0]), Path(folders[0]).rglob("*.py")) if folders else []


def _read(folder: Path, paths: Iterator[Path]) -> list[Source]:
    """Return the files that parse; a refused file measures nothing."""
    found = [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in sorted(paths)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [source for source in found if _parses(source)]


def _parses(source: Source) -> bool:
    try:
        ast.parse(source[1])
    except (SyntaxError, ValueError):
        return False
    return True


def _facts_over_parse(files: Sequence[Source]) -> float:
    bare = whole = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first in range(0, len(files), GROUP):
            group = files[first : first + GROUP]
            rounds = [(_seconds(_parse, group), _without_collector(group)) for _ in range(ROUNDS)]
            bare += min(seconds for seconds, _ in rounds)
            whole += min(seconds for _, seconds in rounds)
    return whole / bare


def _parse(path: str, source: bytes) -> None:
    ast.parse(source, path)


def _without_collector(group: Sequence[Source]) -> float:
    """Run with the cyclic garbage collector off, as for a batch."""
    with _no_collector():
        return _seconds(read_facts, group)


@contextmanager
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _seconds(work: Callable[[str, bytes], object], files: Sequence[Source]) -> float:
    start = time.process_time()
    for path, source in files:
        work(path, source)
    return time.process_time() - start


def _generated() -> dict[str, Callable[[int], bytes]]:
    good = b"def f(a, b):\n    if a:\n        return g(a, b)\n    return b\n\n\n"
    return {
        "functions in one file": lambda n: good * n,
        "functions, the last one broken": lambda n: good * n + b"def f(:\n",
        "broken functions in one file": lambda n: good.replace(b"b)", b"b", 1) * n,
        "arms of one broken if": lambda n: b"if a: pass\n" + b"elif a:\n    f()\n" * n,
        "rows of one table": lambda n: b"x = [\n" + b"    (1, 'a', 2.5),\n" * n + b"]\n",
        "methods of a broken class": lambda n: (
            b"class A:\n" + b"    def f(a):\n        a()\n" * n + b"    x = =\n"
        ),
    }


def _growth(source: Callable[[int], bytes]) -> float:
    """Return the cost per part of a large file / of a small file."""
    costs = []
    for size in (SMALL, LARGE):
        file = [("a.py", source(size))]
        costs.append(min(_without_collector(file) for _ in range(ROUNDS)) / size)
    return costs[1] / costs[0]


if __name__ == "__main__":
    main()
