"""Scrapy: any spider fills a store, and revisits the pages of the plan. See docs/scrapy.md."""

from recrawl.adapters.scrapy.addon import Addon
from recrawl.adapters.scrapy.memory import RememberRequests
from recrawl.adapters.scrapy.observer import Observer
from recrawl.adapters.scrapy.revisits import StartFromPlan
from recrawl.adapters.scrapy.scheduler import Scheduler

__all__ = ["Addon", "Observer", "RememberRequests", "Scheduler", "StartFromPlan"]
