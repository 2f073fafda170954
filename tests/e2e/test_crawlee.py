"""A Crawlee crawler revisits the plan of a store."""

from __future__ import annotations

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import recrawl
from recrawl.page.responses import Response, to_visits

pytest.importorskip("crawlee", reason="needs the extra crawlee")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        moved = self.path == "/moved"
        found = self.path in ("/page", "/target")
        body = b"<p>Changed. <a href=/new>new</a>"
        self.send_response(302 if moved else 200 if found else 404)
        if moved:
            self.send_header("Location", "/target")
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def root():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


async def crawl(path, budget):
    from crawlee.crawlers import HttpCrawler
    from crawlee.storage_clients import MemoryStorageClient

    from recrawl.adapters.crawlee import PlanLoader

    loader = PlanLoader(path, budget)
    crawler = HttpCrawler(
        request_manager=await loader.to_tandem(),
        storage_client=MemoryStorageClient(),
        configure_logging=False,
        max_request_retries=0,
    )
    crawler.router.default_handler(loader.record)
    crawler.failed_request_handler(loader.failed)
    await crawler.run()
    counts = await loader.get_handled_count(), await loader.get_total_count()
    assert await loader.is_finished()
    await loader.close()
    return counts


@pytest.mark.filterwarnings("ignore")  # Crawlee's own
def test_a_crawler_fetches_the_plan_and_records_it(tmp_path, root, monkeypatch):
    monkeypatch.setenv("CRAWLEE_STORAGE_DIR", str(tmp_path / "crawlee"))
    with recrawl.open(tmp_path / "store", create=True) as store:
        pages = ("page", "moved", "gone")
        store.append(
            to_visits(Response(f"{root}/{p}", 1.7e9, 200, {}, b"<p>Before") for p in pages)
        )
    assert asyncio.run(crawl(tmp_path / "store", 3)) == (3, 3)
    store = recrawl.open(tmp_path / "store")
    found = store.query(
        "SELECT url, status, changed FROM visits JOIN pages USING (page_id) "
        "WHERE \"at\" > '2024-01-01' ORDER BY url"
    )
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        (f"{root}/gone", 404, None),
        (f"{root}/moved", 302, None),
        (f"{root}/page", 200, True),
        (f"{root}/target", 200, None),
    ]
    assert store.query("SELECT DISTINCT target FROM links")["target"].to_pylist() == [f"{root}/new"]
