"""What is known of a page that may tell what a visit would find?"""
