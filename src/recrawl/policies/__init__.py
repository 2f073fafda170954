"""Which pages now? One file each."""
