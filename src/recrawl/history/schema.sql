-- A store's history.duckdb. Times are UTC; "at" is a word of SQL, so it is written in quotes.
-- `pages` holds, besides what identifies a page, the columns folded from its visits
-- (history/fold.py), so that loading them needs no pass over visits.
CREATE TABLE meta (key VARCHAR, value VARCHAR);
CREATE TABLE hosts (host_id INTEGER, host VARCHAR, site_id INTEGER, site VARCHAR);
CREATE TABLE pages (
    page_id INTEGER, url VARCHAR, key UBIGINT, host_id INTEGER, first_seen TIMESTAMP,
    first_visit TIMESTAMP, last_visit TIMESTAMP, last_attempt TIMESTAMP, last_change TIMESTAMP,
    n_visits INTEGER, n_compared INTEGER, n_changes INTEGER, exposure DOUBLE, recent UBIGINT,
    failures INTEGER,   -- in a row, since the last success
    failure UTINYINT,   -- why the last failed visit failed: a place in model.FAILURES
    retries INTEGER,    -- visits made while the page was failing
    returns INTEGER,    -- those of them that succeeded
    flips INTEGER, gone BOOLEAN, bytes DOUBLE, seconds DOUBLE,
    copy_at TIMESTAMP, digest UBIGINT, digest_of VARCHAR, simhash UBIGINT, links_at TIMESTAMP
);
-- Append-only, one row per visit, whatever its outcome.
CREATE TABLE visits (
    page_id INTEGER, "at" TIMESTAMP, status SMALLINT,
    changed BOOLEAN,   -- null: not known (first visit, failure, nothing to compare)
    days DOUBLE,       -- since the copy it was compared with, if `changed` is known
    flipped BOOLEAN,   -- the page went (4xx after a success) or came back
    reported BOOLEAN,  -- what the source itself said: changed since its last visit
    digest UBIGINT, digest_of VARCHAR, simhash UBIGINT,
    bytes BIGINT, seconds DOUBLE,
    skipped BOOLEAN,   -- true: no request was sent (robots.txt forbids it, its host cannot be asked)
    problem VARCHAR,   -- why there was no answer or no request
    etag VARCHAR, last_modified TIMESTAMP,
    internal_links INTEGER, external_links INTEGER, new_internal INTEGER, new_external INTEGER
);
-- One row for each time a link was on a page; last_seen is null while it is on our copy.
CREATE TABLE links (
    page_id INTEGER, target VARCHAR, internal BOOLEAN, nofollow BOOLEAN,
    first_seen TIMESTAMP, last_seen TIMESTAMP
);
-- Our copy of each page: the last one only.
CREATE TABLE contents (page_id INTEGER, "at" TIMESTAMP, title VARCHAR, text VARCHAR);
-- Where a page led last: the target of a redirect, or the canonical URL that it names.
CREATE TABLE moved (page_id INTEGER, target VARCHAR);
-- What sitemaps and feeds claim: that a page changed at the time `said`; heard first at `seen`.
CREATE TABLE signals (page_id INTEGER, kind VARCHAR, said TIMESTAMP, seen TIMESTAMP);
