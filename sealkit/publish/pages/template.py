"""The template of the report page. Everything that it shows is escaped; it can reach nothing outside itself."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{{ study.title }}</title>
<style>{{ style }}</style>
</head>
<body>
<main>
<h1>{{ study.title }}</h1>
<p>{{ study.question }}</p>
<p class="soft">Edition {{ edition }} of plan <code>{{ study.plan }}</code>, sealed {{ study.sealed_at }}.
Evidence: {{ study.evidence }}{% if study.evidence == "recorded" %}, not replayable{% endif %}.
{{ study.admitted }} of {{ study.slots }} slots admitted.</p>

<section id="verdicts">
<h2>Verdicts, and what they do not show</h2>
<ul class="cards">
{% for verdict in verdicts %}
<li class="card"><span class="status {{ verdict.verdict }}">{{ words(verdict.verdict) }}</span>
<strong>{{ verdict.hypothesis }}</strong>{% if verdict.metric %} on {{ words(verdict.metric) }}{% endif %}
{% if verdict.descriptive %}<span class="soft">descriptive</span>{% endif %}
<p>{{ verdict.says }}</p>
{% for line in verdict.lines %}<p class="soft">{{ line }}</p>{% endfor %}
</li>
{% endfor %}
</ul>
{% if earlier %}{{ grid(earlier) }}{% endif %}{% if analyses %}{{ grid(analyses) }}{% endif %}
<p>Not shown, whatever the verdicts:</p>
<ul>{% for sentence in does_not_prove %}<li>{{ sentence }}</li>{% endfor %}</ul>
</section>

{% for stratum in strata %}
<section>
<h2>Claims: {{ stratum.title }}</h2>
<ul class="cards">
{% for claim in stratum.claims %}
<li class="card"><span class="status {{ claim.status }}">{{ claim.standing }}</span> <code>{{ claim.name }}</code>
<p>{{ claim.text }}</p>
<p class="soft">Does not show: {{ claim.does_not_show }}</p>
<p class="soft">Needs {{ claim.needs_text }}.</p>
{% if claim.why %}<p class="soft why">{{ claim.why }}</p>{% endif %}
</li>
{% endfor %}
</ul>
</section>
{% endfor %}

{% if planned %}<section id="planned">
<h2>What the names stand for</h2>
{% for table in planned %}{{ grid(table) }}{% endfor %}
</section>{% endif %}

<section id="effects">
<h2>Effects</h2>
<ul class="soft">{% for line in columns %}<li>{{ line }}</li>{% endfor %}</ul>
{% for plot in plots %}
<figure><figcaption>{{ plot.caption }}</figcaption><div class="scroll" tabindex="0">
<svg viewBox="0 0 {{ width }} {{ plot.forest.height }}" role="img" aria-label="{{ plot.caption }}">
{% for x, label in plot.forest.ticks %}<line class="axis" x1="{{ x }}" x2="{{ x }}" y1="6" y2="{{ plot.forest.height - 24 }}"/>
<text class="tick" x="{{ x }}" y="{{ plot.forest.height - 8 }}" text-anchor="middle">{{ label }}</text>{% endfor %}
{% if plot.forest.zero %}<line class="none" x1="{{ plot.forest.zero }}" x2="{{ plot.forest.zero }}" y1="2"
 y2="{{ plot.forest.height - 24 }}"/>{% endif %}
{% for mark in plot.forest.marks %}<line class="reach" x1="{{ mark.low }}" x2="{{ mark.high }}" y1="{{ mark.y }}" y2="{{ mark.y }}"/>
<circle class="point" cx="{{ mark.x }}" cy="{{ mark.y }}" r="4.5"/>
<text x="22" y="{{ mark.y }}" dy="-11">{{ mark.label }}: {{ mark.detail }}</text>{% endfor %}
</svg></div></figure>
{% endfor %}
{% for table in tables %}{{ grid(table) }}{% endfor %}
</section>

<section id="flow">
<h2>From scheduled slots to outcomes</h2>
{% for line in flow_words %}<p class="soft">{{ line }}</p>{% endfor %}
{% for table in flow %}{{ grid(table) }}{% endfor %}
{% for line in exclusions %}<p class="soft">{{ line }}</p>{% endfor %}
</section>

<section id="amendments">
<h2>Amendments</h2>
{% if not amendments %}<p>None: plan, code and scenarios are as they were sealed.</p>{% endif %}
{% for table in amendments %}{{ grid(table) }}{% endfor %}
{% if differing %}{{ grid(differing) }}{% endif %}
{% for table in amended %}{{ grid(table) }}{% endfor %}
{% for line in withdrawals %}<p>{{ line }}</p>{% endfor %}
</section>

<section id="overhead"><h2>Overhead</h2>{{ grid(overhead) }}</section>

<section id="gates"><h2>Gates</h2>{{ grid(gates) }}</section>

<section id="methods"><h2>Methods</h2><p>{{ methods }}</p>
{% if study.confounds %}<p>Confounds that the plan states:</p>
<ul>{% for confound in study.confounds %}<li>{{ confound }}</li>{% endfor %}</ul>{% endif %}
<p>Power, as the plan states it: {{ study.power }}</p></section>

<section id="check"><h2>Check it yourself</h2>
<p>Everything above is read from <code>results.json</code>. The bundle beside this page holds the seal, the scenarios, the sealed
source, the journal and every episode. With the folder {{ edition }} at hand, this builds the page again from the bundle and
compares it byte for byte:</p>
<p><code>sealkit verify {{ edition }} --replay</code></p>
{{ grid(provenance) }}
</section>
</main>
</body>
</html>
"""

GRID = """<figure>{% if caption %}<figcaption>{{ caption }}</figcaption>{% endif %}<div class="scroll" tabindex="0"><table>
<thead><tr>{% for head in heads %}<th{% if loop.index0 in right %} class="n"{% endif %}>{{ head }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in rows %}<tr>{% for cell in row %}<td{% if loop.index0 in right %} class="n"{% endif %}>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div></figure>
"""
