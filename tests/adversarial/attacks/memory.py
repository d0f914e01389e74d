"""More memory than one process may have, and the wish to outlive others when it ends."""

import mmap
from pathlib import Path

from tests.adversarial.attacks.inside import refused


def test_there_is_an_end() -> None:
    refused(mmap.mmap, -1, 17 << 30)


def test_we_are_the_first_to_go() -> None:
    score = Path("/proc/self/oom_score_adj")
    assert score.read_text().strip() == "1000"
    refused(score.write_text, "-1000")
    refused(score.write_text, "0")
