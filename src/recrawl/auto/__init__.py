"""The model of the default policy: what would a visit find, given everything the crawl has seen?"""
