"""Pages like this one: by text, by URL, by links."""
