"""How many planted tasks a client of `remora mcp --jobs` finishes, judged by gates that it cannot see.

    python bench/served_tasks.py prepare ~/tasks ~/src/one ~/src/two ~/src/three
    python bench/served_tasks.py client ~/tasks
    python bench/served_tasks.py score ~/tasks

`prepare` plants 25 tasks in copies of the packages, which have their environment in `.venv` and
passing tests. Each is chosen by a seed among all functions that a rule fits, and removed again if
the tests notice it, or if the linter of the package finds something else. The truth is in
`tasks.json`, beside the copies, which have only one commit. `client` is a script that knows the
truth and writes it with the served tools only. Instead of it, any model can work: start
`remora mcp --jobs` in the folder of each package. `score` accepts what the runs propose in
another copy and judges it:

- lint: the linter reports nothing new, all tests pass, and no test reaches a misspelt name, so the
  function is the original one;
- docstring: it names the parameters of the signature, with their defaults, and all tests pass;
- test: the new tests of the function pass, and detect at least half of its hidden mutants;
- types: mypy reports nothing new, and takes each type for the original one.

It also counts the streams that verify and that replay.
"""

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import planted_code as code
from mcp_server import Server
from planted_tasks import CODES, MUTANTS, NAMES, QUOTA, Task, Tree, detected, prepare

# --- client ----------------------------------------------------------------------------------------


def work(folder: Path) -> None:
    """Do all tasks with the served tools. All calls and answers are written to `client.log`."""
    tasks = json.loads((folder / "tasks.json").read_text())
    with (folder / "client.log").open("w") as log:
        for package in dict.fromkeys(task["package"] for task in tasks):
            words = ["-m", "remora", "--root", str(folder / package), "mcp", "--jobs"]
            server = Server(words, dict(os.environ))
            own = [task for task in tasks if task["package"] == package]
            for kind, path in dict.fromkeys((task["kind"], task["path"]) for task in own):
                here = [task for task in own if (task["kind"], task["path"]) == (kind, path)]
                text = (folder / package / path).read_text()
                left = take_jobs(server, log.write, here, text)
                print(
                    f"{package} {kind} {path}: {len(here) - left} of {len(here)} taken", flush=True
                )
            server.close()


def take_jobs(server: Server, log: Callable[[str], Any], tasks: list[Task], text: str) -> int:
    """Take the jobs of tasks of one kind and file, and return how many tasks no job was for."""
    left = [*tasks]

    def call(tool: str, **arguments: Any) -> str:
        answer = server.call(tool, **arguments)[1]
        log(f"{'=' * 100}\n{tool} {json.dumps(arguments)}\n{answer}\n")
        return answer

    while left:
        page = call("next_job", operation=tasks[0]["kind"], path=tasks[0]["path"])
        if not page.startswith("job "):
            break
        job = page.split()[1].rstrip(":")
        mine = [task for task in left if is_for(page, task)]
        for tool, arguments in answers(tasks[0]["kind"], mine, text):
            call(tool, job=job, **arguments)
        left = [task for task in left if task not in mine]
        if not mine or "This job has ended" not in call("submit_result", job=job):
            call("give_up", job=job, because="the script knows nothing better")
    return len(left)


def is_for(page: str, task: Task) -> bool:
    """Return True if a job is about a task: a docstring's is about one function, others about a file."""
    goal = re.search(r"^Goal: (.*)$", page, re.MULTILINE)
    return goal is not None and (
        task["kind"] != "docstring" or f" {task['function']} " in f"{goal[1]} "
    )


def answers(kind: str, tasks: Sequence[Task], text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls that write the truth of some tasks of a file."""
    if kind == "lint":
        edits = [edit for task in tasks for edit in line_edits(task, text)]
        for first, last, new in sorted(edits, reverse=True):
            yield "edit_lines", {"first": first, "last": last, "text": new}
    for task in tasks:
        if kind == "test":
            yield "write_test", {"function": task["function"], "code": task["truth"]}
        elif kind == "types":
            signature = code.signature(code.parsed(task["truth"]))
            yield "annotate", {"function": task["function"], "signature": signature}
        elif kind == "docstring":
            summary, _, details = (ast.get_docstring(code.parsed(task["truth"])) or "").partition(
                "\n\n"
            )
            yield "write_docstring", {"summary": summary, "details": details}


def line_edits(task: Task, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the first line, the last line and the new text of what differs from the truth."""
    planted, truth = task["planted"].splitlines(), task["truth"].splitlines()
    start = code.first_line(code.function_at(text, task["function"]))
    for tag, first, end, begin, stop in SequenceMatcher(None, planted, truth).get_opcodes():
        if tag == "replace":
            yield start + first, start + end - 1, "\n".join(truth[begin:stop])


# --- score -----------------------------------------------------------------------------------------


def remora(root: Path, *words: str) -> Any:
    """Return the document that a command prints, or None."""
    command = [sys.executable, "-m", "remora", "--root", str(root), "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout.strip() else None


class Judge:
    """The gates of the tasks of one package."""

    def __init__(self, project: Path, place: Path) -> None:
        done = place / "accepted" / project.name
        shutil.copytree(project, done, symlinks=True)
        for run in reversed((remora(done, "runs") or {"runs": []})["runs"]):
            remora(done, "accept", run["run_id"], "--all", "--untested", "--trust-run")
        self._done = Tree(done)
        self._planted = Tree(project)
        self._tree = Tree.copied(project, place / project.name)

    def miss(self, task: Task) -> str:
        """Return why a task is not finished, or an empty string."""
        path = task["path"]
        gates = {"lint": self._lint, "docstring": self._docstring, "types": self._types}
        if task["kind"] == "test":
            return self._test(task)
        if self._done.read(path) == self._planted.read(path):
            return "nothing was proposed for the file"
        after = self._done.read(path)
        node = code.function_at(after, task["function"])
        self._tree.write(path, after)
        try:
            return gates[task["kind"]](task, node)
        finally:
            self._tree.write(path, self._planted.read(path))

    def _lint(self, task: Task, node: code.Function) -> str:
        path, wanted = task["path"], CODES[task["rule"]]
        found = self._tree.findings(path)
        lines = range(node.lineno, (node.end_lineno or 0) + 1)
        if any(each == wanted and line in lines for each, line in found):
            return f"{wanted} is still there"
        known = Counter(each for each, _ in self._planted.findings(path))
        if new := Counter(each for each, _ in found) - known:
            return f"new findings: {', '.join(new)}"
        truth = code.parsed(task["truth"])
        if wanted == "F821" and ast.dump(truth) != ast.dump(node):
            return "the function is not the original one"
        return "" if self._tree.passes() else "tests fail"

    def _docstring(self, task: Task, node: code.Function) -> str:
        truth = code.parsed(task["truth"])
        names, wanted = code.documented(node), code.documented(truth)
        if not wanted.keys() <= names.keys() <= code.parameters(node).keys():
            return f"it names {', '.join(names) or 'nothing'}, not {', '.join(wanted)}"
        for name, default in wanted.items():
            if names[name] != default:
                return f"the default of {name} is {default}, not {names[name]}"
        return "" if self._tree.passes() else "tests fail"

    def _types(self, task: Task, node: code.Function) -> str:
        path = task["path"]
        known = Counter[str](task["errors"]) | self._planted.type_errors(path)
        if new := self._tree.type_errors(path) - known:
            return f"mypy: {next(iter(new))}"
        wanted, found = code.annotations(code.parsed(task["truth"])), code.annotations(node)
        for name, type_ in wanted.items():
            if not self._is_same(path, type_, found.get(name, "")):
                return f"{name} is {found.get(name) or 'not annotated'}, not {type_}"
        return ""

    def _is_same(self, path: str, wanted: str, found: str) -> bool:
        """Return True if mypy takes each of two types for the other one."""
        if not found or code.plain_type(found) == code.plain_type(wanted):
            return bool(found)
        if "Any" in found:
            return False
        text, known = self._tree.read(path), self._tree.type_errors(path)
        pairs = ((wanted, found), (found, wanted))
        probes = [
            f"def _probe_{number}(given: {given!r}) -> {result!r}:\n    return given\n"
            for number, (given, result) in enumerate(pairs)
        ]
        self._tree.write(path, "\n".join([text, *probes]))
        new = self._tree.type_errors(path) - known
        self._tree.write(path, text)
        return not new

    def _test(self, task: Task) -> str:
        tree, name = self._tree, task["function"].rpartition(".")[2]
        ids: list[str] = []
        for file in self._done.files(tests=True):
            text = self._done.read(file)
            is_old = (self._planted.root / file).exists()
            before = self._planted.read(file) if is_old else ""
            old = {each.qualname for each in code.functions(before)}
            tree.write(file, text)
            ids += [
                f"{file}::{each.qualname.replace('.', '::')}"
                for each in code.functions(text)
                if each.qualname not in old
                and each.node.name.startswith("test")
                and code.mentions(each.node, name)
            ]
        if not ids:
            return "no new test mentions the function"
        faulty = code.mutants(tree.read(task["path"]), task["function"], MUTANTS)
        found = detected(tree, task["path"], faulty, ids)
        if found < 0:
            return "its new tests fail"
        return "" if found * 2 >= len(faulty) else f"{found} of {len(faulty)} mutants are detected"


def score(folder: Path) -> dict[str, Any]:
    """Return which tasks are finished, why others are not, and the streams that hold."""
    tasks = json.loads((folder / "tasks.json").read_text())
    packages = [*dict.fromkeys(task["package"] for task in tasks)]
    streams = {
        package: {what: remora(folder / package, "trace", what) for what in ("verify", "replay")}
        for package in packages
    }
    with tempfile.TemporaryDirectory() as place:
        judges = {package: Judge(folder / package, Path(place)) for package in packages}
        missed = [judges[task["package"]].miss(task) for task in tasks]
    rows = [
        {**{name: task[name] for name in NAMES}, "miss": why}
        for task, why in zip(tasks, missed, strict=True)
    ]
    return {"finished": missed.count(""), "tasks": rows, "streams": streams}


def show(done: dict[str, Any]) -> None:
    """Print the table of finished tasks, the misses, and the streams."""
    tasks = done["tasks"]
    packages = [*dict.fromkeys(task["package"] for task in tasks)]
    print(f"{'':12}" + "".join(f"{name:>18}" for name in [*packages, "all"]))
    for kind in [*QUOTA, "all"]:
        cells = []
        for package in [*packages, "all"]:
            here = [
                task
                for task in tasks
                if kind in (task["kind"], "all") and package in (task["package"], "all")
            ]
            cells.append(f"{sum(not task['miss'] for task in here)} of {len(here)}")
        print(f"{kind:12}" + "".join(f"{cell:>18}" for cell in cells))
    for task in tasks:
        if task["miss"]:
            print(f"missed: {' '.join(task[name] for name in NAMES)}: {task['miss']}")
    for package, found in done["streams"].items():
        streams, agents = found["verify"]["streams"], found["replay"]["agents"]
        verified = sum(stream["ok"] for stream in streams)
        results = Counter(script["same"] for agent in agents for script in agent["scripts"])
        held = sum(
            not agent.get("error") and all(script["same"] for script in agent["scripts"])
            for agent in agents
        )
        print(
            f"{package}: {verified} of {len(streams)} streams verify, {held} of {len(agents)} agents "
            f"replay; script runs: {results[True]} same, {results[False]} different, "
            f"{results[None]} unknown"
        )


# --- entry -----------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    first = commands.add_parser("prepare")
    first.add_argument("folder", type=Path)
    first.add_argument("packages", type=Path, nargs="+")
    first.add_argument("--seed", type=int, default=1)
    commands.add_parser("client").add_argument("folder", type=Path)
    last = commands.add_parser("score")
    last.add_argument("folder", type=Path)
    last.add_argument("--json", action="store_true")
    given = parser.parse_args()
    folder = given.folder.resolve()
    if given.command == "prepare":
        prepare(folder, [each.resolve() for each in given.packages], given.seed)
    elif given.command == "client":
        work(folder)
    else:
        done = score(folder)
        print(json.dumps(done, indent=1)) if given.json else show(done)


if __name__ == "__main__":
    main()
