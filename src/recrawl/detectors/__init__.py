"""What counts as a change: one detector a file."""
