"""Expert selection (§6): which pages are related to a page. One method a file."""
