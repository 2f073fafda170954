"""Breaks one line of the algorithms at a time, and asks whether a test notices."""
