"""Which page does this text name? One spelling for each page, after the WHATWG URL Standard.

Where the Standard allows several spellings, the shortest common one is used: escapes of unreserved
characters are decoded; fragments, credentials, the trailing dot of a host and an empty query are
dropped. A host that DNS could not hold is an error.
"""

from __future__ import annotations

import re
import socket
from functools import cache, lru_cache
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes

import idna
import numpy as np
import xxhash

from recrawl.errors import BadUrl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from recrawl.model import KeyArray

MAX_LENGTH = 8192  #: characters of a URL that is read at all
MAX_URL_LENGTH = 2000  #: of a page or a link that is kept; a longer one is mostly a crawler trap

_TRIM = "".join(map(chr, range(0x21)))
_QUERY = r"(?:\?[!$&(-;=?-Z\[\]_a-z|~]++)?+"
_PATH = r"[!$&(-;=@-Z\[\]_a-z|~]*+" + _QUERY
#: A URL that is canonical, unless it has "/." in it. The last label is letters, so never an IPv4.
_PLAIN = re.compile(rf"https?://(?:[a-z0-9_-]{{1,63}}+\.){{1,3}}+[a-z]{{2,61}}+/{_PATH}")
#: The same, or canonical after the origin (2) or folder (3) of its base. A relative one has no
#: colon, which could end a scheme.
_PLAIN_LINK = re.compile(
    rf"({_PLAIN.pattern})|(/(?!/){_PATH})|([A-Za-z0-9_][!$&(-9;=@-Z\[\]_a-z|~]*+{_QUERY})"
)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_TWO_SLASHES = re.compile(r"[/\\]{2}")
_NO_DELIMITER = re.compile(r'[^/\\?#"\n]++')
_BEFORE_HOST = re.compile(r"(?:https?:[/\\]*|[/\\]{2})$", re.IGNORECASE)
_WEB_SCHEME = re.compile("https?:", re.IGNORECASE)
_AUTHORITY = re.compile(r"[/\\]*([^/\\?#]*)")
_LABELS = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_DOT = re.compile("[.\u3002\uff0e\uff61]")
_ENDS_IN_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]*))?")
#: Escapes, lone percent signs, and what must be escaped.
_IN_PATH = re.compile(r"""%[0-9A-Fa-f]{2}|%|[^!$&-;=@-\]_a-z|~]+""")
_IN_QUERY = re.compile(r"""%[0-9A-Fa-f]{2}|%|[^!$&(-;=?-~]+""")
_UNRESERVED = re.compile(r"[A-Za-z0-9\-._~]")
_DEFAULT_PORT = {"http": 80, "https": 443}


def canonical(url: str, *, base: str | None = None) -> str:
    """The one spelling of the page that `url` names, relative to the page `base` if given.

    >>> canonical("../b c.html#top", base="HTTP://Example.com:80/a/x")
    'http://example.com/b%20c.html'
    """
    is_canonical = _PLAIN.fullmatch(url) and "/." not in url
    return _checked(url if is_canonical else _rewrite(url, base))


def resolve_links(hrefs: Iterable[str], base: str) -> list[str | None]:
    """The canonical URL of each link; None for links that are too long or lead to no web page."""
    base_parts = _base_of(base)
    front = (None, "", base_parts.origin, base_parts.folder)
    room = MAX_URL_LENGTH - len(base_parts.folder)
    return [
        before + href
        if (before := front[_form(href)]) is not None and len(href) <= room
        else _canonical_or_none(href, base)
        for href in hrefs
    ]


@lru_cache(maxsize=100_000)  # the pages of a site share their menus
def _form(href: str) -> int:
    """Canonical as it is (1), after its base's origin (2) or folder (3), or not at all (0)."""
    plain = _PLAIN_LINK.fullmatch(href)
    return plain.lastindex or 0 if plain and "/." not in href else 0


def _canonical_or_none(url: str, base: str) -> str | None:
    try:
        link = canonical(url, base=base)
    except BadUrl:
        return None
    return link if len(link) <= MAX_URL_LENGTH else None


def host(url: str) -> str:
    """The host of a canonical URL, with its port if that is not the scheme's own."""
    return url.partition("://")[2].partition("/")[0]


@lru_cache(maxsize=100_000)
def site(host: str) -> str:
    """The registrable domain of a host, which tells who runs it.

    Private suffixes count, so `a.github.io` and `b.github.io` are two sites. An address, a single
    label and a bare suffix are their own site.

    >>> site("news.example.co.uk:8080")
    'example.co.uk'
    """
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    name = host.partition(":")[0]
    return _suffixes()(name) or name


@cache
def _suffixes() -> Callable[[str], str]:
    # Imported late: it takes 0.1 s. Without URLs it uses the bundled list, never the network.
    from tldextract import TLDExtract

    extract = TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
    return lambda name: str(extract.extract_str(name).top_domain_under_public_suffix)


def _bad(url: str, rule: str, remedy: str) -> BadUrl:
    return BadUrl(f"url {rule}: {without_credentials(url)[:200]!r}. {remedy}.")


def without_credentials(text: str) -> str:
    """The first 16,384 characters, without names and passwords before the host of a URL in them.

    >>> without_credentials("see https://me:secret@example.org/")
    'see https://example.org/'
    """
    return _NO_DELIMITER.sub(_host_only, text[:16_384]) if "@" in text else text[:16_384]


def _host_only(match: re.Match[str]) -> str:
    """The host alone, if the text before or in the match says that a host is there."""
    text, start = match[0], match.start()
    place = 0
    if not _BEFORE_HOST.search(match.string[max(start - 9, 0) : start]):
        scheme = _WEB_SCHEME.search(text)
        place = scheme.end() if scheme else len(text)
    return text[:place] + text[place:].rpartition("@")[2]


def _checked(url: str) -> str:
    if len(url) > MAX_LENGTH:
        raise _bad(url, f"has more than {MAX_LENGTH} characters", "Drop it")
    return url


class _Base(NamedTuple):
    """A base URL, split once for all links of its page."""

    scheme: str
    origin: str  #: scheme://host
    folder: str  #: up to the last slash of the path
    path: str
    query: str  #: with its "?"


@lru_cache(maxsize=64)
def _base_of(base: str) -> _Base:
    url = canonical(base)
    scheme = url.partition("://")[0]
    origin = f"{scheme}://{host(url)}"
    path, mark, query = url[len(origin) :].partition("?")
    return _Base(scheme, origin, origin + path[: path.rindex("/") + 1], path, mark + query)


def _rewrite(url: str, base: str | None) -> str:
    origin, folder, path, query = _split(_clean(url), base)
    path = _without_dots(folder, _IN_PATH.sub(_escape, path))
    query = _IN_QUERY.sub(_escape, query[1:])
    return f"{origin}{path}?{query}" if query else origin + path


def _clean(url: str) -> str:
    text = _checked(url).strip(_TRIM).replace("\t", "").replace("\n", "").replace("\r", "")
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise _bad(url, "holds half of a surrogate pair", "Decode it as UTF-8 first")
    return text.partition("#")[0]


def _split(text: str, base: str | None) -> tuple[str, str, str, str]:
    """Origin, folder of the base, raw path and raw query (with its "?") of cleaned text.

    The folder is canonical already: what is long and shared by all links of a page is read once.
    """
    named = _SCHEME.match(text)
    scheme = named[1].lower() if named else None
    if scheme is not None and scheme not in _DEFAULT_PORT:
        raise _bad(text, "must be http or https", "Give a web page")
    if scheme is None and base is None:
        raise _bad(text, "must begin with http:// or https://", "Add it, or give base")
    rest = text[named.end() :] if named else text
    base_parts = None if base is None else _base_of(base)
    if base_parts is None or scheme not in (None, base_parts.scheme) or _TWO_SLASHES.match(rest):
        return _from_authority(rest, scheme or (base_parts.scheme if base_parts else ""), text)
    return _from_base(rest, base_parts)


def _from_authority(rest: str, scheme: str, text: str) -> tuple[str, str, str, str]:
    match = _AUTHORITY.match(rest)
    assert match is not None  # it matches the empty string
    authority = match[1].rpartition("@")[2]
    path, mark, query = rest[match.end() :].partition("?")
    path = path.replace("\\", "/") or "/"
    return f"{scheme}://{_authority(authority, scheme, text)}", "", path, mark + query


def _from_base(rest: str, base_parts: _Base) -> tuple[str, str, str, str]:
    path, mark, query = rest.partition("?")
    path = path.replace("\\", "/")
    if not path:
        query = mark + query if mark else base_parts.query
        return base_parts.origin, base_parts.path, "", query
    folder = "" if path.startswith("/") else base_parts.folder[len(base_parts.origin) :]
    return base_parts.origin, folder, path, mark + query


def _authority(authority: str, scheme: str, text: str) -> str:
    parts = _HOST_AND_PORT.fullmatch(authority)
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
    """The host in lower case ASCII; raises ValueError or OSError if it is not a host."""
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


@lru_cache(maxsize=100_000)
def _ascii(name: str) -> str:
    """An international host in Punycode, label by label; ASCII labels stay as they are."""
    # Punycode takes a while. It adds at least "xn--" to a label.
    least = [len(part) + 4 * (not part.isascii()) for part in _DOT.split(name)]
    if max(least) > 63 or sum(least) + len(least) - 1 > 254:  # a dot may be at the end
        raise ValueError(name)
    mapped = idna.uts46_remap(name, std3_rules=False, transitional=False)
    return ".".join(
        label if label.isascii() else idna.alabel(label).decode() for label in mapped.split(".")
    )


def _escape(match: re.Match[str]) -> str:
    text = match[0]
    if text[0] != "%":
        return "".join(f"%{byte:02X}" for byte in text.encode())
    if len(text) == 1:
        return "%25"  # else "%%34%31" would decode once more at every call
    character = chr(int(text[1:], 16))
    return character if _UNRESERVED.match(character) else text.upper()


def _without_dots(folder: str, path: str) -> str:
    """The path in a folder that has no dots; without a folder it begins with a slash."""
    if "/." not in path and not path.startswith("."):
        return folder + path
    kept = folder.split("/")[1:-1]
    segments = path.removeprefix("/").split("/")
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def keys(urls: Sequence[str]) -> KeyArray:
    """The hash of each canonical URL, which identifies its page in ties, samples and links."""
    return np.array([xxhash.xxh3_64_intdigest(url.encode()) for url in urls], np.uint64)
