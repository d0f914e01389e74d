"""Observation: a package's own tests with our plugin, against the same tests without."""

import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from accuracy import PACKAGES, Package, pytest_run, unpack

from remora.hub.observe.observed_run import copy_plugin

RUNS = 3


def main() -> dict[str, float]:
    """Return ratios of medians, by package."""
    ratios = {}
    with TemporaryDirectory() as made:
        folder = Path(made).resolve()
        copy_plugin(folder)
        named = [package.name for package in PACKAGES if package.name in sys.argv[1:]]
        for package in PACKAGES:
            if package.name in (named or ["h11", "click"]):
                ratios[package.name] = _ratio(package, folder)
                mechanism = "sys.monitoring" if hasattr(sys, "monitoring") else "sys.setprofile"
                print(f"{package.name}: observed / plain {ratios[package.name]:.2f} x, {mechanism}")
    return ratios


def _ratio(package: Package, folder: Path) -> float:
    root = unpack(package, folder)
    bare, observed = [], []
    for number in range(RUNS):  # in turn, so that a busy moment hits both
        out = folder / f"{package.name}-{number}"
        out.mkdir()
        bare.append(pytest_run(root, package, ["-m", "pytest"]))
        command = ["-m", "pytest", "-p", "remora_observe"]
        extra = {"REMORA_OBSERVE_ROOT": str(root), "REMORA_OBSERVE_OUT": str(out)}
        observed.append(pytest_run(root, package, command, plugins=folder, **extra))
    return statistics.median(observed) / statistics.median(bare)


if __name__ == "__main__":
    main()
