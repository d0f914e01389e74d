"""Docstring drift on git history, with pydoclint and the DOC rules of ruff beside it.

Usage: python bench/docstring_pairs.py [--seed N] [--most N] [--cache FOLDER] [--list FILE] REPOSITORY[@COMMIT]...

Pairs come from `docstring_history.py`: the code of a function after a commit, with its docstring
before and after that commit. All tools read both texts. What they find in the old text is wanted, and
what they find in the new text is mostly a false alarm. The report is Markdown; the alarms of Remora
on new texts follow, to be read.
"""

import argparse
import json
import pickle
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from docstring_history import Pair, Repository, pairs_of

from remora.code.docstrings.documented_node import DocumentedNode, find_documented
from remora.errors import HostError
from remora.operations.docstring.host_docstring import (
    exception_classes,
    folder_texts,
    related_texts,
)
from remora.operations.docstring.mend import update_plan
from remora.tools.tree import ToolTree

_OMISSIONS = ("missing-parameter", "missing-exception")
"""Findings about parts that a list leaves out, which contradict nothing."""
_PYDOCLINT = re.compile(r"\s+(\d+): (DOC\d+):? (.*)")
_STYLES = {"google": "google", "numpy": "numpy", "rest": "sphinx"}
_UNKNOWN = ("DOC102",)
"""Documented parameters that do not exist, by pydoclint and by ruff."""
_LISTS = ("DOC101", "DOC102", "DOC103", "D417")
"""Lists of parameters that differ from the signature."""


class Alarm(NamedTuple):
    code: str
    message: str
    line: int = 0


Texts = tuple[list[Alarm], list[Alarm]]
"""The alarms on the old and on the new text of a pair."""


def collect(
    places: Sequence[str], most: int, seed: int, cache: Path | None
) -> tuple[list[Pair], list[str]]:
    """Return the pairs of all repositories, and the repositories with their commits."""
    pairs, heads = [], []
    for place in places:
        folder, _, commit = place.partition("@")
        repository = Repository(Path(folder), commit or "HEAD")
        kept = cache / f"{repository.name}-{repository.head[:12]}-{seed}-{most}" if cache else None
        if kept is not None and kept.exists():
            found = pickle.loads(kept.read_bytes())
        else:
            found = list(pairs_of(repository, most, random.Random(seed)))
            if kept is not None:
                kept.write_bytes(pickle.dumps(found))
        repository.close()
        print(f"{repository.name}: {len(found)} pairs", file=sys.stderr)
        heads.append(f"| {repository.name} | `{repository.head[:12]}` | {len(found)} |")
        pairs += found
    return pairs, heads


def alarms_of_remora(pair: Pair, content: bytes) -> tuple[list[Alarm], list[Alarm]]:
    """Return the contradictions, and all other findings, in a text of a pair."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {**pair.siblings, pair.path: content}.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
        tree = ToolTree(Path(folder))
        found = _documented(tree, pair, content)
        if found is None:
            return [], []
        said = [Alarm(each.code, each.message, each.line) for each in found.contradictions]
        left = [Alarm("left-out", part) for part in update_plan(found).left]
    contradictions = [alarm for alarm in said if alarm.code not in _OMISSIONS]
    return contradictions, [*(alarm for alarm in said if alarm.code in _OMISSIONS), *left]


def _documented(tree: ToolTree, pair: Pair, content: bytes) -> DocumentedNode | None:
    try:
        related = related_texts(
            pair.path, content, partial(folder_texts, tree), exception_classes(tree)
        )
        return find_documented(pair.path, content, pair.qualname, related)
    except (HostError, RecursionError) as error:
        print(f"{pair.place}: {error}", file=sys.stderr)
        return None


def write_files(pairs: Sequence[Pair], folder: Path) -> dict[str, tuple[int, int, range]]:
    """Write both texts of each pair, below the style of its docstring.

    Return the number of the pair, of the text, and the lines of the function, by path.
    """
    usual: dict[str, Counter[str]] = {}
    for pair in pairs:
        usual.setdefault(pair.project, Counter())[_STYLES[pair.style or "numpy"]] += bool(
            pair.style
        )
    files = {}
    for number, pair in enumerate(pairs):
        style = _STYLES[pair.style] if pair.style else usual[pair.project].most_common(1)[0][0]
        for version, content in enumerate((pair.old, pair.new)):
            path = folder / style / f"p{number:04}_{version}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            node = find_documented(pair.path, content, pair.qualname).node
            start = min((each.lineno for each in node.decorator_list), default=node.lineno)
            files[str(path)] = (number, version, range(start, (node.end_lineno or 0) + 1))
    return files


def pydoclint_alarms(program: str, folder: Path) -> Iterator[tuple[str, Alarm]]:
    for style in sorted(each.name for each in folder.iterdir()):
        command = [program, "-q", "--style", style, str(folder / style)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        path = ""
        for line in (done.stdout + done.stderr).splitlines():
            found = _PYDOCLINT.match(line)
            if found is not None:
                yield path, Alarm(found[2], found[3], int(found[1]))
            elif line.endswith(".py"):  # other lines continue a message
                path = line.strip()


def ruff_alarms(program: str, folder: Path) -> Iterator[tuple[str, Alarm]]:
    command = [program, "check", "--isolated", "--preview", "--ignore-noqa", "--no-cache"]
    command += ["--select", "DOC,D417", "--output-format", "json", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for row in json.loads(done.stdout):
        yield row["filename"], Alarm(row["code"], row["message"], row["location"]["row"])


def of_pairs(
    alarms: Iterator[tuple[str, Alarm]], files: Mapping[str, tuple[int, int, range]], count: int
) -> list[Texts]:
    """Return the alarms of a peer on the function of each pair."""
    texts: list[Texts] = [([], []) for _ in range(count)]
    for path, alarm in alarms:
        number, version, lines = files[path]
        if alarm.line in lines:
            texts[number][version].append(alarm)
    return texts


def row(name: str, texts: Sequence[Texts]) -> str:
    old, new = (sum(bool(pair[version]) for pair in texts) for version in (0, 1))
    gone = sum(bool(pair[0]) and not pair[1] for pair in texts)
    total = max(1, len(texts))
    ratio = f"{old / new:.1f}" if new else "-"
    return f"| {name} | {old} ({old / total:.1%}) | {new} ({new / total:.1%}) | {ratio} | {gone} |"


def rows(columns: Mapping[str, list[Texts]]) -> Iterator[str]:
    """Yield the rows of all tools, and those of the peers' rules that are most like ours."""
    for name, texts in columns.items():
        yield row(name, texts)
        for title, codes in (("unknown parameters", _UNKNOWN), ("lists of parameters", _LISTS)):
            if not name.startswith("Remora"):
                yield row(f"{name}, {title}", [_only(pair, codes) for pair in texts])


def _only(texts: Texts, codes: Sequence[str]) -> Texts:
    old, new = ([alarm for alarm in alarms if alarm.code in codes] for alarms in texts)
    return old, new


def by_code(texts: Sequence[Texts]) -> Iterator[str]:
    """Yield the number of pairs in which a code is found in the old and in the new text."""
    counts = [
        Counter(code for pair in texts for code in {alarm.code for alarm in pair[version]})
        for version in (0, 1)
    ]
    for code in sorted({*counts[0], *counts[1]}):
        yield f"| `{code}` | {counts[0][code]} | {counts[1][code]} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repositories", nargs="+", metavar="REPOSITORY[@COMMIT]")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--most", type=int, default=45, help="pairs of a repository")
    parser.add_argument("--cache", type=Path, help="folder that keeps the pairs of a repository")
    parser.add_argument("--list", type=Path, help="write the pairs and all alarms as JSON lines")
    parser.add_argument("--pydoclint", default=shutil.which("pydoclint"))
    parser.add_argument("--ruff", default=shutil.which("ruff"))
    asked = parser.parse_args()
    pairs, heads = collect(asked.repositories, asked.most, asked.seed, asked.cache)
    columns = measure(pairs, asked.pydoclint, asked.ruff)
    print("| repository | commit | pairs |\n|---|---|---|", *heads, sep="\n")
    print(f"\n{len(pairs)} pairs, seed {asked.seed}\n")
    print("| finds | old texts | new texts | ratio | only in the old text |\n|---|---|---|---|---|")
    print(*rows(columns), sep="\n")
    for name, texts in columns.items():
        print(f"\n| {name} | old | new |\n|---|---|---|", *by_code(texts), sep="\n")
    print("\nAlarms on new texts:\n")
    for pair, (_, new) in zip(pairs, columns["Remora, all findings"], strict=True):
        for alarm in new:
            print(f"- {pair.place}: {alarm.code}: {alarm.message}")
    if asked.list is not None:
        asked.list.write_text("".join(_lines(pairs, columns)))


def measure(
    pairs: Sequence[Pair], pydoclint: str | None, ruff: str | None
) -> dict[str, list[Texts]]:
    """Return the alarms on all pairs, by tool."""
    contradictions: list[Texts] = []
    every: list[Texts] = []
    for pair in pairs:
        old, new = alarms_of_remora(pair, pair.old), alarms_of_remora(pair, pair.new)
        contradictions.append((old[0], new[0]))
        every.append((old[0] + old[1], new[0] + new[1]))
    columns = {"Remora, contradictions": contradictions, "Remora, all findings": every}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        files = write_files(pairs, folder)
        if pydoclint is not None:
            alarms = pydoclint_alarms(pydoclint, folder)
            columns["pydoclint"] = of_pairs(alarms, files, len(pairs))
        if ruff is not None:
            columns["ruff DOC and D417"] = of_pairs(ruff_alarms(ruff, folder), files, len(pairs))
    return columns


def _lines(pairs: Sequence[Pair], columns: Mapping[str, Sequence[Texts]]) -> Iterator[str]:
    for number, pair in enumerate(pairs):
        found = {
            tool: [[f"{alarm.code}: {alarm.message}" for alarm in texts] for texts in rows[number]]
            for tool, rows in columns.items()
        }
        nodes = (
            find_documented(pair.path, content, pair.qualname) for content in (pair.old, pair.new)
        )
        texts = [node.text for node in nodes]
        yield json.dumps({"place": pair.place, "texts": texts, "alarms": found}) + "\n"


if __name__ == "__main__":
    main()
