"""McNemar's test with the mid-p value (Fagerland, Lydersen and Laake, BMC Med Res Methodol 2013, 13:91)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def mid_p(lost: int, gained: int) -> float:
    """Two-sided mid-p value of H0: an item is lost as often as gained. 1 without any flip."""
    return float(mid_p_values(lost, gained))


def mid_p_values(lost: ArrayLike, gained: ArrayLike) -> NDArray[np.float64]:
    """As `mid_p`, for arrays of counts (broadcast)."""
    from scipy.special import bdtr

    b, c = np.asarray(lost, dtype=np.int64), np.asarray(gained, dtype=np.int64)
    flips, fewer = b + c, np.minimum(b, c)
    at_most = bdtr(fewer, flips, 0.5)
    below = np.where(fewer > 0, bdtr(np.maximum(fewer - 1, 0), flips, 0.5), 0.0)
    two_sided: NDArray[np.float64] = np.minimum(1.0, at_most + below)
    return two_sided
