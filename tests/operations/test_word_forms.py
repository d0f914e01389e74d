"""Forms of a word have the same stem, and plurals have a singular."""

import pytest

from remora.operations.word_forms import singular, stem


@pytest.mark.parametrize(
    "forms",
    [
        "decode decodes decoded decoding",
        "copy copies copied copying",
        "run runs running",
        "fill fills filled filling",
        "class classes",
        "item items",
        "store stores stored storing",
    ],
)
def test_forms_of_a_word_have_the_same_stem(forms: str) -> None:
    assert len({stem(word) for word in forms.split()}) == 1


def test_different_words_have_different_stems() -> None:
    words = ["head", "header", "file", "filter", "use", "user", "set", "setter", "is", "not"]
    assert len({stem(word) for word in words}) == len(words)
    derived = {stem(word, derived=True) for word in ("decode", "decoder", "decoders", "decoding")}
    assert len(derived) == 1


def test_singular_forms() -> None:
    words = ["lines", "boxes", "matches", "classes", "glass", "status", "entries", "ids"]
    assert [singular(word) for word in words] == [
        *("line", "box", "match", "class", None, None, None, None)
    ]
