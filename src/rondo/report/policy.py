"""What a page may do: a Content-Security-Policy that lets the scripts of Rondo run, and no others.

A name in a file that breaks out of its place in the page still cannot run: the browser executes only scripts whose
SHA-256 stands in the policy, and no handler in an attribute. A page loads nothing from anywhere; a served one may ask
the server it came from.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

NOT_FRAMED = "frame-ancestors 'none'"
"""Browsers obey this in a header only, so a server adds it to the policy of the page."""

_NONE = "'none'"
NOTHING = f"default-src 'none'; base-uri 'none'; form-action 'none'; {NOT_FRAMED}"
"""For answers that are no pages."""


def content_policy(scripts: Sequence[str], *, live: bool, media: bool) -> str:
    """The policy of a page that consists of these inline scripts, each exactly the text of its element.

    Styles may stand in attributes, because entries bring their colours; a style cannot fetch anything here.

    >>> content_policy(["let a"], live=False, media=False).split("; ")[1]
    "script-src 'sha256-IfEXP/8HLuXoAiy0hZVrCAcjcLsZqYFpLOHDGj8enqE='"
    >>> content_policy([], live=True, media=True).split("; ")[-2:]
    ["connect-src 'self'", "media-src 'self'"]
    """
    hashes = [f"'{_sha256(script)}'" for script in dict.fromkeys(scripts)]
    rules = [
        "default-src 'none'",
        f"script-src {' '.join(hashes or [_NONE])}",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    rules += ["connect-src 'self'"] if live else []
    rules += ["media-src 'self'"] if media else []
    return "; ".join(rules)


def _sha256(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
