"""Measure how often the right one of several written summaries is used, in whole runs.

Usage: python bench/summary_choice.py PACKAGE [--functions N] [--answers N] [--json FILE]

A server answers each question for a summary with what people wrote, and with similar summaries of
other functions of the package, in random order. `remora eval restore` compares the first answer
that passes the checks with the one that the embedded model finds the likeliest.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from judgement_packages import DEVELOPMENT
from types_packages import package_texts

from remora.operations.docstring.hidden_descriptions import documented_parts, hide_parts
from remora.operations.restorer import Slot
from tests.undecided_server import undecided_server

_SUMMARY = "summary"


def prepared(package: str) -> tuple[dict[str, str], list[Slot]]:
    """Return a package's files with summaries as the only parts of docstrings, and these."""
    texts = package_texts(package)
    texts |= hide_parts(texts, [each for each in documented_parts(texts) if each.part != _SUMMARY])
    return texts, [each for each in documented_parts(texts) if each.part == _SUMMARY]


def write_project(root: Path, texts: dict[str, str], answers: int) -> None:
    for path, text in texts.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (root / "remora.yaml").write_text(f"model:\n  samples: {answers}\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)


def restore(root: Path, address: str, functions: int) -> dict[str, Any]:
    """Return the document of `remora eval restore` with the first and with the likeliest answer."""
    arms = [f"--arm={address},decoding={each}" for each in ("tool_call", "auto")]
    words = ["eval", "restore", "-o", "docstring", "--slots", str(functions), "--json", *arms]
    done = subprocess.run(
        [sys.executable, "-m", "remora", *words], cwd=root, stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package")
    parser.add_argument("--functions", type=int, default=60)
    parser.add_argument("--answers", type=int, default=4)
    parser.add_argument("--json", type=Path, help="file of the document of `eval restore`")
    options = parser.parse_args()
    if options.package in DEVELOPMENT:
        parser.error(f"the weights were fitted on {options.package}")
    texts, slots = prepared(options.package)
    with TemporaryDirectory() as folder:
        write_project(Path(folder), texts, options.answers)
        others = [slot.text for slot in slots]
        with undecided_server(slots, others, number=options.answers) as server:
            document = restore(Path(folder), server.address, options.functions)
    (operation,) = document["operations"]
    for name, arm in zip(("first answer", "likeliest answer"), operation["arms"], strict=True):
        right = arm["exact"] + arm["equivalent"]
        print(f"{name}: {right} of {arm['slots']} right, {arm['left']} left, {arm['seconds']} s")
    print("difference:", operation["arms"][1]["against_first"])
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
