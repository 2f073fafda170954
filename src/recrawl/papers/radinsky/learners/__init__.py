"""The classifier of the paper: a polynomial SVM (§7.2), and its calibration (§8.3)."""
