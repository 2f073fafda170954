"""Which page does this text name? One spelling a page, after the WHATWG URL Standard.

Where the Standard leaves several spellings of one page, the shortest common one wins: escapes of
unreserved characters are decoded, fragments, credentials, a trailing dot of the host and an empty
query are dropped. A host that DNS could not hold is refused.
"""

from __future__ import annotations

import re
import socket
from functools import cache, lru_cache
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import unquote_to_bytes

import idna
import numpy as np
import xxhash

from recrawl.errors import BadUrl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from recrawl.model import KeyArray

MAX_LENGTH = 8192  #: characters; longer ones are traps far more often than pages

Rule = Literal["domain", "site"]

_TRIM = "".join(map(chr, range(0x21)))
_QUERY = r"(?:\?[!$&(-;=?-Z\[\]_a-z|~]++)?+"
_PATH = r"[!$&(-;=@-Z\[\]_a-z|~]*+" + _QUERY
#: Already canonical, if it also has no "/." in it. The last label is letters, so never an IPv4.
_PLAIN = re.compile(rf"https?://(?:[a-z0-9_-]{{1,63}}+\.){{1,3}}+[a-z]{{2,61}}+/{_PATH}")
#: The same, or canonical but for the origin (2) or folder (3) of its base in front. A relative one
#: has no colon, which could end a scheme.
_PLAIN_LINK = re.compile(
    rf"({_PLAIN.pattern})|(/(?!/){_PATH})|([A-Za-z0-9_][!$&(-9;=@-Z\[\]_a-z|~]*+{_QUERY})"
)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_TWO_SLASHES = re.compile(r"[/\\]{2}")
_CREDENTIALS = re.compile(r"//[^/\\?#]*@")
_AUTHORITY = re.compile(r"[/\\]*([^/\\?#]*)")
_LABELS = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_ENDS_IN_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_PORTED = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]*))?")
#: Escapes, lone percent signs, and what must be escaped.
_IN_PATH = re.compile(r"""%[0-9A-Fa-f]{2}|%|[^!$&-;=@-\]_a-z|~]+""")
_IN_QUERY = re.compile(r"""%[0-9A-Fa-f]{2}|%|[^!$&(-;=?-~]+""")
_UNRESERVED = re.compile(r"[A-Za-z0-9\-._~]")
_TRACKING = re.compile(
    r"(?:utm_\w*|[dg]clid|gclsrc|[gw]braid|fbclid|msclkid|twclid|ttclid|yclid|igshid|mc_[ce]id"
    r"|_ga|_gl)(?:=|$)",
    re.IGNORECASE,
)
_DEFAULT_PORT = {"http": 80, "https": 443}


def canonical(
    url: str, *, base: str | None = None, sort_query: bool = False, drop_tracking: bool = False
) -> str:
    """The one spelling of the page that `url` names, seen from the page `base`.

    >>> canonical("../b c.html#top", base="HTTP://Example.com:80/a/x")
    'http://example.com/b%20c.html'
    """
    if _PLAIN.fullmatch(url) and "/." not in url and not sort_query and not drop_tracking:
        return _checked(url)
    return _checked(_rewrite(url, base, sort_query=sort_query, drop_tracking=drop_tracking))


def resolved(hrefs: Iterable[str], base: str) -> list[str | None]:
    """`canonical` of each link of a page, in one go; None for those that are no web page."""
    home = _home(base)
    front = (None, "", home.origin, home.folder)
    room = MAX_LENGTH - len(home.folder)
    return [
        before + href
        if (before := front[_form(href)]) is not None and len(href) <= room
        else _canonical_or_none(href, base)
        for href in hrefs
    ]


@lru_cache(maxsize=100_000)  # the pages of a site share their menus
def _form(href: str) -> int:
    """Canonical as it is (1), with its base's origin (2) or folder (3) in front, or not (0)."""
    plain = _PLAIN_LINK.fullmatch(href)
    return plain.lastindex or 0 if plain and "/." not in href else 0


def _canonical_or_none(url: str, base: str) -> str | None:
    try:
        return canonical(url, base=base)
    except BadUrl:
        return None


def host(url: str) -> str:
    """The host of a canonical URL, with its port if that is not the scheme's own."""
    return url.partition("://")[2].partition("/")[0]


@lru_cache(maxsize=100_000)
def site(host: str) -> str:
    """The registrable domain of a host: who runs it.

    Private suffixes count, so `a.github.io` and `b.github.io` are two sites. An address, a single
    label and a bare suffix are their own site.

    >>> site("news.example.co.uk:8080")
    'example.co.uk'
    """
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    name = host.partition(":")[0]
    return _suffixes()(name) or name


def path_depth(url: str) -> int:
    """How many slashes the path has, not counting one at its end; `/en/news/a/` has 3."""
    path = url.partition("://")[2].partition("?")[0].removesuffix("/")
    return path.count("/")


def domain_depth(url: str) -> int:
    """How many labels the domain has after a leading `www.`; `www.example.com` has 2."""
    name = host(url)
    if name.startswith("["):
        return 1
    return name.partition(":")[0].removeprefix("www.").count(".") + 1


def is_internal(page: str, target: str, *, rule: Rule = "domain") -> bool:
    """Does a link stay at home? See `internal_mask`."""
    return internal_mask(page, [target], rule)[0]


def internal_mask(page: str, targets: list[str], rule: Rule = "domain") -> list[bool]:
    """Which links of a page stay at home? All URLs canonical.

    "domain": same host and same protocol (Dang et al.). "site": same registrable domain.
    """
    origin = page.partition("://")[0] + "://" + host(page)
    root = origin + "/"
    if rule == "domain":
        return [target.startswith(root) or target == origin for target in targets]
    home = site(host(page))
    return [target.startswith(root) or site(host(target)) == home for target in targets]


@cache
def _suffixes() -> Callable[[str], str]:
    # Imported and read late: it takes 0.1 s. No address to ask: the bundled list, no network.
    from tldextract import TLDExtract

    extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
    return lambda name: str(extract.extract_str(name).top_domain_under_public_suffix)


def _bad(url: str, rule: str, remedy: str) -> BadUrl:
    shown = _CREDENTIALS.sub("//", url[:200])
    return BadUrl(f"url {rule}: {shown!r}. {remedy}.")


def _checked(url: str) -> str:
    if len(url) > MAX_LENGTH:
        raise _bad(url, f"has more than {MAX_LENGTH} characters", "Drop it")
    return url


class _Home(NamedTuple):
    """A base, taken apart once for all its links."""

    scheme: str
    origin: str  #: scheme://host
    folder: str  #: up to the last slash of the path
    path: str
    query: str  #: with its "?"


@lru_cache(maxsize=64)
def _home(base: str) -> _Home:
    found = canonical(base)
    scheme = found.partition("://")[0]
    origin = f"{scheme}://{host(found)}"
    path, mark, query = found[len(origin) :].partition("?")
    return _Home(scheme, origin, origin + path[: path.rindex("/") + 1], path, mark + query)


def _rewrite(url: str, base: str | None, *, sort_query: bool, drop_tracking: bool) -> str:
    text = _clean(url)
    origin, path, query = _split(text, base)
    path = _without_dots(_IN_PATH.sub(_escape, path))
    query = _IN_QUERY.sub(_escape, query[1:])
    if drop_tracking:
        query = "&".join(p for p in query.split("&") if not _TRACKING.match(p))
    if sort_query:
        query = "&".join(sorted(filter(None, query.split("&"))))
    return f"{origin}{path}?{query}" if query else origin + path


def _clean(url: str) -> str:
    text = _checked(url).strip(_TRIM).replace("\t", "").replace("\n", "").replace("\r", "")
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise _bad(url, "holds half of a surrogate pair", "Decode it as UTF-8 first")
    return text.partition("#")[0]


def _split(text: str, base: str | None) -> tuple[str, str, str]:
    """Origin, raw path and raw query (with its "?") of cleaned text."""
    named = _SCHEME.match(text)
    scheme = named[1].lower() if named else None
    if scheme is not None and scheme not in _DEFAULT_PORT:
        raise _bad(text, "must be http or https", "Give a web page")
    if scheme is None and base is None:
        raise _bad(text, "must begin with http:// or https://", "Add it, or give base")
    rest = text[named.end() :] if named else text
    home = None if base is None else _home(base)
    if home is None or scheme not in (None, home.scheme) or _TWO_SLASHES.match(rest):
        return _from_authority(rest, scheme or (home.scheme if home else ""), text)
    return _from_home(rest, home)


def _from_authority(rest: str, scheme: str, text: str) -> tuple[str, str, str]:
    found = _AUTHORITY.match(rest)
    assert found is not None  # it matches the empty string
    authority = found[1].rpartition("@")[2]
    path, mark, query = rest[found.end() :].partition("?")
    path = path.replace("\\", "/") or "/"
    return f"{scheme}://{_authority(authority, scheme, text)}", path, mark + query


def _from_home(rest: str, home: _Home) -> tuple[str, str, str]:
    path, mark, query = rest.partition("?")
    path = path.replace("\\", "/")
    if not path:
        return home.origin, home.path, mark + query if mark else home.query
    if not path.startswith("/"):
        path = home.folder[len(home.origin) :] + path
    return home.origin, path, mark + query


def _authority(authority: str, scheme: str, text: str) -> str:
    parts = _PORTED.fullmatch(authority)
    if parts is None:
        raise _bad(text, "must name a host and at most a port number", "Correct the host")
    port = int(parts[2][-9:] or 0) if parts[2] else None
    if port is not None and (port > 65535 or len(parts[2].lstrip("0")) > 5):
        raise _bad(text, "must have a port of at most 65535", "Correct the port")
    try:
        name = _host(parts[1])
    except (ValueError, OSError, IndexError):
        raise _bad(text, "must have a host that DNS could hold", "Correct the host") from None
    return name if port in (None, _DEFAULT_PORT[scheme]) else f"{name}:{port}"


def _host(raw: str) -> str:
    """The host in lower case ASCII; ValueError or OSError for what is none."""
    if raw.startswith("["):
        if "%" in raw:
            raise ValueError(raw)
        return f"[{IPv6Address(raw[1:-1]).compressed}]"
    name = unquote_to_bytes(raw).decode() if "%" in raw else raw
    name = name.lower() if name.isascii() else _ascii(name)
    name = name.removesuffix(".")
    if not _LABELS.fullmatch(name):
        raise ValueError(raw)
    if _ENDS_IN_NUMBER.fullmatch(name):
        return socket.inet_ntoa(socket.inet_aton(name))
    return name


def _ascii(name: str) -> str:
    """An international host in Punycode, label by label: ASCII labels pass as they are."""
    if len(name) > 253:
        raise ValueError(name)
    mapped = idna.uts46_remap(name, std3_rules=False, transitional=False)
    return ".".join(
        label if label.isascii() else idna.alabel(label).decode() for label in mapped.split(".")
    )


def _escape(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] != "%":
        return "".join(f"%{byte:02X}" for byte in text.encode())
    if len(text) == 1:
        return "%25"  # else "%%34%31" would decode once more at every call
    character = chr(int(text[1:], 16))
    return character if _UNRESERVED.match(character) else text.upper()


def _without_dots(path: str) -> str:
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def keys(urls: Sequence[str]) -> KeyArray:
    """The hash of each canonical URL: what identifies a page in ties, samples and links."""
    return np.array([xxhash.xxh3_64_intdigest(url.encode()) for url in urls], np.uint64)
