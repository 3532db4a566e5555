"""What a webhook posts: JSON lines, or what a template makes of each message, for servers with a form of their own.

    --sink 'https://influx:8086/api/v2/write?org=o&bucket=b#influx'      line protocol
    --sink 'https://grafana/api/annotations#grafana'                     an annotation for each event
    --sink 'https://chat.example.org/hook#message.json'                  a file of yours

The part behind # stays here. A template is a Jinja text with the fields of a message as names (docs/streams.md). What
renders to nothing is not sent. Where its name ends in `.json` each message is a POST of its own; else a batch is one
POST with a line for each message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rondo.errors import SettingError
from rondo.live.source import SinkMessage

if TYPE_CHECKING:
    from jinja2 import Environment

# A stream without dates lies near 1970, as its own clock has it; one without a clock is dated by the server.
_INFLUX = """\
{%- if type == "label" -%}
rondo_label,device={{ device | tag }} unit={{ unit }}i,motif={{ motif }}i
{%- if unit_name is defined %},unit_name={{ unit_name | quoted }}{% endif %}
{%- if motif_name is defined %},motif_name={{ motif_name | quoted }}{% endif %}
{%- if unit_score is not none %},unit_score={{ unit_score }}{% endif %}
{%- if motif_score is not none %},motif_score={{ motif_score }}{% endif %}
{%- if start_s is not none %} {{ (start_s * 1e9) | round | int }}{% endif %}
{%- else -%}
rondo_event,device={{ device | tag }},kind={{ kind }},level={{ level }} frame={{ frame }}i
{%- if ids %},ids={{ ids | join(" ") | quoted }}{% endif %}
{%- if time_s is not none %} {{ (time_s * 1e9) | round | int }}{% endif %}
{%- endif %}"""
_GRAFANA = """\
{%- if type == "event" -%}
{{ {"tags": ["rondo", device, kind], "text": kind ~ " " ~ level ~ (" " if ids else "") ~ ids | join(", ")} | json(
   time=none if time_s is none else (time_s * 1000) | round | int) }}
{%- endif %}"""
BUILT_IN = {"influx": ("influx.txt", _INFLUX), "grafana": ("grafana.json", _GRAFANA)}
_SAMPLES: tuple[dict[str, Any], ...] = (  # with as little as a message may hold
    dict.fromkeys(("unit_score", "motif_score", "start_s", "end_s"))
    | {"type": "label", "device": "d", "n": 0, "start_frame": 0, "end_frame": 1, "unit": -1, "motif": -1},
    {"type": "event", "device": "d", "n": 0, "kind": "fit", "level": "input", "frame": 0, "time_s": None}
    | {"ids": [], "evidence": {}},
)


@dataclass(frozen=True)
class Template:
    """How a batch becomes the content of POSTs."""

    content_type: str
    is_joined: bool  # a line for each message in one POST; else a POST for each
    render: Callable[[SinkMessage], str]

    def bodies(self, batch: Sequence[SinkMessage]) -> list[tuple[bytes, int]]:
        """The content of each POST, and how many messages it holds."""
        texts = [text for message in batch if (text := self.render(message))]
        if self.is_joined:
            return [("".join(text + "\n" for text in texts).encode(), len(texts))] if texts else []
        return [(text.encode(), 1) for text in texts]


JSON_LINES = Template("application/x-ndjson", True, lambda message: message.text)


def template_of(name: str) -> Template:
    """The template that an address names behind #; a file, if it is none of the built-in ones.

    >>> label = SinkMessage("press 1", "label", '{"type": "label", "device": "press 1", "unit": 3, "motif": -1, '
    ...     '"start_s": 1.5, "unit_score": 0.5, "motif_score": null}')
    >>> print(template_of("influx").render(label))
    rondo_label,device=press\\ 1 unit=3i,motif=-1i,unit_score=0.5 1500000000
    """
    if not name:
        return JSON_LINES
    from jinja2 import TemplateError

    file, text = BUILT_IN[name] if name in BUILT_IN else (name, _text_of(name))
    is_json = file.endswith(".json")
    try:
        compiled = _environment().from_string(text)
        for sample in _SAMPLES:
            _checked(compiled.render(sample), is_json)
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise SettingError(f"{name}: the template fails on a message ({error}); see docs/streams.md, Sinks") from None

    def render(message: SinkMessage) -> str:
        return compiled.render(json.loads(message.text)).strip()

    return Template("application/json" if is_json else "text/plain; charset=utf-8", not is_json, render)


def _text_of(name: str) -> str:
    from rondo.store.reading import read_regular

    try:
        return read_regular(Path(name)).decode("utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        known = ", ".join(f"#{known}" for known in BUILT_IN)
        raise SettingError(f"#{name}: expected {known} or a file with a template ({reason})") from None


def _checked(text: str, is_json: bool) -> None:
    if is_json and text.strip():
        json.loads(text)


def _environment() -> Environment:
    """A template can read a message, and nothing else of this machine."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    found = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    found.filters |= {"tag": _tag, "quoted": _quoted, "json": _json}
    return found


def _tag(text: str) -> str:
    """The value of a tag of the line protocol, which holds no line break and does not end in a backslash.

    >>> print(_tag("a b,c=d"))
    a\\ b\\,c\\=d
    """
    plain = _plain(text).rstrip("\\")
    return "".join("\\" + sign if sign in " ,=" else sign for sign in plain) or "_"


def _plain(text: str) -> str:
    """Without line breaks and other signs that a server may refuse a line for."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _quoted(text: str) -> str:
    return '"' + _plain(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _json(value: dict[str, Any], **more: Any) -> str:
    """JSON of an object, with those further fields that have a value."""
    return json.dumps(value | {name: given for name, given in more.items() if given is not None})
