"""The words of the report: a jinja template. Its look and its scripts are in `assets/`, and end up inside the page."""

from __future__ import annotations

from importlib.resources import files

_SCRIPTS = (
    "keeping", "signal", "patterns", "signal_rows", "axis", "timeline", "scores", "listening", "occurrences",
    "choosing", "page",
)  # fmt: skip


def style() -> str:
    """The style sheet."""
    return asset("report.css")


def script() -> str:
    """Everything that draws, as one script."""
    return "\n".join(asset(f"{name}.js") for name in _SCRIPTS)


def asset(name: str) -> str:
    """A file of `assets/`."""
    return (files("rondo.report") / "assets" / name).read_text(encoding="utf-8")


PAGE = """{% macro swatch(look) -%}
<span class="swatch {{ look.pattern }}" style="background-color:{{ look.colour }}"></span>
{%- endmacro %}
{% macro made_of(entry) %}{% for part in entry.parts %}
{%- if part.colour %}<span class="part"{% if part.name %} title="{{ part.name }}"{% endif %}>
{{- swatch(part) }}{{ part.text }}</span>
{% else %}{{ part.text }} {% endif %}{% endfor %}{% endmacro %}
{% macro exemplars(entry) %}{% for one in entry.exemplars %}<span class="nowrap">
{%- if one.timeline is none %}{{ one.text }}{% else -%}
<button type="button" class="exemplar" data-timeline="{{ one.timeline }}" data-from="{{ one.from }}"
 data-to="{{ one.to }}">
{{- one.text }}</button>{% endif %} ({{ one.score }}){% if not loop.last %},{% endif %}</span>
{% endfor %}{% endmacro %}
{% macro chooser(id, heading, choices) %}
<details class="chooser" id="{{ id }}"{% if choices | rejectattr("at_first") | list %} open{% endif %}>
<summary><h3>{{ heading }}</h3><span class="count"></span></summary>
<div class="bar"><input type="search" placeholder="part of a name" aria-label="Filter {{ heading | lower }}">
<button type="button" class="all">draw those listed</button>
<button type="button" class="none">draw none of them</button></div><div class="list">
{% for choice in choices %}<label><input type="checkbox" autocomplete="off" value="{{ choice.value }}"
{%- if choice.at_first %} checked{% endif %}> {{ choice.name }}</label>
{% endfor %}
</div></details>
{% endmacro %}
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>{{ style }}</style>
</head>
<body>
<header>
<h1>{{ title }}</h1>
{% if unfit %}
<p class="lead failed">The model does not fit {{ unfit[:3] | join(", ") }}
{%- if unfit | length > 3 %} and {{ unfit | length - 3 }} more{% endif %}: what was found there are the units that lie
nearest, however far.</p>
{% endif %}
<p class="lead">{{ overview }}</p>
{% for finding in findings %}<p class="lead">{{ finding }}</p>
{% endfor %}<p class="quiet">A <b>unit</b> is a kind of stretch that looks alike wherever it occurs; a <b>motif</b> is
a sequence of units that comes back. <b>OTHER</b> fits none of them. Ids such as u3 mean only "the same again":
<code>rondo name</code> gives names.</p>
<p class="quiet">{{ provenance }}</p>
{% if live %}<p class="quiet" id="live" role="status" data-state="{{ live }}"></p>
{% endif %}
</header>
<main data-hours="{{ 1 if in_hours else 0 }}">
{% if glance %}
<h2>At a glance</h2>
{% for part in glance %}
<h3>{{ part.heading }}</h3>
<div class="shares" role="img" aria-label="{{ part.heading }} by their share of the time">
{%- for entry in part.entries %}<span class="{{ entry.pattern }}{{ " unproven" if entry.unproven }}"
 style="width:{{ "%.3f" | format(100 * entry.part) }}%;background-color:{{ entry.colour }}"
 title="{{ entry.name }}, {{ entry.share }}"></span>{% endfor %}</div>
<ul class="glance">
{% for entry in part.entries[:glance_most] %}
<li{% if entry.unproven %} class="unproven"{% endif %}>{{ swatch(entry) }}
{%- if entry.key %}<button type="button" class="entry" data-key="{{ entry.key }}" aria-pressed="false">
{{- entry.name }}</button>{% else %}{{ entry.name }}{% endif %}
 {{ entry.share }}, {{ entry.n_occurrences }} × {{ entry.mean_duration }}</li>
{% endfor %}
{% if part.entries | length > glance_most %}
<li class="quiet">and {{ part.entries | length - glance_most }} more below</li>
{% endif %}
</ul>
{% endfor %}
<p class="quiet">Share of the time, how often, and how long on average{% if glance_other %}; grey is OTHER{% endif %}
{%- if glance_unproven %}; pale entries occur once or were not shown to recur{% endif %}.
Press one to see where it occurs.</p>
{% endif %}
{% if scores %}
<h2>Scores against the truth</h2>
<div class="scroll"><table>
<thead><tr><th class="word">Level</th><th class="word">Labels from</th>
{%- for key, heading in claims.items() %}<th class="claim">{{ heading }}</th>{% endfor %}
{%- for key, heading in paper.items() %}<th>{{ heading }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in scores %}
<tr{% if row.control %} class="control"{% endif %}>
<td class="word">{{ "" if row.control else row.level }}</td>
<td class="word">{{ "clock (control)" if row.control else row.method }}</td>
{%- for key in claims %}<td class="claim">{{ row[key] }}</td>{% endfor %}
{%- for key in paper %}<td>{{ row[key] }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
<p class="quiet">In percent, except SegRatio: found segments per true segment. The clock does not look at the
data: it cuts each recording into as many equal pieces as the row above it has segments. MoF, Recall, F1 and
Edit reward any method that chops finely enough, and so they reward the clock; whether something was
discovered shows in the shaded columns, and in how far they stand above the clock's.</p>
{% endif %}
{% if agreement %}
<h2>How far {{ agreement.names[0] }} and {{ agreement.names[1] }} agree</h2>
<table>
<thead><tr><th class="word">Level</th>{% for heading in claims.values() %}<th>{{ heading }}</th>
{%- endfor %}</tr></thead>
<tbody>
{% for one in agreement.levels %}
<tr><td class="word">{{ one.level | capitalize }}s</td>
{%- for key in claims %}<td>{{ "%.2f" | format(one.scores[key]) }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table>
<p class="quiet">In percent, over {{ agreement.n_recordings }}
recording{{ "" if agreement.n_recordings == 1 else "s" }}:
100 is the same labelling under other ids, 0 for ARI and AMI is chance. Two runs can agree and both be wrong.</p>
<div class="columns">
{% for one in agreement.levels %}
<section>
<h3>{{ one.level | capitalize }}s: rows {{ agreement.names[0] }}, columns {{ agreement.names[1] }}</h3>
<div class="scroll"><table>
<thead><tr><th class="word">Id</th><th>Share of time</th>{% for column in one.columns %}<th>
{{ swatch(column) }}<br>{{ column.name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in one.rows %}
<tr><td class="word id">{{ swatch(row) }}{{ row.name }}</td>
<td>{{ "%.0f" | format(100 * row.share) }} %</td>
{%- for cell in row.cells %}<td class="cell" style="background:rgba(0,114,178,{{ "%.2f" | format(0.45 * cell) }})">
{{- "%.0f" | format(100 * cell) if cell >= 0.005 else "" }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
{% if one.n_left_out %}<p class="quiet">{{ one.n_left_out }} entries with less time are left out.</p>{% endif %}
</section>
{% endfor %}
</div>
<p class="quiet">Of the time of each row, the percentage that has the label of the column. Below, an entry of
{{ agreement.names[1] }} has the colour of the entry of {{ agreement.names[0] }} with which it shares most of its time,
where that holds both ways; all others have colours that say nothing.</p>
{% endif %}
{% if fit %}
<h2>Does the model fit?</h2>
<div class="scroll"><table>
<thead><tr><th class="word">Recording</th><th class="word">Verdict</th><th>Windows accepted</th><th>Units used</th>
{%- for q in (5, 25, 50, 75, 95) %}<th>{{ q }} %</th>{% endfor %}</tr></thead>
<tbody>
{% for row in fit %}
<tr{% if loop.first %} class="control"{% endif %}><td class="word">{{ row.recording }}</td>
<td class="word">{{ row.verdict }}</td><td>{{ row.share_accepted }}</td><td>{{ row.units }}</td>
{%- for r in row.distances %}<td>{{ r }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
<p class="quiet">The distance of a window to its unit is counted in radii: up to 1 it is accepted. The last five
columns are quantiles of that distance. {{ fit_rule }}</p>
{% endif %}
{% if groups %}
<h2>Groups</h2>
<div class="scroll"><table class="groups">
<thead><tr><th class="word">Id</th>{% for group in groups.names %}<th>{{ group.name }}<br>
<span class="quiet">{{ group.n_recordings }} recording{{ "" if group.n_recordings == 1 else "s" }}</span></th>
{%- endfor %}<th class="word">Differences</th></tr></thead>
<tbody>
{% for row in groups.rows %}
<tr><td class="word id">{{ swatch(row) }}{{ row.name }}</td>
{%- for cell in row.cells %}<td>{{ cell.share }}{% if cell.interval %}<br>
<span class="quiet">{{ cell.interval }}</span>{% endif %}</td>{% endfor %}
<td class="word">{{ row.differences | join("; ") }}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="quiet">Mean share of the time over the recordings of each group, and below it the 95 % interval.
{%- for note in groups.notes %} {{ note }}{% endfor %}
{%- if groups.n_left_out %} {{ groups.n_left_out }} groups with fewer recordings are left out;
<code>rondo usage</code> lists all.{% endif %} Groups may differ in more than their name: a difference is no
cause.</p>
{% endif %}
{% if notes %}
<h2>Notes on the data</h2>
<ul>
{% for note in notes %}
<li>{{ note.text }}
{% if n_recordings > 1 %}
<span class="quiet">({{ "all recordings" if note.in_all else note.recordings[:8] | join(", ") }}
{%- if not note.in_all and note.recordings[8:] %} and {{ note.recordings[8:] | length }} more{% endif %})</span>
{% endif %}</li>
{% endfor %}
</ul>
{% endif %}
<h2>Timeline</h2>
<p class="quiet">Turn the wheel over a timeline to zoom, drag to move, point at a segment for its figures, press it
to see {{ "all occurrences of its entry" if has_signal else "where else its entry occurs" }}. Grey is OTHER.
{%- if has_signal %} The signal is drawn as the band between the lowest and highest
values, each channel to its own scale, which stands at the right.{% endif %}
{%- if has_jumps %} A broken vertical line is a jump of the clock: time is missing there.{% endif %}
{%- if n_events %} The journal of the stream stands above the lanes: ▲ promoted, ◆ merged, ▼ expired, ▮ a gap in the
input, ✕ rows skipped.{% endif %}
{%- if not motif_lane %} {{ no_longer_motif }}, so that motifs have no lane of their own.{% endif %}
{%- if has_frame_scores %} Below the lanes stands how well each window fits: the score of a unit is 1 at its middle and
0.37 at its edge, the broken line
{%- if has_motif_scores %}; that of a motif is how sure the motif model is, given the units{% endif %}.{% endif %}
{%- if has_annotation %} The annotation is what people wrote down; nothing was learned from it, and its colours have
nothing to do with those above.{% endif %}
{%- if has_truth %} True ids are counted on their own: compare where segments begin and which ids go together,
not colours.{% endif %}</p>
<p class="quiet keys">Keys, once a timeline has the focus (<kbd>Tab</kbd>): <kbd>←</kbd> <kbd>→</kbd> move, <kbd>+</kbd>
<kbd>-</kbd> zoom, <kbd>Home</kbd> shows all, <kbd>↑</kbd> <kbd>↓</kbd> choose a lane, <kbd>,</kbd> <kbd>.</kbd> go from
segment to segment, <kbd>Enter</kbd> shows all occurrences and goes to them when pressed again, <kbd>Esc</kbd> ends
that.</p>
{% for words in left_out %}<p>{{ words }}</p>
{% endfor %}
{% if recordings | length > 1 %}{{ chooser("choose-recordings", "Recordings", recording_choices) }}{% endif %}
{% if channel_choices | length > 1 %}{{ chooser("choose-channels", "Channels", channel_choices) }}{% endif %}
{% for recording in recordings %}
<section class="recording"{% if not recording.at_first %} hidden{% endif %}>
<div class="head"><h3>{{ recording.id }}</h3><div class="tools"></div></div>
<p class="quiet">{{ recording.about }}. From {{ recording.source }}
{%- if recording.finest_frames > 1 %}. At the closest zoom each point of the signal covers {{ recording.finest_frames }}
frames{% endif %}.</p>
<div class="timeline" id="timeline-{{ loop.index0 }}">
<script type="application/json">{{ recording.figure }}</script></div>
</section>
{% endfor %}
<noscript><p class="failed">The timelines are drawn by the script inside this file; let it run.</p></noscript>
{% if events %}
<h2>Journal</h2>
<p class="quiet">{% if n_events > events | length %}The last {{ events | length }} of {{ n_events }} events;
events.jsonl holds all. {% endif %}{{ n_refined }} refinements of known entries are not listed.</p>
<div class="scroll"><table>
<thead><tr><th>When</th><th class="word">What</th><th class="word">Level</th><th class="word">Evidence</th></tr></thead>
<tbody>
{% for event in events %}
<tr><td>{{ event.time }}</td><td class="word id">{{ event.what }}</td><td class="word">{{ event.level }}</td>
<td class="word">{{ event.evidence }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
<h2>Vocabulary{% if agreement %} of {{ agreement.names[0] }}{% endif %}</h2>
<p class="quiet">Beside the median duration stand the 10 % and 90 % quantiles. Exemplars are the occurrences
with the highest scores, the longest first among equals; press one to see it in the timeline, or an id to see
{% if has_signal %}all occurrences side by side. How an entry looks is told by the channel that sets it apart most, up
to six of its occurrences over each other.{% else %}where it occurs.{% endif %}
{%- if composition_key %} In a composition, {{ composition_key }}.{% endif %}
{%- if has_evidence %} An entry recurs if its occurrences are more alike than in artificial copies of the signal, come
at regular intervals, keep their order, or lie at the same place in many recordings; p is corrected for the number of
tests. Entries that occur once or were not shown to recur are greyed.{% endif %}</p>
<div class="columns">
{% for level, heading in (("unit", "Units"), ("motif", "Motifs")) %}
<section class="scroll">
{% set folded = level == "motif" and motifs_are_units and entries[level] %}
{% if folded %}<details><summary><h3>{{ heading }}</h3> {{ no_longer_motif }}: the table repeats the one above under
other ids.</summary>{% else %}<h3>{{ heading }}</h3>{% endif %}

{% if entries[level] %}
{% if n_entries[level] > entries[level] | length %}
<p class="quiet">The {{ entries[level] | length }} of {{ n_entries[level] }} that take up most of the time;
summary.json holds all.</p>
{% endif %}
<table class="entries">
{% set own = entries[level][0].recording %}
<thead><tr>{% if own %}<th class="word">Recording</th>{% endif %}
<th class="word">Id</th>{% if has_evidence %}<th class="word">Recurs?</th>{% endif %}<th>Occurrences</th>
<th>Share of time</th><th>Mean duration</th><th>Median (10–90 %)</th>
{% set told = entries[level] | map(attribute="composition" if level == "motif" else "taken_for") | select | list %}
{% set told_as = "Composition" if level == "motif" else "Often taken for" %}
{% if told %}<th class="word">{{ told_as }}</th>
{% endif %}{% if has_signal %}<th class="word">Looks like</th>
{% endif %}<th class="word">Exemplars (score)</th></tr></thead>
<tbody>
{% for entry in entries[level] %}
<tr{% if entry.unproven %} class="unproven"{% endif %}>
{% if own %}<td class="word" data-is="Recording">{{ entry.recording }}</td>{% endif %}
<td class="word id">{{ swatch(entry) }}
{%- if entry.key %}<button type="button" class="entry" data-key="{{ entry.key }}" aria-pressed="false">
{{- entry.name }}</button>{% else %}{{ entry.name }}{% endif %}</td>
{% if has_evidence %}
<td class="word evidence{% if entry.evidence == "not tested" %} quiet{% endif %}" data-is="Recurs?">
{{- entry.evidence | replace(" = ", "\u00a0=\u00a0") }}</td>
{% endif %}<td data-is="Occurrences">{{ entry.n_occurrences }}</td><td data-is="Share of time">{{ entry.share }}</td>
<td data-is="Mean duration">{{ entry.mean_duration }}</td>
<td data-is="Median (10–90 %)">{{ entry.median_duration }}</td>
{% if told %}<td class="word" data-is="{{ told_as }}">{% if level == "motif" %}{{ made_of(entry) }}
{% else %}{{ entry.taken_for }}{% endif %}</td>
{% endif %}{% if has_signal %}<td class="word" data-is="Looks like">
<canvas class="spark" data-key="{{ entry.key }}" width="1" height="1"></canvas></td>
{% endif %}<td class="word exemplars" data-is="Exemplars (score)">{{ exemplars(entry) }}</td></tr>
{% endfor %}
</tbody></table>
{% else %}<p class="quiet">None found.</p>{% endif %}
{% if folded %}</details>{% endif %}

</section>
{% endfor %}
</div>
{% if unshown %}
<h2>Motifs that labels do not show</h2>
<p class="quiet">Labels hold one kind of motif. These are of the other kind and have passed their own test; where they
occur is in unshown_segments.csv.</p>
<div class="scroll"><table class="entries unshown">
<thead><tr>{% if unshown[0].recording %}<th class="word">Recording</th>{% endif %}<th class="word">Id</th>
<th class="word">Kind</th><th class="word">Recurs?</th><th>Occurrences</th><th class="word">Composition</th>
<th class="word">Exemplars (score)</th></tr></thead>
<tbody>
{% for entry in unshown %}
<tr>{% if entry.recording %}<td class="word" data-is="Recording">{{ entry.recording }}</td>{% endif %}
<td class="word id">{{ entry.name }}</td><td class="word" data-is="Kind">{{ entry.kind }}</td>
<td class="word evidence" data-is="Recurs?">{{ entry.evidence | replace(" = ", "\u00a0=\u00a0") }}</td>
<td data-is="Occurrences">{{ entry.n_occurrences }}</td>
<td class="word" data-is="Composition">{{ made_of(entry) }}</td>
<td class="word exemplars" data-is="Exemplars (score)">{{ exemplars(entry) }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
</main>
<aside id="drawer" aria-label="Occurrences of the chosen entry" hidden><button type="button" class="close"
title="close (Esc)">close</button><div class="inside"><div class="facts" aria-live="polite"></div>
<div class="key"></div><div class="occurrences"></div></div></aside>
<div id="tooltip" role="status" hidden></div>
<script type="application/json" id="entries-data">{{ details }}</script>
<script>{{ script }}</script>
{%- if live %}

<script>{{ live_script }}</script>
{%- endif %}

</body>
</html>
"""
