"""Which components does a Scrapy project need? ADDONS adds those that its settings ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object

from recrawl.adapters.scrapy.memory import RememberRequests
from recrawl.adapters.scrapy.observer import Observer
from recrawl.adapters.scrapy.project import check_settings, is_crawl
from recrawl.adapters.scrapy.revisits import StartFromPlan
from recrawl.adapters.scrapy.scheduler import Scheduler

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


class Addon:
    """RECRAWL_STORE: observe. With RECRAWL_BUDGET: batch. With RECRAWL_EVERY too: continuous."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not is_crawl(crawler):
            raise NotConfigured
        return cls()

    def update_settings(self, settings: BaseSettings) -> None:
        check_settings(settings)
        if not settings.get("RECRAWL_STORE"):
            raise NotConfigured("RECRAWL_STORE must name the folder of the store. Got none.")
        settings.setdefault_in_component_priority_dict("EXTENSIONS", Observer, 500)
        # Before all others: they add to a request what is not the spider's.
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", RememberRequests, 0
        )
        if settings.get("RECRAWL_BUDGET") is None:
            return
        if settings.get("RECRAWL_EVERY"):
            settings.set("SCHEDULER", Scheduler, "addon")
        if load_object(settings["SCHEDULER"]) is not Scheduler:
            settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", StartFromPlan, 100)
