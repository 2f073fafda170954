"""Connections to other crawlers: Scrapy, Crawlee, and plans as files."""
