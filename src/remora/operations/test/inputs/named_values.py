"""Sample arguments by the name of the parameter, as an example in documentation would have them."""

import math

_NAMED: dict[str, tuple[str, ...]] = {
    "email mail": ("'ann@example.com'",),
    "base_url base_uri": ("'https://example.com/docs/'",),
    "url uri href link": (
        "'https://example.com/docs?page=2'", "'/images/logo.png'", "'https://example.com/docs/#top'",
    ),
    "host hostname domain server": ("'example.com'", "'www.example.org'", "'192.0.2.1'"),
    "netloc authority": ("'ann@example.com:8080'", "'example.com'"),
    "scheme protocol": ("'https'", "'ftp'"),
    "port": ("8080", "443"),
    "username user first_name author owner person": ("'Ann'", "'Bob'"),
    "name": ("'example'", "'Example_Name'", "'first.second-third'"),
    "title": ("'The Old Man and the Sea'",),
    "text s string content message msg sentence line": (
        "'Hello, World'", "'one two three'", "'first\\nsecond'", "' padded text '", "'abc'", "''",
    ),
    "word noun singular": ("'apple'", "'box'", "'city'"),
    "path filepath file_path": ("'docs/index.html'", "'/srv/data/report.txt'", "'index'"),
    "filename file_name file basename": ("'report.txt'", "'archive.tar.gz'", "'README'"),
    "date day_text": ("'2024-05-17'",),
    "time": ("'14:30:15'",),
    "timestamp": ("1715956215", "0"),
    "width length size": ("20", "5", "0"),
    "count times limit k n num number amount total": ("3", "10", "1", "0"),
    "dpi": ("300", "72"),
    "index idx pos position offset start": ("1", "0", "2"),
    "end stop": ("4", "2"),
    "seconds duration sec secs": ("90", "3600", "0"),
    "ms msec millis milliseconds": ("5025678", "1500", "0"),
    "minutes": ("45", "90"),
    "age": ("5", "30", "70"),
    "year": ("2024", "2023", "1900"),
    "month": ("5", "2", "12"),
    "day": ("17", "1"),
    "hour": ("14", "0"),
    "minute": ("30", "0"),
    "price cost": ("12.5", "0.0"),
    "ratio fraction factor weight": ("0.5", "2.0"),
    "percent percentage": ("25", "100"),
    "lat latitude": ("48.2", "-33.9"),
    "lon lng longitude": ("16.4", "151.2"),
    "char ch c letter character": ("'a'", "'-'", "' '"),
    "quote quotechar": ("'\"'",),
    "sep separator delimiter delim": ("','", "';'"),
    "prefix": ("'un'",),
    "suffix": ("'.txt'",),
    "pattern regex": ("'[0-9]+'",),
    "lang language": ("'en'", "'de'"),
    "locale": ("'en_US'", "'de_DE'"),
    "encoding charset": ("'utf-8'", "'latin-1'", "'ascii'"),
    "color colour": ("'#ff8800'", "'red'"),
    "version": ("'1.10.2'", "'2.0.0'"),
    "ip ip_address address": ("'192.0.2.1'", "'2001:db8::1'"),
    "docstring docstr": ("'First line.\\n\\n    Second line.\\n    '",),
    "html markup": ("'<p>Hello <b>World</b></p>'", "'<a href=\"/docs\">A &amp; B</a>'"),
    "json_text json_string": ("'{\"a\": 1}'",),
    "query query_string qs": ("'page=2&sort=name'",),
    "content_type mimetype mime_type": ("'text/html; charset=utf-8'", "'application/json'"),
    "headers": ("{'Content-Type': 'text/html'}",),
    "password": ("'correct horse battery'", "'qwerty123'", "'abcabc 17.5.2024'"),
    "alphabet": ("'abcdef'", "['a', 'b', 'c']"),
    "country": ("'AT'",),
    "currency": ("'EUR'", "'USD'"),
    "words names": ("['pear', 'apple']", "['fig']", "[]"),
    "lines": ("['first', '  second', '']",),
    "items iterable seq sequence lst values numbers elements": (
        "[3, 1, 2, 1]", "[]",
    ),
    "mapping dct dictionary params": ("{'a': 1, 'b': 2}", "{}"),
    "func function fn callback": ("lambda x: x * 2",),
    "pred predicate": ("lambda x: x > 1",),
}  # fmt: skip
_BY_NAME = {name: values for names, values in _NAMED.items() for name in names.split()}
_NOT_ENDINGS = frozenset(
    {
        "name",
        "c",
        "s",
        "k",
        "n",
        "file",
        "text",
        "line",
        "time",
        "day",
        "start",
        "end",
        "size",
        "function",
    }
)
"""Names that say too little at the end of a longer name."""
_SURE = frozenset(
    {
        "email", "mail", "url", "uri", "hostname", "domain", "title", "docstring", "text", "sentence",
        "word", "html", "markup", "filename", "username", "first_name", "encoding", "charset", "year",
        "month", "hour", "minute", "content_type", "mimetype", "password",
    }
)  # fmt: skip
"""Names that show the type without any use of the parameter."""


_RANGES = {
    "year": (1800, 2200), "month": (1, 12), "day": (1, 31), "weekday": (0, 6), "hour": (0, 23),
    "minute": (0, 59), "second": (0, 59), "lat": (-90, 90), "latitude": (-90, 90),
    "lon": (-180, 180), "lng": (-180, 180), "longitude": (-180, 180), "percent": (0, 100),
    "percentage": (0, 100), "port": (1, 65535),
}  # fmt: skip
"""The numbers that a reader expects of a parameter of that name."""


def is_usual(name: str, value: object) -> bool:
    """Return False for a number that a reader would not expect, such as the month 0."""
    low, high = _RANGES.get(_plain(name), (-math.inf, math.inf))
    return not isinstance(value, int | float) or low <= value <= high


def shows_type(name: str) -> bool:
    """Return True if the type of a parameter is known from its name alone."""
    return name.lower().strip("_") in _SURE


def values_by_name(name: str) -> tuple[str, ...]:
    """Return sample values for a parameter of that name, or of a name that ends with such a word."""
    plain = _plain(name)
    if plain in _BY_NAME:
        return _BY_NAME[plain]
    if plain.startswith(("max_", "min_")):
        return ("100", "10") if plain.startswith("max_") else ("1", "0")
    last = plain.rpartition("_")[2]
    return _BY_NAME.get(last, ()) if last not in _NOT_ENDINGS else ()


def _plain(name: str) -> str:
    return name.lower().strip("_").rstrip("0123456789").strip("_")
