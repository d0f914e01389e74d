"""What a test of a function can be made of, and where it goes: pure, nothing is run."""

from remora.code.testing.adding import added_tests, joined, with_tests
from remora.code.testing.arguments import candidate_calls
from remora.code.testing.cases import Case, best_cases, case_of, is_sound
from remora.code.testing.drafting import Draft, draft_of, drafts_of, source_of
from remora.code.testing.fitting import contradicts
from remora.code.testing.need import needs_test
from remora.code.testing.placing import Home, home_of
from remora.code.testing.properties import Property, best_property, is_known, properties_of
from remora.code.testing.subject import Subject, subject_of

__all__ = [
    "Case",
    "Draft",
    "Home",
    "Property",
    "Subject",
    "added_tests",
    "best_cases",
    "best_property",
    "candidate_calls",
    "case_of",
    "contradicts",
    "draft_of",
    "drafts_of",
    "home_of",
    "is_known",
    "is_sound",
    "joined",
    "needs_test",
    "properties_of",
    "source_of",
    "subject_of",
    "with_tests",
]
