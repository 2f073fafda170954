"""Forecasts from recorded visits, the partially observed setting (§3.3, §8.3)."""
