"""What would a visit find, learned visit by visit while the crawl goes on?"""
