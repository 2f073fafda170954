"""How functions that run over every byte or page are compiled."""

from __future__ import annotations

from typing import Any

from numba import njit

# These functions allocate no memory and use no arrays as a whole. Without reference counts they run
# several times faster, and compile in a fraction of the time.
_njit: Any = njit  # whose stubs lack these options
kernel = _njit(cache=True, _nrt=False, nogil=True)  #: called from Python; others run meanwhile
kernel_helper = _njit(cache=True, _nrt=False, no_cpython_wrapper=True)  #: called by kernels only
