"""How many new links would a visit show?"""
