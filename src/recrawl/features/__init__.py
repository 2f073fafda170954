"""What is known of a page that may tell its new links? Static or dynamic, of page or network."""
