"""Worlds with a known truth, to try policies on. Nothing outside imports the lab."""
