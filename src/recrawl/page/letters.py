"""What kind of byte is it, and how is a kernel compiled? Shared by the readers of HTML."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# The functions here own no memory, so none need count who uses it: that took most of the time.
_njit: Any = njit  # whose stubs lack these options
entry = _njit(cache=True, _nrt=False, nogil=True)  # pages are read while others are fetched
helper = _njit(cache=True, _nrt=False, no_cpython_wrapper=True)

# All constants are of one type: a Python integer would have each value compiled anew.
# Classes of bytes.
SPACE, SLASH, GREATER, EQUALS, LETTER, DIGIT, MARKED = (np.int64(2**i) for i in range(7))
NAME_END = SPACE | SLASH | GREATER
VALUE_END = SPACE | GREATER
ATTRIBUTE_END = NAME_END | EQUALS
CLASS = np.zeros(256, np.uint8)
CLASS[list(b" \t\n\f\r")] = SPACE
CLASS[list(b"/>=")] = SLASH, GREATER, EQUALS
CLASS[list(range(65, 91)) + list(range(97, 123))] = LETTER
CLASS[48:58] = DIGIT
#: In text: not simply copied. 0xC2 may begin a space that does not break.
CLASS[[*range(33), *b"&<", 0xC2]] += np.uint8(MARKED)
