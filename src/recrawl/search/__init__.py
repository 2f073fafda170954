"""What do searchers get to see? Index, workload, scores and ranks, quality, gain of a refresh."""
