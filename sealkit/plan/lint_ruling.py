"""Cross-checks of what is concluded: rules, verdicts, truth tables, claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sealkit.plan.fields import FIELDS, fields_of, form_of, scale_of
from sealkit.plan.lint_effects import not_there
from sealkit.plan.lint_run import listed
from sealkit.plan.problems import KeyPath, Problem
from sealkit.plan.questions import compile_field_rule, effects_read, metric_of, questions
from sealkit.plan.ruling import OTHERWISE, RESERVED_VERDICTS, VERDICTS, Hypothesis, Need
from sealkit.plan.schema import Spec
from sealkit.plan.truth import MOST_CASES, Shown, TooMany, truth_table
from sealkit.plan.wanted import unmet
from sealkit.wire.errors import MalformedError
from sealkit.wire.rules import Rule

MOST_TRIED = 1_000_000
_NAMES = f"name it {', '.join(VERDICTS[:-1])} or {VERDICTS[-1]}"


def ruling_problems(spec: Spec) -> Iterator[Problem]:
    """What is wrong with the rules and claims of `spec`, as far as it can be seen without trying values."""
    for name, hypothesis in spec.hypotheses.items():
        yield from _verdicts(("hypotheses", name, "verdict"), hypothesis)
        yield from _metrics(spec, ("hypotheses", name), hypothesis)
        yield from _rules(spec, ("hypotheses", name), hypothesis)
    for name in spec.claims:
        yield from _claim(spec, name)


# --- hypotheses


def _verdicts(path: KeyPath, hypothesis: Hypothesis) -> Iterator[Problem]:
    names = tuple(hypothesis.verdict)
    if OTHERWISE not in names:
        what = "the rules are not total: nothing says what holds if none of them does"
        yield Problem(path, what, "end with otherwise: VERDICT")
        return
    if names[-1] != OTHERWISE:
        yield Problem((*path, OTHERWISE), "otherwise is what holds if no rule does", "write it last", at_key=True)
    last = hypothesis.verdict[OTHERWISE]
    for verdict, key in [*((name, name) for name in names if name != OTHERWISE), (last, OTHERWISE)]:
        if verdict in RESERVED_VERDICTS:
            what = f"sealkit itself rules {verdict}"
            yield Problem((*path, key), what, _NAMES, at_key=key != OTHERWISE)
        elif verdict not in VERDICTS:
            what = f"{verdict!a} is no verdict that a claim can rest on"
            yield Problem((*path, key), what, _NAMES, at_key=key != OTHERWISE)
    if last in names:
        yield Problem((*path, OTHERWISE), f"{last} has a rule above", "name another verdict, or drop the rule")


def _metrics(spec: Spec, path: KeyPath, hypothesis: Hypothesis) -> Iterator[Problem]:
    if hypothesis.each is not None:
        if hypothesis.metric is not None:
            yield Problem((*path, "metric"), "each and metric both say the metric", "keep one", at_key=True)
        for index, name in enumerate(hypothesis.each.metric):
            yield from not_there((*path, "each", "metric", index), "metric", name, spec.metrics)
    if isinstance(hypothesis.metric, Mapping):
        for effect, name in hypothesis.metric.items():
            yield from not_there((*path, "metric", effect), "metric", name, spec.metrics)
            yield from not_there((*path, "metric", effect), "effect", effect, spec.effects)
            own = spec.effects[effect].metric if effect in spec.effects else None
            if own is not None:
                yield Problem((*path, "metric", effect), f"{effect} is on the metric {own} already", "drop it")
    elif hypothesis.metric is not None:
        yield from not_there((*path, "metric"), "metric", hypothesis.metric, spec.metrics)


def _rules(spec: Spec, path: KeyPath, hypothesis: Hypothesis) -> Iterator[Problem]:
    rules: list[tuple[str, Rule]] = []
    for verdict, text in hypothesis.verdict.items():
        if verdict != OTHERWISE:
            here: KeyPath = (*path, "verdict", verdict)
            try:
                rules.append((verdict, compile_field_rule(spec, text)))
            except MalformedError as error:
                column = error.where.rpartition("column ")[2]
                remedy = error.remedy or "rules know &&, ||, !, comparisons, + - * / and ( )"
                yield Problem(here, f"{error.what} (column {column} of the rule)", remedy)
    read = effects_read(tuple(rules))
    all_read = len(rules) == len([name for name in hypothesis.verdict if name != OTHERWISE])
    if isinstance(hypothesis.metric, Mapping) and all_read:
        for effect in hypothesis.metric:
            if effect in spec.effects and effect not in read:
                yield Problem((*path, "metric", effect), f"no rule reads {effect}", "drop it", at_key=True)
    asked: tuple[str | None, ...] = (None,) if hypothesis.each is None else hypothesis.each.metric
    for verdict, rule in rules:
        for name in rule.names:
            yield from _field((*path, "verdict", verdict), spec, hypothesis, asked, name)


def _field(
    path: KeyPath, spec: Spec, hypothesis: Hypothesis, asked: tuple[str | None, ...], name: str
) -> Iterator[Problem]:
    effect, _, field = name.partition(".")
    for metric in dict.fromkeys(metric_of(spec, hypothesis, effect, each) for each in asked):
        if metric is None:
            what = f"the rule reads {name}, and nothing says on which metric"
            yield Problem(path, what, "add metric to the hypothesis, or to the effect")
        elif metric in spec.metrics and field not in fields_of(spec, effect, metric):
            known = fields_of(spec, effect, metric)
            form, scale = form_of(spec.effects[effect]), scale_of(spec.metrics[metric])
            what = f"{name} is not there: on {metric}, {effect} has {listed(known)}"
            yield Problem(path, what, _why(field, field in FIELDS[form, scale]))


def _why(field: str, but_for_the_method: bool) -> str:
    if field == "margin":
        return "declare a margin on the effect"
    if field == "p_adjusted":
        return "add the effect and metric to multiplicity"
    return "choose a method that gives an interval" if but_for_the_method else "read another field"


# --- truth tables


def truth_problems(spec: Spec) -> Iterator[Problem]:
    """Verdicts that no outcome reaches, and rules that fail on some. Everything named must be there."""
    tried = 0
    for name in spec.hypotheses:
        for question in questions(spec, name):
            path: KeyPath = ("hypotheses", name, "verdict")
            about = f" on {question.metric}" if question.metric is not None else ""
            table = truth_table(spec, question)
            if isinstance(table, TooMany):
                what = f"its rules tell more than {MOST_CASES} orderings of {len(table.fields)} fields apart"
                yield Problem(path, what, "split the hypothesis into several, with fewer effects each")
                continue
            tried += table.tried
            if tried > MOST_TRIED:
                what = f"the truth tables of the plan need more than {MOST_TRIED} trials"
                yield Problem(path, what, "plan fewer hypotheses, or with fewer effects each")
                return
            for failure in table.failures:
                what = f"{failure.message}{about}, where {_given(failure.example)}"
                yield Problem((*path, failure.verdict), what, "let every rule give yes or no everywhere")
            for index, row in enumerate(table.rows):
                if row.cases == 0 and not table.failures:
                    last = index == len(table.rows) - 1
                    key = OTHERWISE if last else row.verdict
                    wanted = "" if last else unmet(spec, question, dict(question.rules)[row.verdict])
                    what = f"no outcome reaches {row.verdict}{about}"
                    yield Problem((*path, key), what, wanted or _unreached(last))


def _given(example: Shown) -> str:
    return ", ".join(f"{name} = {value}" for name, value in example)


def _unreached(last: bool) -> str:
    if last:
        return "the rules above cover everything: make the last of them otherwise"
    return "a rule above takes its cases, or it asks for what cannot be: reorder or correct it"


# --- claims


def _claim(spec: Spec, name: str) -> Iterator[Problem]:
    claim = spec.claims[name]
    path: KeyPath = ("claims", name, "needs")
    if isinstance(claim.needs, Need):
        yield from _need(spec, path, claim.needs, claim.stratum)
        return
    for index, need in enumerate(claim.needs):
        yield from _need(spec, (*path, index), need, claim.stratum)


def _need(spec: Spec, path: KeyPath, need: Need, stratum: str) -> Iterator[Problem]:
    hypothesis = spec.hypotheses.get(need.hypothesis)
    if hypothesis is None:
        yield from not_there((*path, "hypothesis"), "hypothesis", need.hypothesis, spec.hypotheses)
        return
    if hypothesis.descriptive and stratum == "confirmatory":
        what = f"a confirmatory claim rests on {need.hypothesis}, which is descriptive"
        yield Problem((*path, "hypothesis"), what, "write stratum: descriptive")
    metrics = hypothesis.each.metric if hypothesis.each is not None else ()
    if metrics and need.metric is None:
        what = f"{need.hypothesis} gives one verdict for each of {listed(metrics)}"
        yield Problem(path, what, "say which metric is meant")
    elif need.metric is not None and need.metric not in metrics:
        what = f"{need.hypothesis} gives no verdict of its own on {need.metric}; it does on {listed(metrics)}"
        yield Problem((*path, "metric"), what, "name one of these" if metrics else "drop the metric")
    possible = {hypothesis.verdict.get(OTHERWISE, ""), *hypothesis.verdict} - {OTHERWISE}
    for index, verdict in enumerate(need.verdict):
        if verdict not in possible:
            what = f"{need.hypothesis} never rules {verdict}; it rules {listed(sorted(possible))}"
            yield Problem((*path, "verdict", index), what, "name one of these")
    if possible <= set(need.verdict):
        yield Problem((*path, "verdict"), "every verdict would do", "leave out those that do not support the claim")
