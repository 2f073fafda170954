"""Other crawlers' ways in and out."""
