"""Measure how many jobs small models finish in packages that were not used for development.

    python bench/small_models.py pick ~/round ~/src/one ~/src/two
    python bench/small_models.py run ~/round rules
    python bench/small_models.py run ~/round small --server http://127.0.0.1:8911/v1 --asks guided
    python bench/small_models.py run ~/round raw --server http://127.0.0.1:8911/v1 --memory raw
    python bench/small_models.py gates ~/round
    python bench/small_models.py score ~/round
    python bench/small_models.py compare ~/round small raw
    python bench/small_models.py export ~/round ~/round-proposals

A package is a git repository without changes; its environment is an ignored `.venv`. `pick` draws
jobs in which rules leave something to write. An arm has any name, and keeps the settings of its
first `run`. Each job has its own copy of the package, and its folder gets its number when it has
ended, so `run` goes on after any stop. `gates` runs the checks of each package with all proposals of
an arm. `score` writes what failed, and what models answered, to `failures.md`. `export` writes
`OUT/OPERATION/PACKAGE-K.diff`, shuffled, and beside `OUT` which arms each is of.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from instant_model import instant_model
from job_streams import JobStream, interval, share
from nothing_broken import Project, run

COUNTS = {"docstring": 60, "lint": 40, "test": 15, "types": 0}
TRIES = 15
"""Most jobs of an operation that are tried in a package, because each takes seconds."""
BETWEEN_S = 60
"""Time after which a job is run again whose server failed."""
EXTRA_S = 120
"""Time after its limit in which a run can end by itself."""
COLUMNS = (
    *("arm", "operation", "jobs", "valid answers", "ended by a limit", "verified", "done"),
    *("declined", "tokens a request", "requests a job", "s a decision", "s a job"),
)
Settings = dict[str, Any]
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Task(NamedTuple):
    """A job that was drawn."""

    operation: str
    package: str
    node: str

    @property
    def name(self) -> str:
        return f"{self.operation} {Path(self.package).name} {self.node}"


# --- jobs ------------------------------------------------------------------------------------------


def pick(given: argparse.Namespace) -> None:
    """Draw jobs of each package in turn. Print what is left out, and why."""
    given.folder.mkdir(parents=True)
    packages = [package.resolve() for package in given.packages]
    used = {task for folder in given.without for task in tasks_of(folder)}
    drawn = list[Task]()
    with instant_model() as server, tempfile.TemporaryDirectory() as place:
        for operation in filter(vars(given).get, COUNTS):
            count = getattr(given, operation)
            left_out, taken = Counter[str](), list[Task]()
            shuffled = [planned(package, operation, server, given) for package in packages]
            most = None if operation == "docstring" else TRIES
            rows = zip_longest(*(tasks[:most] for tasks in shuffled))
            for task in filter(None, chain.from_iterable(rows)):
                why = "of another draw" if task in used else "not needed"
                if why == "not needed" and len(taken) < count:
                    why = unfit(task, server, given.asks, Path(place))
                left_out[why] += 1
                taken += [] if why else [task]
            left_out["not tried"] = sum(map(len, shuffled)) - left_out.total()
            each = Counter(Path(task.package).name for task in taken)
            print(f"{operation}: {dict(each)}; left out: {dict(left_out - Counter({'': count}))}")
            drawn += taken
            (given.folder / "jobs.json").write_text(json.dumps(drawn, indent=0))


def planned(package: Path, operation: str, server: str, given: argparse.Namespace) -> list[Task]:
    """Return the jobs that a model would get, in an order by seed."""
    words = ["analyze", "-o", operation, "--decisions", "model", "--model", server]
    command = [sys.executable, "-m", "remora", *words, "--dry-run", "--json"]
    plan = json.loads(run(command, package, REMORA_MODEL__ASKS=given.asks).stdout or "{}")
    shutil.rmtree(package / ".agentfs", ignore_errors=True)
    if "jobs" not in plan:
        print(f"{operation}: {package.name} is left out: {plan}")
    nodes = sorted({job["node_id"].removeprefix("node:") for job in plan.get("jobs", ())})
    random.Random(f"{given.seed} {operation} {package.name}").shuffle(nodes)
    return [Task(operation, str(package), node) for node in nodes]


def unfit(task: Task, server: str, asks: str, place: Path) -> str:
    """Return why a job is not drawn, or an empty string.

    Guided models are asked about docstrings that leave something out, others about missing ones.
    """
    if task.operation == "docstring" and asks == "guided":
        return ""
    if task.operation == "docstring":
        node = node_at(Path(task.package), task.node)
        is_missing = isinstance(node, Function) and not ast.get_docstring(node)
        return "" if is_missing else "a class, or with a docstring"
    settings = {"server": server, "asks": "free", "seed": 1, "memory": "packets", "limit_s": 120}
    if not tried(task, settings, place).to_write:
        return "nothing to write after rules"
    if task.operation == "test" and tried(task, {**settings, "server": ""}, place).is_verified:
        return "verified by rules alone"
    return ""


def tried(task: Task, settings: Settings, place: Path) -> JobStream:
    with tempfile.TemporaryDirectory(dir=place) as folder:
        return JobStream.read(run_job(task, settings, Path(folder)), task.node)


def node_at(package: Path, node: str) -> Function | ast.ClassDef | None:
    """Return the function or class of a node, or None for a module."""
    path, _, qualname = node.partition(":")
    found: ast.AST | None = ast.parse((package / path).read_bytes())
    for name in qualname.split("."):
        inner = (
            [n for n in ast.walk(found) if isinstance(n, Function | ast.ClassDef)] if found else []
        )
        found = next((each for each in inner if each.name == name and each is not found), None)
    return found if isinstance(found, Function | ast.ClassDef) else None


# --- runs ------------------------------------------------------------------------------------------


def run_arm(given: argparse.Namespace) -> None:
    """Run the jobs of an arm that have not ended yet."""
    out = given.folder.resolve() / given.arm
    names = ("server", "asks", "memory", "seed", "limit_s")
    settings = {name: getattr(given, name) for name in names}
    out.mkdir(exist_ok=True)
    kept = out / "arm.json"
    same = {name: value for name, value in settings.items() if name != "server" or not value}
    if kept.exists() and json.loads(kept.read_text()) != same:
        raise SystemExit(f"{given.arm} has other settings: {kept.read_text()}")
    kept.write_text(json.dumps(same))
    shutil.rmtree(out / "work", ignore_errors=True)
    (out / "work").mkdir(exist_ok=True)

    def work(number: int, task: Task) -> None:
        end = out / f"{number:03}"
        if not end.exists():
            job = finished_job(task, settings, out / "work")
            stream = JobStream.read(job, task.node)
            job.rename(end)
            print(f"{end.name} {task.name}: {stream.verdict}, {stream.total_s:.0f} s", flush=True)

    with ThreadPoolExecutor(given.at_once) as pool:
        tasks = enumerate(tasks_of(given.folder))
        started = [pool.submit(work, number, task) for number, task in tasks]
        for future in started:
            if error := future.exception():
                pool.shutdown(cancel_futures=True)
                raise SystemExit(f"stopped: {error}")


def finished_job(task: Task, settings: Settings, place: Path, attempts: int = 3) -> Path:
    """Run a job, and run it again if the server failed."""
    job = run_job(task, settings, place)
    stream = JobStream.read(job, task.node)
    is_planned = stream.events or '"not_planned"' not in (job / "run.json").read_text()
    if not is_planned or stream.invalid or stream.verdict not in {"not planned", "model_error"}:
        return job
    if attempts > 1:
        time.sleep(BETWEEN_S)
        return finished_job(task, settings, place, attempts - 1)
    if not stream.events:
        raise ConnectionError(f"{task.name}: {(job / 'run.err').read_text()}")
    return job


def run_job(task: Task, settings: Settings, place: Path) -> Path:
    """Run one job in a copy of its package. Return the folder with its streams and its patch."""
    job = Path(tempfile.mkdtemp(dir=place))
    package = Path(task.package)
    copied = job / package.name
    shutil.copytree(
        package, copied, symlinks=True, ignore=shutil.ignore_patterns(".agentfs", "__pycache__")
    )
    name = glob(task.node.removesuffix(":__module__"))
    server = settings["server"]
    words = ["analyze", "-o", task.operation, "--seed", str(settings["seed"]), "--json", "-y"]
    words += ["--max-time", str(settings["limit_s"]), "--concurrency", "1"]
    words += ["--decisions", "model" if server else "rules"]
    words += ["--model", server] if server.startswith("http") else []
    words += ["--node", name] if ":" in name else [name]
    environ = {**os.environ, "REMORA_GATES__TIME_S": "0", "REMORA_MODEL__ASKS": settings["asks"]}
    environ["REMORA_RUNNER__MEMORY__MODE"] = settings["memory"]
    if server == "embedded":
        environ["REMORA_MODEL__PROVIDER"] = server
    command = ["setpriv", "--pdeathsig", "KILL", "nice", sys.executable, "-m", "remora", *words]
    with (job / "run.json").open("w") as said, (job / "run.err").open("w") as told:
        process = subprocess.Popen(
            command, cwd=copied, env=environ, stdout=said, stderr=told, start_new_session=True
        )
        try:
            process.wait(settings["limit_s"] + EXTRA_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    patch = run([sys.executable, "-m", "remora", "diff", "last", name], copied).stdout
    (job / "proposal.diff").write_text(patch)
    if (copied / ".agentfs").exists():
        (copied / ".agentfs").rename(job / ".agentfs")
    shutil.rmtree(copied, ignore_errors=True)
    return job


def glob(node: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in node)


def tasks_of(folder: Path) -> list[Task]:
    return [Task(*each) for each in json.loads((folder / "jobs.json").read_text())]


def arms_of(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/arm.json"))


def jobs_of(folder: Path, arm: str) -> dict[Task, JobStream]:
    """Return the jobs of an arm that have ended."""
    found = ((task, folder / arm / f"{number:03}") for number, task in enumerate(tasks_of(folder)))
    return {task: JobStream.read(job, task.node) for task, job in found if job.exists()}


# --- gates -----------------------------------------------------------------------------------------


def gates(given: argparse.Namespace) -> None:
    """Run the checks of each package before, and with all proposals of each arm."""
    groups = defaultdict[str, dict[str, list[Path]]](lambda: defaultdict(list))
    for arm in arms_of(given.folder):
        for task, job in jobs_of(given.folder.resolve(), arm).items():
            if job.is_done:
                groups[task.package][arm].append(job.folder / "proposal.diff")
    for package, arms in groups.items():
        with tempfile.TemporaryDirectory() as place:
            tree = Path(shutil.copytree(package, Path(place, Path(package).name), symlinks=True))
            with (given.folder / "gates.jsonl").open("a") as file:
                rows = gate_rows(Project(tree), arms)
                try:
                    file.writelines(f"{json.dumps(row)}\n" for row in rows)
                except subprocess.TimeoutExpired as error:
                    print(f"{tree.name} is left out: {error}")


def gate_rows(project: Project, arms: dict[str, list[Path]]) -> Iterator[dict[str, Any]]:
    """Yield for each arm what got worse, and how many proposals could not be combined."""
    project.measure_base()
    for arm, diffs in arms.items():
        project.clean()
        project.result.worse = {}
        applied = [run(["git", "apply", "--index", diff], project.root) for diff in diffs]
        project.compare()
        row = {"arm": arm, "package": project.root.name, "tests": project.result.tests}
        row |= {"proposals": len(diffs), "apart": sum(each.returncode != 0 for each in applied)}
        row |= {"checks": [*project.checks], "worse": project.result.worse}
        print(json.dumps(row), flush=True)
        yield row


# --- score -----------------------------------------------------------------------------------------


def score(given: argparse.Namespace) -> None:
    """Print a row for each arm and operation, and write what failed."""
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    failures = ["# Jobs that were not done"]
    for arm in arms_of(given.folder):
        found = jobs_of(given.folder, arm)
        for operation in (*COUNTS, "all"):
            streams = [s for task, s in found.items() if operation in (task.operation, "all")]
            if streams:
                print(f"| {arm} | {operation} | {' | '.join(cells(streams))} |")
        for task, stream in found.items():
            if not stream.is_done:
                failures += ["", f"## {arm}: {task.name}", *stream.told()]
    (given.folder / "failures.md").write_text("\n".join(failures) + "\n")
    if (given.folder / "gates.jsonl").exists():
        told = map(json.loads, (given.folder / "gates.jsonl").open())
        rows = {(row["arm"], row["package"]): row["worse"] for row in told}
        for arm, number in Counter(arm for arm, _ in rows).items():
            bad = [package for (name, package), worse in rows.items() if name == arm and worse]
            print(f"{arm}: {len(bad)} of {number} packages worse {' '.join(bad)}")


def cells(streams: Sequence[JobStream]) -> list[str]:
    asked = [len(stream.answers) for stream in streams]
    tokens = [*chain.from_iterable(stream.tokens for stream in streams)]
    seconds = [*chain.from_iterable(stream.seconds for stream in streams)]
    totals = [stream.total_s for stream in streams if stream.events]
    return [
        str(len(streams)),
        share(sum(asked) - sum(stream.invalid for stream in streams), sum(asked)),
        share(sum(stream.is_limited for stream in streams), len(streams)),
        str(sum(stream.is_verified for stream in streams)),
        share(sum(stream.is_done for stream in streams), len(streams)),
        share(sum(stream.is_declined for stream in streams), len(streams)),
        *(
            f"{statistics.mean(v):.{n}f}, at most {max(v):.{n}f}" if v else "-"
            for v, n in ((tokens, 0), (asked, 1), (seconds, 1), (totals, 0))
        ),
    ]


def compare(given: argparse.Namespace) -> None:
    """Print the differences of two arms in the jobs that ended in both, and tokens by request."""
    one, other = (jobs_of(given.folder, arm) for arm in given.arms)
    for operation in (*COUNTS, "all"):
        tasks = [task for task in one.keys() & other.keys() if operation in (task.operation, "all")]
        pairs = [(one[task], other[task]) for task in sorted(tasks)]
        done = interval([int(a.is_done) - int(b.is_done) for a, b in pairs])
        tokens = interval([sum(a.tokens) - sum(b.tokens) for a, b in pairs])
        sums = [sum(sum(stream.tokens) for stream in side) for side in zip(*pairs, strict=True)]
        both = [sum(stream.is_done for stream in side) for side in zip(*pairs, strict=True)]
        print(f"{operation}: {len(pairs)} jobs; done {both}, {done}; tokens {sums}, {tokens} a job")
    for turn in range(max(len(job.tokens) for job in [*one.values(), *other.values()])):
        sent = [
            [stream.tokens[turn] for stream in side.values() if len(stream.tokens) > turn]
            for side in (one, other)
        ]
        print(f"request {turn + 1}: {[round(statistics.mean(side or [0])) for side in sent]}")


# --- export ----------------------------------------------------------------------------------------


def export(given: argparse.Namespace) -> None:
    """Write the proposals for readers, and what models declined, each once."""
    folder, out = given.folder, given.out.resolve()
    found = defaultdict[tuple[str, str, str], list[str]](list)
    for arm in arms_of(folder):
        for task, job in jobs_of(folder, arm).items():
            if job.is_done or job.is_declined:
                kind = task.operation if job.is_done else f"declined-{task.operation}"
                found[kind, Path(task.package).name, shown(task, job)].append(f"{arm} {task.name}")
    order = sorted(found)
    random.Random(given.seed).shuffle(order)
    numbers, rows = Counter[tuple[str, str]](), dict[str, list[str]]()
    for kind, package, text in order:
        numbers[kind, package] += 1
        name = f"{kind}/{package}-{numbers[kind, package]}.diff"
        (out / kind).mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)
        rows[name] = found[kind, package, text]
    out.with_name(f"{out.name}-arms.json").write_text(json.dumps(rows, indent=1))
    print(f"{len(rows)} texts of {sum(map(len, rows.values()))} jobs: {out}")


def shown(task: Task, job: JobStream) -> str:
    """Return what a reader sees: what was asked for, the functions as they were, and the patch."""
    diff = (job.folder / "proposal.diff").read_text() if job.is_done else ""
    if job.is_done and not diff.strip():
        raise SystemExit(f"{job.folder}: the diff is empty")
    about = f"{Path(task.package).name} {task.node} {task.operation} {task.package}"
    asked = [] if job.is_done else job.to_write
    return "\n".join([*(f"# {line}" for line in [about, *asked, *before(task, diff)]), diff])


def before(task: Task, diff: str) -> Iterator[str]:
    """Yield the functions that a patch changes, as they were."""
    path = Path(task.package) / task.node.partition(":")[0]
    lines = path.read_text(errors="replace").splitlines()
    node = node_at(Path(task.package), task.node)
    for each in [node] if node else changed_functions(path, diff):
        begin = min(part.lineno for part in [each, *each.decorator_list])
        yield f"{path.name}:{begin}"
        yield from (f"| {line}" for line in lines[begin - 1 : each.end_lineno])


def changed_functions(path: Path, diff: str) -> Iterator[Function]:
    """Yield the functions of a file that contain the hunks of a patch."""
    numbers = list[int]()
    for start, body in re.findall(r"^@@ -(\d+)[^\n]*\n((?:[-+ \\].*\n?|\n)*)", diff, re.MULTILINE):
        number = int(start)
        for line in body.splitlines():
            numbers += [number] if line[:1] in "-+" else []
            number += line[:1] != "+"
    functions = [n for n in ast.walk(ast.parse(path.read_bytes())) if isinstance(n, Function)]
    for node in functions:
        if any(node.lineno <= number <= (node.end_lineno or 0) for number in numbers):
            yield node


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    for act in (pick, run_arm, gates, score, compare, export):
        command = commands.add_parser(act.__name__.partition("_")[0])
        command.set_defaults(act=act)
        command.add_argument("folder", type=Path)
    first, second = commands.choices["pick"], commands.choices["run"]
    first.add_argument("packages", type=Path, nargs="+")
    first.add_argument("--without", type=Path, action="append", default=[], help="another draw")
    for operation, count in COUNTS.items():
        first.add_argument(f"--{operation}", type=int, default=count)
    second.add_argument("arm")
    second.add_argument("--server", default="", help="an address, or embedded; default: rules")
    for command in (first, second):
        command.add_argument("--asks", choices=("guided", "free", "auto"), default="auto")
    second.add_argument("--memory", choices=("packets", "masked", "raw"), default="packets")
    second.add_argument("--limit-s", type=int, default=1800, help="longest job")
    second.add_argument("--at-once", type=int, default=1)
    commands.choices["compare"].add_argument("arms", nargs=2)
    commands.choices["export"].add_argument("out", type=Path)
    for name in ("pick", "run", "export"):
        commands.choices[name].add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.act(given)


if __name__ == "__main__":
    main()
