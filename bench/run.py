"""Run all benchmarks in order, or those named as arguments."""

import importlib
import sys
from pathlib import Path

BENCHMARKS = (
    "startup",
    "check",
    "projection",
    "append",
    "durability",
    "postgres_store",
    "engines",
    "large_run",
    "accept",
    "verify",
    "replay",
    "redaction",
    "memory",
    "questions",
    "analysis",
    "lint",
    "model_tools",
    "pym",
    "planning",
    "hub_index",
    "links",
    "links_ahead",
    "branch_switch",
    "hub_daemon",
    "hub_cold",
    "mcp_server",
    "viewer",
    "isolation",
    "workspaces",
    "workers",
    "annotations",
    "accuracy",
)


def main(names: list[str]) -> None:
    """Run the named benchmarks, or all. Figures are ratios within one run: machines differ."""
    sys.path.insert(0, str(Path(__file__).parent))
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; there is {', '.join(BENCHMARKS)}")
    for name in names or BENCHMARKS:
        print(f"== {name}: {(importlib.import_module(name).__doc__ or '').splitlines()[0]}")
        importlib.import_module(name).main()


if __name__ == "__main__":
    main(sys.argv[1:])
