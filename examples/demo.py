"""Demo: three agents in one run on a copy of the example shop, by rules alone."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PLACE = HERE.parent / ".demo"
REMORA = [sys.executable, "-m", "remora"]
RUFF = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format=json", "--exit-zero"]
OPERATIONS = ("-o", "lint", "-o", "docstring", "-o", "test")
WIDTH = 100
# the shop's tests run in this environment: the demo installs nothing
ENVIRON = {**os.environ, "VIRTUAL_ENV": sys.prefix, "COLUMNS": str(WIDTH)}


def main() -> None:
    """Run all steps; a failing step ends the demo with its exit code."""
    selection = chosen()
    shop = copy_shop()
    before = findings(shop)

    title("1. A shop with work to do")
    tell("findings of ruff", before)
    tell("ruff --fix alone leaves", after_ruff("--fix"))
    own_tests(shop)
    tell_plan(shop, selection)

    title("2. One run, three agents: each node that needs work gets an agent of its own")
    run_remora(shop, "analyze", *selection, *OPERATIONS, "--unsafe-fixes", "--model", "none")
    report = document(shop, "show", "last")

    title("3. What an agent knows of its job: the packet, in place of all raw output")
    show_packet(shop, report)

    title("4. Who decided")
    show_decisions(report)

    title("5. What each agent would change: one diff of each; nothing of yours was touched so far")
    for operation in ("lint", "docstring", "test"):
        show_diff(shop, report, operation)

    title("6. Yes to all of it")
    run_remora(shop, "accept", "last", "--all")
    tell("findings of ruff now", findings(shop))
    imports(shop)
    own_tests(shop)

    title("7. The summary for a pull request (remora report last; the folded part is left out)")
    said = captured(shop, "report", "last").partition("\n<details>")[0]
    print("\n".join(map(wrapped, said.strip().splitlines())))

    title("8. The proof: every line of every stream, every packet and request made again")
    run_remora(shop, "trace", "verify", "--all", allowed=(0,))
    title("9. Look around: one file for a browser, and all runs with remora ui")
    share_last_run(shop)


def chosen() -> tuple[str, ...]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="three nodes only, for CI")
    short = parser.parse_args().short
    return ("src/shop/returns.py", "--max-nodes", "3") if short else (".",)


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def wrapped(text: str, width: int = WIDTH) -> str:
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def tell(what: str, found: list[dict[str, Any]]) -> None:
    counts = Counter(str(finding["code"]) for finding in found)
    codes = ", ".join(f"{code} x{n}" if n > 1 else code for code, n in sorted(counts.items()))
    number = f"{len(found)} finding{'s' * (len(found) != 1)}"
    print(wrapped(f"{what}: {number}: {codes}" if found else f"{what}: none"), flush=True)


def tell_plan(shop: Path, selection: tuple[str, ...]) -> None:
    planned = document(shop, "analyze", *selection, *OPERATIONS, "--unsafe-fixes", "--dry-run")
    jobs = Counter(job["operation"] for job in planned["jobs"])
    planned_jobs = ", ".join(f"{operation} {number}" for operation, number in jobs.items())
    print(f"planned jobs: {planned_jobs}", flush=True)


def copy_shop() -> Path:
    """Make a fresh copy under version control, so that the base is a commit."""
    shutil.rmtree(PLACE, ignore_errors=True)
    shop = PLACE / "shop"
    shutil.copytree(HERE / "shop", shop)
    git = ["git", "-c", "user.name=demo", "-c", "user.email=demo@localhost"]
    if shutil.which("git"):
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "shop"]):
            subprocess.run([*git, *command], cwd=shop, check=True)
    return shop


def findings(tree: Path) -> list[dict[str, Any]]:
    done = subprocess.run([*RUFF, "."], cwd=tree, capture_output=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def after_ruff(*options: str) -> list[dict[str, Any]]:
    alone = PLACE / "ruff-alone"
    shutil.copytree(HERE / "shop", alone)
    subprocess.run([*RUFF, *options, "."], cwd=alone, capture_output=True, check=True)
    return findings(alone)


def own_tests(shop: Path) -> None:
    """Run the shop's tests with pytest."""
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(
        [sys.executable, "-B", *words], cwd=shop, capture_output=True, text=True, check=False
    )
    print(f"$ pytest -q\n{done.stdout.strip().splitlines()[-1]}", flush=True)
    if done.returncode:
        sys.exit(f"the shop's tests fail:\n{done.stdout}{done.stderr}")


def imports(shop: Path) -> None:
    code = "import pkgutil, importlib, shop; "
    code += (
        "[importlib.import_module(m.name) for m in pkgutil.iter_modules(shop.__path__, 'shop.')]"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=shop / "src", check=False)
    if done.returncode:
        sys.exit("the accepted tree does not import")
    print("every module of the shop imports")


def run_remora(shop: Path, *words: str, allowed: tuple[int, ...] = (0, 1)) -> None:
    print(wrapped(f"$ remora {' '.join(words)}"), flush=True)
    if sys.stdout.isatty():
        code = subprocess.run([*REMORA, *words], cwd=shop, env=ENVIRON, check=False).returncode
    else:
        code = _run_in_columns([*REMORA, *words], shop)
    if code not in allowed:
        sys.exit(code)


def _run_in_columns(command: list[str], shop: Path) -> int:
    """Print a command's lines as they arrive, wrapped."""
    piped = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=shop, env=ENVIRON, stdout=piped, stderr=subprocess.STDOUT, text=True
    ) as child:
        assert child.stdout
        for line in child.stdout:
            print(wrapped(line.rstrip()), flush=True)
    return child.returncode


def captured(shop: Path, *words: str) -> str:
    done = subprocess.run(
        [*REMORA, *words], cwd=shop, env=ENVIRON, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        sys.exit(f"remora {' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


def document(shop: Path, *words: str) -> Any:
    return json.loads(captured(shop, *words, "--json"))


def share_last_run(shop: Path) -> None:
    """Write the run as one file, and print its path and the command that opens the page."""
    file = PLACE / "run.html"
    captured(shop, "trace", "export", "--run", "last", "--format", "html", "-o", str(file))
    print(f"share file: {_from_here(file)}")
    print(f"page: remora ui --open --root {_from_here(shop)}", flush=True)


def _from_here(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def show_packet(shop: Path, report: dict[str, Any]) -> None:
    """Print the packet that stands for most raw output, and the sizes of both."""
    job = max(report["jobs"], key=lambda job: job["raw_bytes"])
    turn = str(job["turns"])
    run_remora(shop, "trace", "packet", job["agent_id"], "--turn", turn)
    packet = document(shop, "trace", "packet", job["agent_id"], "--turn", turn)
    size = len(json.dumps(packet, separators=(",", ":")))
    told = f"{size:,} bytes, for {job['raw_bytes']:,} bytes of raw tool output; all of it is in "
    print("\n" + wrapped(told + "the stream."))


def show_decisions(report: dict[str, Any]) -> None:
    totals: Counter[str] = Counter()
    for job in report["jobs"]:
        totals.update(job["decided_by"])
    told = (
        f"Rules took all {totals['rule']} decisions: each had one valid action. A model is asked "
    )
    told += "only where a choice could change the result; without one, rules take the safest."
    print(wrapped(told))


def show_diff(shop: Path, report: dict[str, Any], operation: str) -> None:
    """Return the longest change set of an agent, by its name."""
    waiting = [
        job["agent_id"]
        for job in report["jobs"]
        if job["operation"] == operation and job["review"] == "pending"
    ]
    diffs = {agent: captured(shop, "diff", "last", agent).strip() for agent in waiting[:4]}
    if diffs:
        agent = max(diffs, key=lambda one: diffs[one].count("\n"))
        print(f"\n$ remora diff last {agent}\n{diffs[agent]}")


if __name__ == "__main__":
    main()
