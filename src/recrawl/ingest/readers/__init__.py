"""Crawl files → visits. One file per format."""
