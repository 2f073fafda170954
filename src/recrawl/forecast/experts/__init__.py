"""Will a page change, by its content and by what related pages do? Radinsky & Bennett (2013)."""
