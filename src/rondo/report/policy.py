"""What a page may do: run the scripts that it was written with, and nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence


def content_policy(scripts: Sequence[str], *, live: bool, media: bool) -> str:
    """The Content-Security-Policy of a page with these inline scripts.

    A `live` page may ask its own server, and one with `media` may play what that server gives; others ask nobody.
    """
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(it.encode()).digest()).decode()}'" for it in scripts]
    rules = {
        "default-src": ["'none'"],
        "script-src": hashes or ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "img-src": ["data:"],
        "connect-src": ["'self'"] if live else ["'none'"],
        "media-src": ["'self'"] if media else ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    return "; ".join(f"{rule} {' '.join(values)}" for rule, values in rules.items())
