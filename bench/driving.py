"""Does a model that sees packets do as well as one that sees a history, and with how many tokens?

    python bench/driving.py pick ~/arms --server http://127.0.0.1:8911/v1 ~/src/one ~/src/two
    python bench/driving.py run ~/arms packets --server http://127.0.0.1:8911/v1
    python bench/driving.py run ~/arms raw --server http://127.0.0.1:8913/v1
    python bench/driving.py score ~/arms

`pick` draws the jobs of each operation by seed, the same for all arms; for lint, files with a
finding that has no fix and is not left as it is. `run` starts a run for each operation and package
(a docstring's for each function), all at once, so that the jobs of an arm are side by side.
`score` counts jobs that ended in all arms: success is a verified change with a call of the model
that wrote something, and not the opening alone.

If people or agents play the model behind a server that keeps each request as `NNNN.request.json`
and waits for `NNNN.answer.json`, `batch` writes open requests of a folder into one text, and `post`
gives back the answers: `{"NNNN": {"tool": NAME, "args": {}}}`. Each batch needs a new person or
agent, so that no request is answered with knowledge of another turn of its job.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ARMS = ("packets", "masked", "raw")
OPERATIONS = ("lint", "docstring", "test", "types")
WRITES = {"edit_lines", "write_docstring", "write_test", "annotate"}
TURNS = 14
WAIT_S = "20000"
"""Longest answer: people need minutes for a batch, and a job that waits too long is lost."""
START_EVERY_S = 3
"""Time between two runs, so that their plans do not all compete for the processor."""
GATES_TIME_S = "900"
"""Longest gates: the runs of an arm share the processor, and each may need the tests of a project."""
SAMPLES = 4000
Key = tuple[str, str, str]
"""Operation, package and node of a job."""


class Job(NamedTuple):
    """What a stream says. `tokens` are those of each request, and `calls` the model's own."""

    row: dict[str, Any]
    tokens: list[int]
    calls: list[tuple[str, str]]

    @property
    def status(self) -> str:
        return str(self.row["status"])

    @property
    def has_ended(self) -> bool:
        return str(self.row.get("stop_reason", "model_error")) != "model_error"

    @property
    def is_success(self) -> bool:
        wrote = any(tool in WRITES and outcome == "success" for tool, outcome in self.calls)
        return wrote and self.status == "verified"


# --- jobs ------------------------------------------------------------------------------------------


def pick(folder: Path, packages: Sequence[Path], server: str, each: int, seed: int) -> None:
    """Draw `each` jobs of each operation, at most a third of them of one package."""
    folder.mkdir(parents=True)
    drawn = list[list[str]]()
    for operation in OPERATIONS:
        found = [
            (str(package), node)
            for package in packages
            for node in nodes_of(package, operation, server)
        ]
        random.Random(f"{seed} {operation}").shuffle(found)
        taken = Counter[str]()
        for package, node in found:
            if taken.total() < each and taken[package] < max(1, each // 3):
                taken[package] += 1
                drawn.append([operation, package, node])
        print(f"{operation}: {taken.total()} of {len(found)}")
    (folder / "jobs.json").write_text(json.dumps(drawn, indent=0))


def nodes_of(package: Path, operation: str, server: str) -> list[str]:
    """Return the nodes of the jobs that a model would get, as `path:name`."""
    words = ["analyze", "-o", operation, "--decisions", "model", "--model", server]
    plan = json.loads(remora(package, *words, "--dry-run", "--json"))
    nodes = sorted({job["node_id"].removeprefix("node:") for job in plan["jobs"]})
    if operation != "lint":
        return nodes
    left = [part["finding"] for part in plan["not_planned"] if part.get("finding")]
    kept = {text.partition(": ")[0] for text in left}
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "json", "."]
    done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
    open_ones = set[str]()
    for finding in json.loads(done.stdout):
        path = str(Path(finding["filename"]).relative_to(package))
        place = f"{path}:{finding['location']['row']} {finding['code']}"
        if not finding["fix"] and place not in kept:
            open_ones.add(path)
    return [node for node in nodes if node.rpartition(":")[0] in open_ones]


def remora(package: Path, *words: str) -> str:
    command = [sys.executable, "-m", "remora", *words]
    done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
    return done.stdout


def run(folder: Path, arm: str, server: str) -> None:
    """Run all jobs of an arm, and keep what each run prints."""
    groups = defaultdict[Key, list[str]](list)
    for operation, package, node in json.loads((folder / "jobs.json").read_text()):
        groups[operation, package, node if operation == "docstring" else ""].append(node)
    out = folder / arm
    out.mkdir()
    environ = {
        **os.environ,
        "REMORA_RUNNER__MEMORY__MODE": arm,
        "REMORA_MODEL__TIMEOUT_S": WAIT_S,
        "REMORA_MODEL__MAX_CONCURRENCY": "40",
        "REMORA_MODEL__MAX_TOKENS": "1000000",
        "REMORA_GATES__TIME_S": GATES_TIME_S,
    }
    started = []
    for number, ((operation, package, node), nodes) in enumerate(groups.items()):
        time.sleep(START_EVERY_S if number else 0)
        paths = sorted({each.rpartition(":")[0] for each in nodes})
        chosen = ["--node", node] if node else paths
        words = ["analyze", "-o", operation, "--decisions", "model", "--model", server, "--json"]
        words += ["--concurrency", "40", "--max-turns", str(TURNS), "-y", "--seed", "1", *chosen]
        (out / f"{number}.package").write_text(package)
        with (out / f"{number}.json").open("w") as said, (out / f"{number}.err").open("w") as told:
            command = [sys.executable, "-m", "remora", *words]
            started.append(
                subprocess.Popen(command, cwd=package, env=environ, stdout=said, stderr=told)
            )
    for process in started:
        process.wait()


# --- requests --------------------------------------------------------------------------------------


def batch(relay: Path, text: Path, most: int) -> None:
    """Write the oldest requests that are in no batch yet. Those without a packet are of no job."""
    shown, tools = list[str](), dict[str, str]()
    for path in sorted(relay.glob("*.request.json")):
        mark = path.with_suffix(".taken")
        request = json.loads(path.read_text())
        if mark.exists() or request.get("max_tokens", 0) <= 16 or len(shown) == most:
            continue
        mark.touch()
        given = "\n".join(json.dumps(tool["function"]) for tool in request.get("tools", ()))
        name = tools.setdefault(given, f"T{len(tools) + 1}")
        head = f"######## REQUEST {path.name[:4]} (tools: {name}) ########"
        shown.append("\n".join([head, *map(message_text, request["messages"])]))
    sets = [f"######## TOOLS {name} ########\n{given}" for given, name in tools.items()]
    text.write_text("\n\n".join([*sets, *shown]))
    print(f"{len(shown)} requests: {text}")


def message_text(message: dict[str, Any]) -> str:
    called = "".join(json.dumps(call["function"]) for call in message.get("tool_calls") or ())
    return f"--- {message['role']} ---\n{message.get('content') or ''}{called}"


def post(relay: Path, answers: Path) -> None:
    """Give the answers of a batch to the server."""
    for number, call in json.loads(answers.read_text()).items():
        (relay / f"{number}.answer.json").write_text(json.dumps({"call": call}))


# --- score -----------------------------------------------------------------------------------------


def jobs_of(out: Path) -> Iterator[tuple[Key, Job]]:
    """Yield the jobs of an arm."""
    for note in sorted(out.glob("*.package")):
        package = Path(note.read_text())
        told = note.with_suffix(".err").read_text()
        if (run_id := re.search(r"\d{8}-\d{6}-[0-9a-f]{6}", told)) is None:
            print(f"no run: {told.partition(chr(10))[0]}")
            continue
        said = note.with_suffix(".json").read_text()
        rows = {row["agent_id"]: row for row in json.loads(said)["jobs"]} if said else {}
        for stream in (package / ".agentfs" / "traces").glob("*.jsonl"):
            events = [json.loads(line) for line in stream.open()]
            first = events[0]
            if first["run_id"] == run_id[0] and first["type"] == "agent_start":
                key = first["operation"], package.name, first["node_id"].removeprefix("node:")
                yield key, job_of(events, rows.get(first["agent_id"], {}))


def job_of(events: Sequence[dict[str, Any]], row: dict[str, Any]) -> Job:
    tokens, calls, is_own = list[int](), list[tuple[str, str]](), False
    for event in events:
        data = event["data"]
        if event["type"] == "model_response":
            tokens.append((data.get("usage") or {}).get("prompt_tokens") or 0)
        elif event["type"] == "tool_call":
            is_own = data["decided_by"] == "model"
        elif event["type"] == "tool_result" and is_own:
            calls.append((data["tool"], data["outcome"]))
    return Job(row, tokens, calls)


def score(folder: Path) -> None:
    """Print what ended in all arms, the paired differences, and the tokens by turn."""
    arms = [arm for arm in ARMS if (folder / arm).exists()]
    found = {arm: dict(jobs_of(folder / arm)) for arm in arms}
    shared = set.intersection(*({*jobs} for jobs in found.values()))
    both = sorted(key for key in shared if all(found[arm][key].has_ended for arm in arms))
    print(f"{len(both)} of {len(shared)} jobs ended in {', '.join(arms)}")
    for operation in (*OPERATIONS, "all"):
        keys = [key for key in both if operation in (key[0], "all")]
        for arm in arms:
            print(f"{operation:10} {arm:8} {totals([found[arm][key] for key in keys])}")
    for arm in arms[1:]:
        pairs = [(found[arms[0]][key].is_success, found[arm][key].is_success) for key in both]
        print(f"{arms[0]} - {arm}: {interval([int(one) - int(other) for one, other in pairs])}")
    for turn in range(TURNS):
        cells = []
        for arm in arms:
            sent = [job.tokens[turn] for job in found[arm].values() if len(job.tokens) > turn]
            cells.append(f"{round(statistics.mean(sent)) if sent else 0:>8} ({len(sent)})")
        print(f"request {turn + 1:2}: {' '.join(cells)}")


def totals(jobs: Sequence[Job]) -> str:
    calls = [outcome for job in jobs for _, outcome in job.calls]
    return (
        f"{sum(job.is_success for job in jobs)} of {len(jobs)} done, "
        f"{sum(job.status == 'no_change' for job in jobs)} declined, "
        f"{sum(len(job.tokens) for job in jobs)} turns, "
        f"{sum(map(sum, (job.tokens for job in jobs))):,} tokens, "
        f"{sum(job.row['invalid'] for job in jobs)} invalid and {calls.count('error')} refused calls"
    )


def interval(differences: Sequence[int]) -> str:
    """Return the mean, with its 95 % interval of the bootstrap over jobs."""
    if not differences:
        return "no jobs"
    draw = random.Random(1)
    means = sorted(
        statistics.mean(draw.choices(differences, k=len(differences))) for _ in range(SAMPLES)
    )
    low, high = means[SAMPLES // 40], means[-SAMPLES // 40]
    return f"{statistics.mean(differences):+.2f} [{low:+.2f}, {high:+.2f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    first = commands.add_parser("pick")
    first.add_argument("folder", type=Path)
    first.add_argument("packages", type=Path, nargs="+")
    first.add_argument("--server", required=True)
    first.add_argument("--each", type=int, default=10)
    first.add_argument("--seed", type=int, default=1)
    second = commands.add_parser("run")
    second.add_argument("folder", type=Path)
    second.add_argument("arm", choices=ARMS)
    second.add_argument("--server", required=True)
    for name, what in (("batch", "text"), ("post", "answers")):
        third = commands.add_parser(name)
        third.add_argument("relay", type=Path)
        third.add_argument(what, type=Path)
    commands.choices["batch"].add_argument("--most", type=int, default=8)
    commands.add_parser("score").add_argument("folder", type=Path)
    given = parser.parse_args()
    match given.command:
        case "pick":
            packages = [package.resolve() for package in given.packages]
            pick(given.folder, packages, given.server, given.each, given.seed)
        case "run":
            run(given.folder, given.arm, given.server)
        case "batch":
            batch(given.relay, given.text, given.most)
        case "post":
            post(given.relay, given.answers)
        case "score":
            score(given.folder)


if __name__ == "__main__":
    main()
