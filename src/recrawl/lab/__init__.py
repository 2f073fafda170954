"""Traces, replays, metrics, limits and worlds, to compare policies. The core never imports this."""
