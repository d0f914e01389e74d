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
    target, shop = chosen_target(), copy_shop()
    before = findings(shop, target)

    title("1. The findings, and what ruff alone would leave")
    tell("before", before)
    alone = [after_ruff(target, "--fix"), after_ruff(target, "--fix", "--unsafe-fixes")]
    tell("ruff --fix alone leaves", alone[0])
    tell("ruff --fix --unsafe-fixes alone leaves", alone[1])

    title("2. One agent for each node that needs work")
    analyze(shop, target)
    report = document(shop, "show", "last")

    title("3. What the model saw, and what it stands for")
    show_packet(shop, report)

    title("4. Who decided")
    show_decisions(report)

    title("5. The diff, and a yes to all of it")
    accept(shop, report)
    after = findings(shop, target)
    tell("left", after)

    title("6. A second run: changes made apart can leave work together, as an unused import")
    if after:
        analyze(shop, target)
        accept(shop, document(shop, "show", "last"))
        after = findings(shop, target)
    tell("left for people", after)

    title("7. The sum, and the proof")
    print(
        f"{len(before)} findings before, {len(after)} after; "
        f"ruff alone leaves {len(alone[0])} with --fix, {len(alone[1])} with --unsafe-fixes too"
    )
    imports(shop)
    run_remora(shop, "trace", "verify", "--all", allowed=(0,))


def chosen_target() -> str:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="one module only, for CI")
    return "src/shop/orders.py" if parser.parse_args().short else "."


def accept(shop: Path, report: dict[str, Any]) -> None:
    """Show the beginning of the diff, and accept what waits."""
    if not any(job["review"] == "pending" for job in report["jobs"]):
        print("nothing to accept")
        return
    diff = captured(shop, "diff", report["run_id"]).splitlines()
    print("\n".join(diff[:40]))
    print(f"… {len(diff) - 40} more lines" if len(diff) > 40 else "")
    run_remora(shop, "accept", report["run_id"], "--all", allowed=(0, 1))


def analyze(shop: Path, target: str) -> None:
    words = ("-o", "lint", "--unsafe-fixes", "--seed", "7")
    run_remora(shop, "analyze", target, *words, allowed=(0, 1))


def tell(what: str, found: list[dict[str, Any]]) -> None:
    number = f"{len(found)} finding{'s' if len(found) != 1 else ''}"
    print(f"{what}: {number}" + (f": {codes(found)}" if found else ""), flush=True)


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


def after_ruff(target: str, *options: str) -> list[dict[str, Any]]:
    alone = PLACE / "ruff-alone"
    shutil.rmtree(alone, ignore_errors=True)
    shutil.copytree(HERE / "shop", alone)
    subprocess.run([*RUFF, *options, target], cwd=alone, capture_output=True, check=True)
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
    raw_tokens, all_tokens = tokens(raw, raw + hosts)
    sent = request["data"]["prompt_tokens"]
    if sent < raw_tokens:
        print(
            f"\n{sent} tokens shown, for {raw_tokens} tokens of raw tool output ({all_tokens} with "
            "what the host functions returned); all of it is in the stream."
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
    print(
        "The model is not trained for this: it decides no better than the order of the list does."
    )


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
