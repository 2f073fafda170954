"""Breaks what recrawl runs on (processes, disks, clocks, files, hosts), and counts what is lost."""
