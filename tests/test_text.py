"""Text: escapes."""

from remora.text import escape_surrogates


def test_escaped_surrogates_leave_other_text_alone() -> None:
    assert escape_surrogates("é\\ud800\ud800😀") == "é\\ud800\\ud800😀"
