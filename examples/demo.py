"""Demo on a copy of the example shop: a judged commit, a recorded job, and what a change concerns."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PLACE = HERE.parent / ".demo"
REMORA = [sys.executable, "-m", "remora"]
WRITER = "Qwen2.5-Coder-1.5B-Instruct"
"""The embedded model whose docstrings were read: docs/evals/small-models.md."""
WIDTH = 100
# the shop's tests run in this environment: the demo installs nothing
ENVIRON = {**os.environ, "VIRTUAL_ENV": sys.prefix, "COLUMNS": str(WIDTH)}


def main() -> None:
    """Run all steps; a failing step ends the demo with its exit code."""
    is_short, shop = chosen(), PLACE / "shop"
    shutil.rmtree(PLACE, ignore_errors=True)
    copy_shop(shop)

    title("1. What is a change worth? An agent has committed coupons, with four tests that pass")
    own_tests(shop)
    run_remora(shop, "judge", "--seconds", "5" if is_short else "25")

    title("2. A small agent at work, on a private copy")
    run_remora(shop, "analyze", *job_words(shop))
    job = document(shop, "show", "last")["jobs"][0]
    title("What decided: the packet of its first turn, in place of all raw output")
    run_remora(shop, "trace", "packet", job["agent_id"], "--turn", "1")
    told = f"The job had {job['raw_bytes']:,} bytes of raw tool output; all of it is in the stream."
    print(f"\n{told}")
    title("Its change")
    run_remora(shop, "diff", "last")

    title("3. Whom does a change concern, and which tests run it?")
    run_remora(shop, "hub", "impact", "shipping")

    title("4. Accept, test, prove: each hash, packet and prompt is made again")
    run_remora(shop, "accept", "last", "--all")
    own_tests(shop)
    run_remora(shop, "trace", "verify", allowed=(0,))

    title("On your own project")
    print("remora          names the command that has a result there")
    print("remora judge    your last change, or an agent's")
    print("remora analyze  what rules can fix; `remora diff` shows it")


def chosen() -> bool:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="judge for less time, for CI")
    return bool(parser.parse_args().short)


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def copy_shop(shop: Path) -> None:
    """Make a fresh copy of the shop, with a commit of it and one that an agent might have made."""
    shutil.copytree(HERE / "shop", shop, ignore=shutil.ignore_patterns("__pycache__"))
    git(shop, "init", "-q", "-b", "main")
    for message, words in (("shop", ()), ("Add coupons", ("apply", str(HERE / "coupon.patch")))):
        if words:
            git(shop, *words)
        git(shop, "add", "-A")
        git(shop, "-c", "user.name=agent", "-c", "user.email=a@localhost", "commit", "-qm", message)


def git(shop: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=shop, check=True)


def job_words(shop: Path) -> list[str]:
    """Return what to analyze: a docstring if there is a model to write it, or findings, by rules."""
    model = document(shop, "model")
    is_able = model["provider"] == "openai" or model["name"] == WRITER
    words = ["src/shop/returns.py", "-o"]
    if model["reachable"] and is_able:
        return [*words, "docstring", "--node", "can_come_back", "--decisions", "model"]
    return [*words, "lint", "--unsafe-fixes", "--model", "none"]


def own_tests(shop: Path) -> None:
    """Run the shop's tests with pytest."""
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(
        [sys.executable, "-B", *words], cwd=shop, capture_output=True, text=True, check=False
    )
    print(f"$ pytest -q\n{done.stdout.strip().splitlines()[-1]}", flush=True)
    if done.returncode:
        sys.exit(f"the shop's tests fail:\n{done.stdout}{done.stderr}")


def run_remora(shop: Path, *words: str, allowed: tuple[int, ...] = (0, 1)) -> None:
    print(f"$ remora {' '.join(words)}", flush=True)
    command = [*REMORA, *words]
    if sys.stdout.isatty():
        code = subprocess.run(command, cwd=shop, env=ENVIRON, check=False).returncode
    else:
        code = _run_in_columns(command, shop)
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
            print(textwrap.fill(line.rstrip(), WIDTH, break_long_words=False), flush=True)
    return child.returncode


def document(shop: Path, *words: str) -> Any:
    done = subprocess.run(
        [*REMORA, *words, "--json"], cwd=shop, env=ENVIRON, capture_output=True, check=False
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
