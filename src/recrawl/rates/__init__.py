"""How often does a page change? One file each."""
