"""What a test of a function can be made of, and where it goes: pure, nothing is run."""

from remora.code.testing.adding import added_tests, joined, with_test
from remora.code.testing.arguments import candidate_calls
from remora.code.testing.cases import Case, best_cases, case_of, is_sound, statements
from remora.code.testing.need import needs_test
from remora.code.testing.placing import Home, home_of
from remora.code.testing.subject import Subject, subject_of

__all__ = [
    "Case",
    "Home",
    "Subject",
    "added_tests",
    "best_cases",
    "candidate_calls",
    "case_of",
    "home_of",
    "is_sound",
    "joined",
    "needs_test",
    "statements",
    "subject_of",
    "with_test",
]
