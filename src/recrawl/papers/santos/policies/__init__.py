"""Policies of this paper. One file each."""
