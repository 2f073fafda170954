"""Experiments of papers, run again as they were described. One file each."""
