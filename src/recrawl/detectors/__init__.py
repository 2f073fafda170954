"""What counts as a change. One file each."""
