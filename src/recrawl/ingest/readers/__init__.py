"""Crawl files → visits. One file a format."""
