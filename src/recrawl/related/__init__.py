"""Pages like this one: which are they, and how much does each count?"""
