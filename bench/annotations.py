"""Time to infer the missing annotations of a package: seconds, and runs of ty, per slot."""

import resource
import sys
import time
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from types_packages import package_texts, stripped, true_types

from remora.judges.types.type_checker import TypeChecker
from remora.operations.types.inference import Inference

_PACKAGE = "platformdirs"
_MINOR = 10


def _seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    texts = package_texts(_PACKAGE)
    bare = stripped(texts, true_types(texts).__contains__)
    before, started = _seconds(), time.perf_counter()
    with closing(TypeChecker(bare, {}, minor=_MINOR)) as checker:
        inference = Inference(bare, checker, _MINOR)
        slots = inference.slots(bare)
        inference.run(slots)
        runs = checker.runs
    wall, cpu = time.perf_counter() - started, _seconds() - before
    tried = len(inference.candidates)
    print(
        f"{_PACKAGE}: {len(slots)} slots, {len(inference.annotations)} written, {runs} runs of ty"
    )
    print(
        f"{wall:.1f} s; {cpu:.1f} s of CPU time, {cpu / max(tried, 1):.3f} s per slot tried (aim 1); "
        f"500 slots in {wall / max(len(slots), 1) * 500:.0f} s (aim 300 s)"
    )


if __name__ == "__main__":
    main()
