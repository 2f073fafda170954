"""Breeds a score function from a history of changes (GP4C: Santos 2013, 2015).

In the order of the work: `terminals` are what a formula may know of a page; `expression` and
`trees` make formulas of them; `simulator` replays a formula on a `change_history`; `fitness` rates
the run; `generations` breeds better trees; `selection` picks one, and `formula_file` stores it.
"""
