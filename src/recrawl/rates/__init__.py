"""Estimators of how often pages change, in changes a day: one file each."""
