"""Dang et al. (2021), Look Back, Look Around: which pages get new links?"""
