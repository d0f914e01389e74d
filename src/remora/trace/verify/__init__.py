"""Whether the streams on disk are what was written: hashes, folds, prompts, contents, anchors."""

from remora.trace.verify.everything import verify_all
from remora.trace.verify.report import Kind, Problem, Report, StreamReport, Tally
from remora.trace.verify.stream import Target, verify_stream

__all__ = [
    "Kind",
    "Problem",
    "Report",
    "StreamReport",
    "Tally",
    "Target",
    "verify_all",
    "verify_stream",
]
