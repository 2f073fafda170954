"""Policies: which pages to visit now. One idea per file."""
