"""Words of pages over the days: word counts by day, TF-IDF series, change labels (§3.1, §6.3)."""
