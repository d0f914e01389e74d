"""A project whose functions take texts of a certain form, with the tests that people wrote.

Rules cannot guess such texts: most of what they try is refused.
"""

NUMBERS = """\
ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def roman_number(text):
    total = 0
    for at, letter in enumerate(text):
        value = ROMAN[letter]
        following = ROMAN[text[at + 1]] if at + 1 < len(text) else 0
        total += -value if value < following else value
    return total


def read_ratio(text):
    wide, high = text.split(":")
    if int(high) == 0:
        raise ValueError("a ratio without a height")
    return int(wide) / int(high)


def page_numbers(text):
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def amount_of(text):
    number, currency = text.split(" ")
    whole, _, cents = number.replace(".", "").partition(",")
    return int(whole) * 100 + int(cents or 0), currency
"""
TEST_NUMBERS = """\
import pytest

from numbers_in_texts import amount_of, page_numbers, read_ratio, roman_number

PRICE = "1.234,50 EUR"


@pytest.mark.parametrize(("text", "number"), [("XIV", 14), ("MCMXCIV", 1994), ("III", 3)])
def test_roman_number(text, number):
    assert roman_number(text) == number


def test_read_ratio():
    assert read_ratio("16:9") == 16 / 9


def test_ratio_without_height():
    with pytest.raises(ValueError, match="height"):
        read_ratio("4:0")


def test_page_numbers():
    assert page_numbers("1-3,7") == [1, 2, 3, 7]


def test_amount_of():
    assert amount_of(PRICE) == (123450, "EUR")
    assert amount_of("12 CHF") == (1200, "CHF")
"""
PLACES = """\
def degrees_of(text):
    whole, rest = text[:-1].split("°")
    minutes, seconds = rest.rstrip('"').split("'")
    found = int(whole) + int(minutes) / 60 + int(seconds) / 3600
    return -found if text[-1] in "SW" else found


def square_of(name):
    column, row = name
    if column not in "abcdefgh" or row not in "12345678":
        raise ValueError(f"no square of the board: {name}")
    return "abcdefgh".index(column), int(row) - 1


def colour_of(text):
    digits = text.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * each for each in digits)
    return tuple(int(digits[at : at + 2], 16) for at in (0, 2, 4))


def seat_of(text):
    row, seat = int(text[:-1]), text[-1]
    side = "window" if seat in "AF" else "aisle" if seat in "CD" else "middle"
    return row, side
"""
TEST_PLACES = """\
import pytest

from places import colour_of, degrees_of, seat_of, square_of


def test_degrees_of():
    north = "48°51'36\\"N"
    assert degrees_of(north) == pytest.approx(48.86)
    assert degrees_of("33°52'0\\"S") < 0


class TestBoard:
    def test_square_of(self):
        assert square_of("e4") == (4, 3)

    def test_other_square(self):
        with pytest.raises(ValueError):
            square_of("k9")


def test_colour_of():
    assert colour_of("#ff8000") == (255, 128, 0)
    assert colour_of("#fa0") == (255, 170, 0)


def test_seat_of():
    assert [seat_of("12F"), seat_of("3C"), seat_of("30B")] == [
        (12, "window"),
        (3, "aisle"),
        (30, "middle"),
    ]
"""
TIMES = """\
import datetime


def seconds_of(text):
    units = {"H": 3600, "M": 60, "S": 1}
    total, digits = 0, ""
    for letter in text[2:]:
        if letter in units:
            total += int(digits) * units[letter]
            digits = ""
        else:
            digits += letter
    return total


def week_start(text):
    year, week = text.split("-W")
    return datetime.date.fromisocalendar(int(year), int(week), 1).isoformat()


def is_leap_second(moment):
    day, _, clock = moment.partition("T")
    return clock == "23:59:60" and day[5:] in ("06-30", "12-31")


def minutes_between(start, end):
    first, last = (int(one[:2]) * 60 + int(one[3:]) for one in (start, end))
    return last - first if last >= first else last - first + 24 * 60


def call_sign(text):
    prefix, digit, suffix = text[:2], text[2], text[3:]
    if not digit.isdigit() or not suffix.isalpha():
        raise ValueError(f"not a call sign: {text}")
    return {"country": prefix, "region": int(digit), "station": suffix}
"""
TEST_TIMES = """\
import pytest

import times


def test_seconds_of():
    assert times.seconds_of("PT1H30M") == 5400
    assert times.seconds_of("PT45S") == 45


def test_week_start():
    assert times.week_start("2021-W05") == "2021-02-01"


def test_is_leap_second():
    assert times.is_leap_second("2016-12-31T23:59:60")
    assert not times.is_leap_second("2016-12-30T23:59:60")


def test_minutes_between():
    assert times.minutes_between("09:15", "10:00") == 45
    assert times.minutes_between("23:50", "00:10") == 20


def test_call_sign():
    found = times.call_sign("DL1ABC")
    assert found == {"country": "DL", "region": 1, "station": "ABC"}
    with pytest.raises(ValueError):
        times.call_sign("DLXABC")
"""
RESULTS = """\
class Opening:
    def __init__(self, hours):
        self._hours = hours

    def hours_on(self, day):
        return self._hours.get(day, "closed")


class Stop:
    def __init__(self, name, minute):
        self._name = name
        self._minute = minute

    def __str__(self):
        return f"{self._name} {self._minute // 60}:{self._minute % 60:02}"


def opening_of(text):
    hours = {}
    for part in text.split("; "):
        day, _, times = part.partition(" ")
        first, last = times.split("-")
        hours[day] = f"{int(first)} to {int(last)}"
    return Opening(hours)


def stops_of(text):
    found = []
    for part in text.split(", "):
        name, time = part.split("@")
        hour, minute = time.split(":")
        found.append(Stop(name.strip(), int(hour) * 60 + int(minute)))
    return found


def sender_of(letter):
    head, _, body = letter.partition("\\n\\n")
    fields = dict(line.split(": ") for line in head.split("\\n"))
    return fields["From"].lower(), len(body.split())
"""
TEST_RESULTS = """\
from results import opening_of, sender_of, stops_of

LETTER = "From: Ada@example.org\\nTo: charles@example.org\\nSubject: The engine\\n\\nIt works now."


def test_opening_of():
    assert opening_of("Mo 8-12; Tu 09-13").hours_on("Tu") == "9 to 13"
    assert opening_of("Mo 8-12").hours_on("Su") == "closed"


def test_stops_of():
    stops = stops_of("Rome@8:05, Oslo @23:30")
    assert [str(each) for each in stops] == ["Rome 8:05", "Oslo 23:30"]


def test_sender_of():
    assert sender_of(LETTER) == ("ada@example.org", 3)
"""
"""Results that no literal equals, and a text of several lines."""
FILES = {
    "numbers_in_texts.py": NUMBERS,
    "places.py": PLACES,
    "results.py": RESULTS,
    "times.py": TIMES,
    "tests/test_numbers_in_texts.py": TEST_NUMBERS,
    "tests/test_places.py": TEST_PLACES,
    "tests/test_results.py": TEST_RESULTS,
    "tests/test_times.py": TEST_TIMES,
}
