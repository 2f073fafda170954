"""Learn a score function from a history by genetic programming (GP4C: Santos 2013, 2015)."""
