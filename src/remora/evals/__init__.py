"""Evaluations: what recorded streams say about settings, without a model."""

from remora.evals.report import Arm, Report, Tally
from remora.evals.setting import RECORDED, Setting, settings
from remora.evals.what_if import agents_of, what_if

__all__ = ["RECORDED", "Arm", "Report", "Setting", "Tally", "agents_of", "settings", "what_if"]
