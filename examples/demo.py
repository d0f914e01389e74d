"""The lint agent on a copy of the example shop, with the embedded model: what it did, and proof."""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PLACE = HERE.parent / ".demo"
REMORA = [sys.executable, "-m", "remora"]
RUFF = [
    sys.executable,
    "-m",
    "ruff",
    "check",
    "--no-cache",
    "--output-format",
    "json",
    "--exit-zero",
]


def main() -> None:
    """Runs every step for real; any step that fails ends the demo with its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="one module only, for CI")
    short = parser.parse_args().short
    shop = copy_shop()
    target = "src/shop/orders.py" if short else "."
    before = findings(shop, target)

    title("1. The findings, and what ruff --fix alone would leave")
    print(f"{len(before)} findings: {codes(before)}")
    alone = after_ruff_fix(target)
    print(f"ruff --fix alone leaves {len(alone)}: {codes(alone)}")

    title("2. One agent for each node that needs work")
    analyzed = run_remora(
        shop, "analyze", target, "-o", "lint", "--unsafe-fixes", "--seed", "7", allowed=(0, 1)
    )
    report = document(shop, "show", "last")
    if analyzed not in (0, 1):
        sys.exit(analyzed)

    title("3. What the model saw, and what it stands for")
    show_packet(shop, report)

    title("4. Who decided")
    show_decisions(report)

    title("5. The diff, and a yes to all of it")
    diff = captured(shop, "diff", report["run_id"]).splitlines()
    print("\n".join(diff[:40]))
    print(f"… {len(diff) - 40} more lines" if len(diff) > 40 else "")
    run_remora(shop, "accept", report["run_id"], "--all", allowed=(0, 1))
    after = findings(shop, target)
    print(f"\nfindings: {len(before)} before, {len(after)} after; ruff --fix alone: {len(alone)}")
    imports(shop)

    title("6. The proof")
    run_remora(shop, "trace", "verify", "--all", allowed=(0,))


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def copy_shop() -> Path:
    """A fresh copy under version control, so that the base is a commit."""
    shutil.rmtree(PLACE, ignore_errors=True)
    shop = PLACE / "shop"
    shutil.copytree(HERE / "shop", shop)
    git = ["git", "-c", "user.name=demo", "-c", "user.email=demo@localhost"]
    if shutil.which("git"):
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "shop"]):
            subprocess.run([*git, *command], cwd=shop, check=True)
    return shop


def findings(tree: Path, target: str) -> list[dict[str, Any]]:
    done = subprocess.run([*RUFF, target], cwd=tree, capture_output=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def codes(found: list[dict[str, Any]]) -> str:
    counts = Counter(str(finding["code"]) for finding in found)
    return ", ".join(f"{code} x{n}" if n > 1 else code for code, n in sorted(counts.items()))


def after_ruff_fix(target: str) -> list[dict[str, Any]]:
    alone = PLACE / "ruff-alone"
    shutil.copytree(HERE / "shop", alone)
    subprocess.run([*RUFF, "--fix", target], cwd=alone, capture_output=True, check=True)
    return findings(alone, target)


def run_remora(shop: Path, *words: str, allowed: tuple[int, ...]) -> int:
    print(f"$ remora {' '.join(words)}", flush=True)
    code = subprocess.run([*REMORA, *words], cwd=shop, check=False).returncode
    if code not in allowed:
        sys.exit(code)
    return code


def captured(shop: Path, *words: str) -> str:
    done = subprocess.run([*REMORA, *words], cwd=shop, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"remora {' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


def document(shop: Path, *words: str) -> Any:
    return json.loads(captured(shop, *words, "--json"))


def show_packet(shop: Path, report: dict[str, Any]) -> None:
    """The request with the most raw output behind it, beside the tokens of that output."""
    job = max((job for job in report["jobs"] if job["asked"]), key=lambda job: job["raw_bytes"])
    stream = shop / ".agentfs" / "traces" / f"{job['agent_id']}.jsonl"
    events = [json.loads(line) for line in stream.read_bytes().splitlines()]
    request = next(event for event in events if event["type"] == "model_request")
    results = [
        event
        for event in events
        if event["type"] == "tool_result" and event["seq"] < request["seq"]
    ]
    raw = "\n".join(json.dumps(event["data"]["raw_output"]) for event in results)
    hosts = "\n".join(json.dumps(event["data"]["host_calls"]) for event in results)
    shown = "\n".join(message["content"] for message in request["data"]["messages"])
    print(f"{job['node_id']}, turn {request['turn']}: the whole request\n")
    print("\n".join(f"    {line}" for line in shown.splitlines()))
    counted = tokens(raw, raw + hosts)
    print(
        f"\n{request['data']['prompt_tokens']} tokens shown, for {counted[0]} tokens of raw tool "
        f"output ({counted[1]} with what the host functions returned); all of it is in the stream."
    )


def tokens(*texts: str) -> list[int]:
    """Counted by the model's own tokenizer."""
    from remora.config import ModelConfig, UserFolders
    from remora.models.provider import open_model

    cache = UserFolders.from_environ(os.environ).cache
    model = open_model(ModelConfig(provider="embedded"), cache=cache, api_key=None)
    try:
        return [model.counter.count_text(text) for text in texts]
    finally:
        import asyncio

        asyncio.run(model.aclose())


def show_decisions(report: dict[str, Any]) -> None:
    totals: Counter[str] = Counter()
    for job in report["jobs"]:
        totals.update(job["decided_by"])
    asked = sum(job["asked"] for job in report["jobs"])
    differed = sum(job["differed"] for job in report["jobs"])
    print(
        f"{totals['rule']} decisions had one choice: a rule took it. In {asked} a choice could "
        f"change the result: the model decided {totals['model']}, and in {totals['fallback']} it "
        "was not sure enough, so the first candidate was taken."
    )
    print(f"In {differed} of {asked} the model chose another action than the first candidate.")


def imports(shop: Path) -> None:
    code = "import pkgutil, importlib, shop; "
    code += (
        "[importlib.import_module(m.name) for m in pkgutil.iter_modules(shop.__path__, 'shop.')]"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=shop / "src", check=False)
    if done.returncode:
        sys.exit("the accepted tree does not import")
    print("the accepted tree imports")


if __name__ == "__main__":
    main()
