"""Pandey & Olston (2005), User-Centric Web Crawling: which refreshes do searchers notice?"""
