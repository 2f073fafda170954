"""Santos (2013), GP4C: score functions bred by genetic programming."""
