"""Radinsky & Bennett (2013), Predicting Content Change on the Web: do related pages foretell it?"""
