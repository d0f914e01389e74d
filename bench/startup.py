"""How long `remora --help` takes, as a ratio to a bare Python that does nothing."""

import statistics
import subprocess
import sys
import time

RUNS = 15


def main() -> dict[str, float]:
    """Ratios of medians: `--help` and `--version`-like start to `python -c pass`."""
    bare, helped = [], []
    for _ in range(RUNS):  # in turn, so that a busy moment hits both
        bare.append(_seconds([sys.executable, "-c", "pass"]))
        helped.append(_seconds([sys.executable, "-m", "remora", "--help"]))
    ratio = statistics.median(helped) / statistics.median(bare)
    print(f"remora --help / python -c pass       {ratio:6.2f} x   (aim <= 4)")
    return {"help_over_bare_python": ratio}


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
