"""Where does the next WARC record begin, after one that is damaged?"""

from __future__ import annotations

import io
from collections import deque
from typing import IO

_MARK = b"WARC/1."
_KEPT = 4  # reads kept: the parser is never further ahead of its last record than one


class Resync(io.RawIOBase):
    """A stream that can be taken up again at the next record, without being seekable.

    `base` is where in the whole file the present stretch begins; the parser counts from there.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self.base = 0
        self._stream = stream
        self._recent: deque[bytes] = deque(maxlen=_KEPT)
        self._given = 0  # bytes handed to the parser in this stretch
        self._held = b""  # bytes to hand out before the stream's own

    def found(self) -> bool:
        """Whether anything is left to parse."""
        self._held = self._held or self._stream.read(1 << 16)
        return bool(self._held)

    def read(self, size: int = -1) -> bytes:
        size = size if size >= 0 else 1 << 16
        piece = self._held[:size] or self._stream.read(size)
        self._held = self._held[len(piece) :]
        self._recent.append(piece)
        self._given += len(piece)
        return piece

    def skip_to_record(self, after: int) -> None:
        """Go on with the first record that begins later than byte `after` of this stretch."""
        window = b"".join(self._recent)
        begin = self._given - len(window)
        self._held, place = window + self._held, begin
        seek = max(after + 1 - begin, 0)
        while (hit := self._held.find(_MARK, seek)) < 0:
            more = self._stream.read(1 << 16)
            drop = max(len(self._held) - len(_MARK), 0)
            self._held, place, seek = self._held[drop:] + more, place + drop, 0
            if not more:
                hit = len(self._held)
                break
        self.base += place + hit
        self._held, self._given = self._held[hit:], 0
        self._recent.clear()

    def seek(self, offset: int, whence: int = 0) -> int:  # noqa: ARG002
        """Asked for only to learn where we are."""
        return self._given

    def tell(self) -> int:
        return self._given

    def readable(self) -> bool:
        return True
