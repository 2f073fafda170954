"""How good are predictions, page by page? Metrics of numbers and of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray


def of_numbers(truth: FloatArray, predicted: FloatArray) -> dict[str, float]:
    """R², mean and median absolute error; R² is 0 if the truth is constant.

    >>> import numpy as np
    >>> of_numbers(np.array([1.0, 2, 3]), np.array([1.0, 2, 4]))
    {'R²': 0.5, 'MAE': 0.3333333333333333, 'MedAE': 0.0}
    """
    error = np.abs(truth - predicted)
    spread = float(((truth - truth.mean()) ** 2).sum())
    explained = 1.0 - float((error**2).sum()) / spread if spread else 0.0
    return {"R²": explained, "MAE": float(error.mean()), "MedAE": float(np.median(error))}


def of_classes(truth: BoolArray, predicted: BoolArray) -> dict[str, float]:
    """Recall, precision, F1 and balanced accuracy; 0 where there is nothing to divide by.

    >>> import numpy as np
    >>> of_classes(np.array([True, True, False, False]), np.array([True, False, False, False]))
    {'recall': 0.5, 'precision': 1.0, 'F1': 0.6666666666666666, 'accuracy (b)': 0.75}
    """
    both, neither = int((truth & predicted).sum()), int((~truth & ~predicted).sum())
    recall = both / max(int(truth.sum()), 1)
    precision = both / max(int(predicted.sum()), 1)
    quiet = neither / max(int((~truth).sum()), 1)
    f1 = 2 * both / max(int(truth.sum()) + int(predicted.sum()), 1)
    return {
        "recall": recall,
        "precision": precision,
        "F1": f1,
        "accuracy (b)": (recall + quiet) / 2,
    }
