"""Names in error messages."""

import time

import pytest

from remora.runs.diagnosis.packet_places import names_in


def test_identifiers_paths_codes_and_quoted_texts_are_names() -> None:
    message = (
        "src/price.py: line 5: E501 in 'total of' (as_private, a.b_c, élan_vital, utf8, plain)"
    )
    assert names_in(message) == [
        *(
            "total of",
            "src/price.py",
            "line 5",
            "E501",
            "as_private",
            "a.b_c",
            "élan_vital",
            "utf8",
        ),
    ]


@pytest.mark.parametrize("part", ["a", "a.", "a_", "aA1", "'", "é/"])
def test_a_long_message_takes_no_time(part: str) -> None:
    began = time.process_time()
    names_in(part * 100_000)
    assert time.process_time() - began < 0.5
