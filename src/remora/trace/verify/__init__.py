"""Whether the streams on disk are what was written: hashes, folds, prompts, contents, anchors."""

from remora.trace.verify.everything import verify_all
from remora.trace.verify.report import Problem, Report, Signatures, StreamReport
from remora.trace.verify.stream import Target, verify_stream

__all__ = [
    "Problem",
    "Report",
    "Signatures",
    "StreamReport",
    "Target",
    "verify_all",
    "verify_stream",
]
