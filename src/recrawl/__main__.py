"""`python -m recrawl` is `recrawl`."""

from recrawl.cli import main

main()
