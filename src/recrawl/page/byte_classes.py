"""Classes of bytes that matter in HTML, as a table that compiled functions look up."""

from __future__ import annotations

import numpy as np

# All constants are int64: numba would compile a function once for each value of a Python integer.
SPACE, SLASH, GREATER, EQUALS, LETTER, DIGIT, MARKED = (np.int64(2**i) for i in range(7))
NAME_END = SPACE | SLASH | GREATER
VALUE_END = SPACE | GREATER
ATTRIBUTE_END = NAME_END | EQUALS
CLASS = np.zeros(256, np.uint8)  #: byte → its classes, added up
CLASS[list(b" \t\n\f\r")] = SPACE
CLASS[list(b"/>=")] = SLASH, GREATER, EQUALS
CLASS[list(range(65, 91)) + list(range(97, 123))] = LETTER
CLASS[48:58] = DIGIT
#: In text: not simply copied. 0xC2 may begin a no-break space.
CLASS[[*range(33), *b"&<", 0xC2]] += np.uint8(MARKED)
