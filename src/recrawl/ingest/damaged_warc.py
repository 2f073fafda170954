"""A WARC stream that can continue at the next record after damaged bytes."""

from __future__ import annotations

import io
from collections import deque
from typing import IO

_RECORD_START = b"WARC/1."
_READS_KEPT = 4  # the parser reads ahead of its last record by no more than one
_READ_BYTES = 1 << 16


class ResumableStream(io.RawIOBase):
    """A stream for a WARC parser that cannot seek, but can skip to the next record.

    Each parser reads one part of the file and counts its bytes from `base`, where the part begins.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.base = 0
        self._stream = stream
        self._recent: deque[bytes] = deque(maxlen=_READS_KEPT)
        self._given = 0  # bytes of this part that the parser has got
        self._held = b""  # bytes to give before those of the stream

    def has_more(self) -> bool:
        """Whether there are bytes left to parse."""
        self._held = self._held or self._stream.read(_READ_BYTES)
        return bool(self._held)

    def read(self, size: int = -1) -> bytes:
        size = size if size >= 0 else _READ_BYTES
        piece = self._held[:size] or self._stream.read(size)
        self._held = self._held[len(piece) :]
        self._recent.append(piece)
        self._given += len(piece)
        return piece

    def skip_to_record(self, after: int) -> None:
        """Begin a new part at the first record after byte `after` of this part."""
        window = b"".join(self._recent)
        begin = self._given - len(window)
        self._held, place = window + self._held, begin
        seek = max(after + 1 - begin, 0)
        while (hit := self._held.find(_RECORD_START, seek)) < 0:
            more = self._stream.read(_READ_BYTES)
            drop = max(len(self._held) - len(_RECORD_START), 0)
            self._held, place, seek = self._held[drop:] + more, place + drop, 0
            if not more:
                hit = len(self._held)
                break
        self.base += place + hit
        self._held, self._given = self._held[hit:], 0
        self._recent.clear()

    def seek(self, offset: int, whence: int = 0) -> int:  # noqa: ARG002
        """The parser calls it only to learn the position."""
        return self._given

    def tell(self) -> int:
        return self._given

    def readable(self) -> bool:
        return True
