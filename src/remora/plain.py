"""What nobody vouches for, as it may be shown: names, messages and texts come from foreign trees."""

_TURNING = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
"""By these a text is shown in another order, or in other lines, than it is read by Python."""
_SPELLED = {
    **{c: f"\\x{c:02x}" for c in (*range(32), *range(127, 160)) if c != ord("\t")},
    **{c: f"\\u{c:04x}" for c in (*_TURNING, *range(0xD800, 0xE000))},
}


def plain(text: str) -> str:
    """One line in which nothing is obeyed, turned around or hidden: such characters are spelled out."""
    return text if text.isascii() and text.isprintable() else text.translate(_SPELLED)
