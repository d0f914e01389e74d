"""What linking needs of one file, compact enough to be stored whole."""

import msgspec


class Lowered(msgspec.Struct, frozen=True, array_like=True):
    """One file for the linker; `names` are all names by which it may mention something."""

    path: str
    names: tuple[str, ...]


_decoder = msgspec.msgpack.Decoder(Lowered)


def encode_lowered(lowered: Lowered) -> bytes:
    """As it is stored."""
    return msgspec.msgpack.encode(lowered)


def decode_lowered(stored: bytes) -> Lowered:
    """The inverse of `encode_lowered`. Raises msgspec.DecodeError."""
    return _decoder.decode(stored)
