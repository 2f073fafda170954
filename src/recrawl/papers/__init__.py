"""One wing for each paper: its model, policies, experiment, tables and page.

The core never imports a wing. Deleting one removes its policies, its command and its page.
"""
