"""Which parts does a project need? Those its settings ask for, wired by one line in ADDONS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_HOME = "recrawl.adapters.scrapy."


class Addon:
    """RECRAWL_STORE: observe. With RECRAWL_BUDGET: batch. With RECRAWL_EVERY too: continuous."""

    def update_settings(self, settings: BaseSettings) -> None:
        if not settings.get("RECRAWL_STORE"):
            raise NotConfigured("RECRAWL_STORE must name the folder of the store. Got none.")
        settings["EXTENSIONS"].setdefault(_HOME + "Observer", 500)
        if settings.get("RECRAWL_BUDGET") is None:
            return
        if settings.get("RECRAWL_EVERY"):
            settings.set("SCHEDULER", _HOME + "Scheduler", "addon")
        if settings["SCHEDULER"] != _HOME + "Scheduler":
            settings["SPIDER_MIDDLEWARES"].setdefault(_HOME + "StartFromPlan", 100)
