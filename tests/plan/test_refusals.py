"""Every refusal of a plan: the smallest edit that earns it, where it points, what it says.

In an edit, `⟦` marks the place at which the first line of the message must point; it is not part of the plan. Without
one, or with an empty path, only what is said is compared.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from sealkit.plan import lint_ruling
from sealkit.plan.load import open_plan_bytes
from sealkit.plan.yaml import read_yaml
from sealkit.wire.errors import SealkitError, UsageError

HERE = Path(__file__).parent
PLANS = {
    "v1": (HERE.parents[1] / "plans" / "v1.yaml").read_text(),
    "dry-run": (HERE.parents[1] / "plans" / "dry-run.yaml").read_text(),
    "everything": (HERE / "everything.yaml").read_text(),
    "external": (HERE / "external.yaml").read_text(),
}


class Case(NamedTuple):
    name: str
    old: str
    new: str
    path: str
    says: str
    plan: str = "v1"


# fmt: off
SEED = "$.factors.seed"
BYTES = [
    Case("tab", "  arm:\n    A:", "  arm:\n⟦\t  A:", "$", "a tab"),
    Case("tab in a comment", "# roles;", "# roles;⟦\t", "$", "a tab"),
    Case("text that turns around", "title: Does", "title: ⟦\u202eDoes", "$", "U+202E, which does not show"),
    Case("byte order mark", "# The belief", "⟦\ufeff# The belief", "$", "U+FEFF"),
    Case("lone carriage return", "sealkit: 1", "sealkit: 1⟦\r#", "$", "U+000D"),
    Case("hidden character by escape", "title: Does a change log change what an agent does, or only what we can diagnose?", 'title: ⟦"a\\u200bb"', "$.title", "U+200B"),
    Case("not NFC", "[stale_door, wrong", "[⟦a\u0301, wrong", "$.factors.family[0]", "not in Unicode form NFC"),
    Case("equal after NFC", "[stale_door, wrong_start", "[\u00e1, ⟦a\u0301", "$.factors.family[1]", "equals a label beside"),
    Case("anchor", "seed: 0..9", "seed: ⟦&s 0..9", SEED, "an anchor, &s"),
    Case("alias", "seed: 0..9", "seed: ⟦*s", SEED, "an alias, *s"),
    Case("tag", "seed: 0..9", "seed: ⟦!!str 0..9", SEED, "a tag, "),
    Case("merge key", "  seed: 0..9", "  ⟦<<: {}\n  seed: 0..9", "$.factors", "a merge key"),
    Case("duplicate key", "  seed: 0..9", "  seed: 0..9\n  ⟦seed: 0..9", "$.factors", "the key seed stands twice, first at 46:3"),
    Case("duplicate key in another spelling", "  seed: 0..9", '  seed: 0..9\n  ⟦"seed": 0..9', "$.factors", "twice"),
    Case("key that is a number", "      transcript:", "      ⟦7:", "$.readings.reader.levels", 'write "7"'),
    Case("key that is a truth value", "      rule:", "      ⟦on:", "$.readings.reader.levels", "truth value"),
    Case("key that is a list", "      rule:", "      ⟦[rule]:", "$.readings.reader.levels", "a key that is no plain text"),
    Case("directive", "# The belief", "%YAML 1.1\n⟦---\n# The belief", "$", "a % directive"),
    Case("second document", "rights:", "⟦---\nrights:", "$", "a second document"),
    Case("not YAML", "seed: 0..9", "seed: 0..9⟦: 3", "$.factors", "not YAML: mapping values are not allowed"),
    Case("no colon", "seed: 0..9", "⟦seed 0..9", "", "not YAML: could not find expected"),
    Case("unclosed", "gates: [", "gates: [[", "", "not YAML"),
    Case("impossible escape", "title: Does a", 'title: "\\UFFFFFFFF Does a', "", "not YAML"),
]
TWOFOLD = {
    "no": "truth value", "Yes": "truth value", "ON": "truth value", "off": "truth value", "n": "truth value",
    "True": "truth value", "FALSE": "truth value", "~": "stands for nothing", "Null": "stands for nothing",
    "": "an empty value stands for nothing", "010": "a number", "1_000": "a number", "1,000": "a number",
    "0x10": "a number", "0o10": "a number", "0b1": "a number", "1e3": "a number", "1.5e-3": "a number",
    ".5": "a number", "5.": "a number", "+5": "a number", "-.5": "a number", ".inf": "a number", "-.INF": "a number",
    ".nan": "a number", "1.2.3": "a number", "00..9": "a number", "12:30:00": "base 60", "190:20": "base 60",
    "2026-08-01": "a time without a zone", "2026-08-01T12:30:00": "a time without a zone",
    "2026-08-01 12:30": "a time without a zone", "-0": "a negative zero", "-0.0": "a negative zero", "=": "default",
    "9007199254740992": "beyond 2^53-1", "0.1234567890123": "more digits than are kept", "9..0": "holds nothing",
}

SHAPES = [
    Case("unknown key", "judge: w", "⟦jugde: worlds/house/judge\njudge: w", "$.jugde", "no key jugde belongs here; did you mean judge?"),
    Case("misspelled key", "data_access:", "⟦data_acces:", "$.data_acces", "did you mean data_access?"),
    Case("missing key", "  pilot: null\n", "", "$.sample.pilot", "the key pilot is missing; write it: no key has a default"),
    Case("missing key further in", "primary: true}\n  avoid", "primary: true, ⟦kind: binary}\n  avoid", "$.metrics.success", "stands twice"),
    Case("another version", "sealkit: 1", "sealkit: ⟦2", "$.sealkit", "found 2, due 1"),
    Case("number for text", "title: Does a change log change what an agent does, or only what we can diagnose?", "title: ⟦12", "$.title", 'found 12, due text; write "12"'),
    Case("text for a number", "notes_chars: 600}", "notes_chars: ⟦many}", "$.factors.arm.A.notes_chars", "found 'many', due a whole number"),
    Case("quoted number", "level: 0.95, res", 'level: ⟦"0.95", res', "$.methods.paired.level", "found '0.95', due a number above 0 and below 1; write it without quotes"),
    Case("decimal for a whole number", "max: 2", "max: ⟦2.0", "$.sample.attempts.max", "found 2.0, due a whole number"),
    Case("beyond a bound", "level: 0.95, res", "level: ⟦1.0, res", "$.methods.paired.level", "found 1.0, due a number above 0 and below 1"),
    Case("below a bound", "max: 2", "max: ⟦0", "$.sample.attempts.max", "found 0, due a whole number from 1 to 10"),
    Case("so many tries that one of them will please", "max: 2", "max: ⟦200", "$.sample.attempts.max", "found 200, due a whole number from 1 to 10"),
    Case("price beyond a record", "price_per_million_tokens: null", "price_per_million_tokens: {input_microusd: ⟦10000000001, output_microusd: 0}", "$.models.agent.price_per_million_tokens.input_microusd", "found 10000000001, due a whole number from 0 to 10000000000"),
    Case("tokens beyond a record", "max_output_tokens: 700", "max_output_tokens: ⟦4294967297", "$.models.agent.max_output_tokens", "found 4294967297, due a whole number from 1 to 4294967296"),
    Case("word that is no choice", "missing: complete_pairs", "missing: ⟦drop", "$.sample.missing", "found 'drop', due complete_pairs, failure or worst_case"),
    Case("form that is not there", "{kind: wilson,", "{kind: ⟦wald,", "$.methods.rate.kind", "found 'wald', due "),
    Case("form that is not said", "{kind: none}", "⟦{}", "$.multiplicity", "the key kind is missing"),
    Case("arm without a form", "role: treatment, scaffold: belief_store, model: agent, plan_chars: 200}", "role: treatment}", "", "an arm has one of the keys scripted, scaffold"),
    Case("effect without a form", "dc: {contrast: D - C,", "dc: ⟦{", "$.effects.dc", "an effect has one of the keys contrast, plus"),
    Case("name that does not fit", "  success: {kind", "  ⟦suc-cess: {kind", "$.metrics.suc-cess", "the name 'suc-cess' does not fit"),
    Case("range where text belongs", "text: In this environment, enforced revalidation raised", "text: ⟦0..9 #", "$.claims.enforced-revalidation-helps.text", "found 0..9, due text"),
    Case("no verifier", "[witness, replay]", "⟦[]", "$.verifiers", "at least 1"),
    Case("verifier twice", "[witness, replay]", "⟦[witness, witness]", "$.verifiers", "the verifier 'witness' stands twice"),
    Case("gate twice", "[sealed_before_look,", "⟦[files_verify,", "$.gates", "the gate 'files_verify' stands twice"),
    Case("path out of the study", "judge: worlds/house/judge", "judge: ⟦worlds/../judge", "$.judge", "a path inside the study folder"),
    Case("empty factor", "seed: 0..9", "seed: ⟦[]", SEED, "an empty list of levels"),
    Case("levels that are no list", "seed: 0..9", "seed: ⟦9", SEED, "found 9, due a list of levels"),
    Case("level that is no label", "seed: 0..9", "seed: ⟦[0, null]", SEED, "found null, due a label"),
    Case("too many levels", "seed: 0..9", "seed: ⟦0..999999", SEED, "more than 100000 levels"),
    Case("seed that is text", "seed: 0..9", "seed: ⟦[a]", SEED, "the seed a is no whole number"),
    Case("decimal parameter", "turn_budget: 15,", "turn_budget: ⟦1.5,", "$.world.params.turn_budget", "whole numbers and text"),
    Case("range parameter", "turn_budget: 15,", "turn_budget: ⟦1..5,", "$.world.params.turn_budget", "whole numbers and text"),
    Case("parameter key out of ASCII", "{er: [1", "⟦{ä: [1", "$.world.params.deep", "is not ASCII", "everything"),
    Case("score range", "range: [0, 1]", "range: [1, 0]", "", "a range is its lower and its higher end", "everything"),
    Case("a failure that counts as the best", "latency: {kind: duration, better: lower, censored: {kind: counts_as, value: 15}", "latency: {kind: duration, better: lower, censored: ⟦{kind: counts_as, value: 0}", "$.metrics.latency.censored", "one without an end counts as 0, so a failure is better than the worst value; let it count as more than 0", "everything"),
    Case("a failure that counts as less than the most", "latency: {kind: duration, better: lower, censored: {kind: counts_as, value: 15}", "latency: {kind: duration, better: lower, most: 16, censored: ⟦{kind: counts_as, value: 15}", "$.metrics.latency.censored", "let it count as at least 16, or be {kind: left_out}", "everything"),
    Case("a failure that counts as long where long is good", "latency: {kind: duration, better: lower, censored: {kind: counts_as, value: 15}", "latency: {kind: duration, better: higher, censored: ⟦{kind: counts_as, value: 15}", "$.metrics.latency.censored", "so a failure is better than the worst value, 0; let it count as 0", "everything"),
    Case("score step", "step: 0.2", "step: 0.3", "", "steps of 0.3 do not lead from 0 to 1", "everything"),
    Case("population of nothing", "noise: {family: [noise]}", "noise: {family: ⟦[]}", "$.populations.noise.family", "an empty list"),
    Case("population without a choice", "noise: {family: [noise]}", "noise: ⟦{}", "$.populations.noise", "at least 1"),
]

RUN = [
    Case("level twice", "[stale_door, wrong_start, delayed_update, noise", "⟦[stale_door, stale_door, delayed_update, noise", "$.factors.family", "stale_door stands twice"),
    Case("seed twice", "seed: 0..9", "seed: ⟦[0..9, 3]", SEED, "3 stands twice"),
    Case("too many slots", "  seed: 0..9", "  seed: 0..99998\n  extra: [a, b, c, d, e]", "$.factors", "11999880 slots, due at most 10000000"),
    Case("levels that read alike", "delivery: [pushed, inbox]", 'delivery: ⟦[1, "1", pushed, inbox]', "$.factors.delivery", "1 stands twice", "everything"),
    Case("factor called repetition", "  delivery: [pushed", "  repetition: [a]\n  delivery: [pushed", "", "a factor cannot be called repetition", "everything"),
    Case("factor and reading", "  seed: 0..9", "  seed: 0..9\n  ⟦reader: [a]", "$.factors.reader", "reader is a reading and a factor"),
    Case("role without a model", "A: {role: control, scaffold: notes, model: agent", "A: {role: control, scaffold: notes, model: ⟦agnt", "$.factors.arm.A.model", "no model plays the role agnt; there are agent, diagnoser"),
    Case("model without a role", "  diagnoser:\n    id", "  ⟦spare: {id: x, temperature: 0, max_output_tokens: 1, reasoning: \"off\", price_per_million_tokens: null}\n  diagnoser:\n    id", "$.models.spare", "no arm and no reading uses the model spare"),
    Case("model by no factor", "factor: model", "factor: ⟦family", "$.models.agent.factor", "family is no further factor", "everything"),
    Case("model for another level", "      large: {id", "      huge: {id", "", "models for small, huge, and the factor model has the levels small, large", "everything"),
    Case("reading by no model", "transcript: {model: diagnoser", "transcript: {model: ⟦judge", "$.readings.reader.levels.transcript.model", "no model plays the role judge"),
    Case("reading in no arm", "arms: [A, B]}", "arms: ⟦[A, X]}", "$.readings.reader.levels.transcript.arms", "X is no level of arm"),
    Case("smoke seed among the confirmatory", "seed: [100]", "seed: ⟦[3]", "$.sample.smoke.seed", "3 is both a smoke and a confirmatory seed; give the smoke run another"),
    Case("smoke seeds all", "seed: [100]", "seed: ⟦all", "$.sample.smoke.seed", "the smoke run needs its own"),
    Case("smoke seed twice", "seed: [100]", "seed: ⟦[100, 100]", "$.sample.smoke.seed", "100 stands twice"),
    Case("smoke of an unknown family", "family: [stale_door], seed", "family: ⟦[stale], seed", "$.sample.smoke.family", "stale is no level of family"),
    Case("smoke without a factor", "arm: all, family: [stale_door], seed: [100]", "family: [stale_door], seed: [100]", "", "the smoke run does not say which arm"),
    Case("smoke of no factor", "smoke: {arm: all,", "smoke: {⟦weather: all, arm: all,", "$.sample.smoke.weather", "weather is no factor"),
    Case("pilot seed among the confirmatory", "seed: 101..103", "seed: ⟦12..13", "$.sample.pilot.seed", "12 is both a pilot and a confirmatory seed", "everything"),
    Case("pilot seed among the smoke seeds", "seed: 101..103", "seed: ⟦100..103", "$.sample.pilot.seed", "100 is both a smoke and a pilot seed; give the pilot run another", "everything"),
    Case("blocks by arm", "block_by: [family, seed]", "block_by: ⟦[arm, seed]", "$.sample.block_by", "a block holds all arms"),
    Case("blocks by a measure", "block_by: [family, seed]", "block_by: ⟦[family, success]", "$.sample.block_by", "success is decided after treatment"),
    Case("blocks by no factor", "block_by: [family, seed]", "block_by: ⟦[family, day]", "$.sample.block_by", "day is no factor"),
    Case("looks after the end", "after_blocks: [10, 20]", "after_blocks: ⟦[10, 42]", "$.sample.stopping.after_blocks", "looks after 10, 42 of 42 blocks", "everything"),
    Case("looks that fall", "after_blocks: [10, 20]", "after_blocks: ⟦[20, 10]", "$.sample.stopping.after_blocks", "let them rise", "everything"),
    Case("cost without a price", "cost_microusd: null", "cost_microusd: 5", "", "this model has no price"),
    Case("population by arm", "noise: {family: [noise]}", "noise: {⟦arm: [A]}", "$.populations.noise.arm", "chosen by treatment"),
    Case("population by a metric", "noise: {family: [noise]}", "noise: {⟦success: [1]}", "$.populations.noise.success", "success is decided after treatment"),
    Case("population by a measure", "noise: {family: [noise]}", "noise: {⟦acts: [1]}", "$.populations.noise.acts", "acts is decided after treatment"),
    Case("population by a reading", "noise: {family: [noise]}", "noise: {⟦reader: [rule]}", "$.populations.noise.reader", "reader is decided after treatment"),
    Case("population by no factor", "noise: {family: [noise]}", "noise: {⟦day: [1]}", "$.populations.noise.day", "day is no factor"),
    Case("population of no level", "noise: {family: [noise]}", "noise: {family: ⟦[nose]}", "$.populations.noise.family", "nose is no level of family"),
    Case("scripted agent of an external world", "short: {role: control, models: [agent], options: {prompt: prompts/short.txt}}", "short: {role: control, scripted: ⟦naive}", "$.factors.arm.short.scripted", "an external world has no scripted agents", "external"),
    Case("arm called all", "    naive: {", "    ⟦all: {", "$.factors.arm.all", "an arm cannot be called all", "dry-run"),
    Case("fingerprint of an external world's replies", "price_per_million_tokens: null}}", "price_per_million_tokens: null, fingerprint: ⟦fp_1}}", "$.models.agent.fingerprint", "so none can be asserted", "external"),
    Case("external world with a judge", "judge: null", "judge: ⟦judge", "$.judge", "an external world measures for itself", "external"),
    Case("witnessed without the witness", "verifiers: [witness, replay]", "verifiers: ⟦[replay, mine]", "$.verifiers", "evidence that is witnessed is ruled on by the verifier witness; there are replay, mine; add witness (your own may stand beside it)"),
    Case("external world with a witness", "evidence: recorded", "evidence: ⟦witnessed", "$.evidence", "cannot offer evidence that is witnessed", "external"),
    Case("command as an arm of an external world", "short: {role: control, models: [agent], options: {prompt: prompts/short.txt}}", "short: {role: control, run: ⟦[./harness], models: [agent], trees: []}", "$.factors.arm.short.run", "an external world plays every arm", "external"),
    Case("external world that would be run again", "verifiers: [recorded]", "verifiers: [recorded, ⟦replay]", "$.verifiers[1]", "replay needs receipts and a world to run again", "external"),
    Case("external world whose reply uses a turn", "refusal: failure", "refusal: ⟦uses_turn", "$.sample.endings.refusal", "the turns of an external world are its own", "external"),
    Case("external world with readings", "readings: {}", "readings: {⟦reader: {of: diagnosis, levels: {rule: {model: null, arms: all}}}}", "$.readings.reader", "there is no judge", "external"),
    Case("command that is not sealed", "run: [./harness, --json], trees: [harness, ", "run: ⟦[./harness, --json], trees: [", "$.world.run", "the command harness is in none of the trees", "external"),
    Case("command without its time", ", seconds: 60", "", "$.world", "the key seconds is missing", "external"),
    Case("time for nothing", "run: [./harness, --json]", "run: ⟦null", "$.world.run", "nothing is run", "external"),
    Case("command without a tree", "trees: [harness, items.jsonl, prompts]", "trees: ⟦[]", "$.world.trees", "", "external"),
    Case("variable with its value", "[API_KEY]", "[⟦API_KEY=1]", "$.world.environment[0]", "the name of an environment variable", "external"),
    Case("recorded evidence of a reference world", "evidence: witnessed ", "evidence: ⟦recorded ", "$.evidence", "leaves more than a record"),
    Case("recorded verifier of a reference world", "verifiers: [witness, replay]", "verifiers: [witness, ⟦recorded]", "$.verifiers[1]", "reads what an external world says"),
    Case("options alone in a reference world", "    naive: {role: control, scripted: naive} ", "    ⟦naive: {role: control, models: [], options: {}} ", "$.factors.arm.naive", "options alone are for the command", "dry-run"),
    Case("reference world without a judge", "judge: worlds/house/judge", "judge: ⟦null", "$.judge", "no judge measures the episodes"),
]

ANALYSIS = [
    Case("contrast of no arm", "dc: {contrast: D - C", "dc: {contrast: ⟦D - E", "$.effects.dc.contrast", "no arm is called E; there are A, B, C, D"),
    Case("contrast with itself", "dc: {contrast: D - C", "dc: {contrast: ⟦D - D", "$.effects.dc.contrast", "D is compared with itself"),
    Case("contrast in another form", "dc: {contrast: D - C", "dc: {contrast: ⟦D-C", "$.effects.dc.contrast", "found 'D-C', due two arms as PLUS - MINUS"),
    Case("side of no level", "minus: {arm: B, reader: transcript}", "minus: {arm: B, reader: ⟦script}", "$.effects.diag.minus.reader", "script is no level of reader"),
    Case("side of no factor", "plus: {arm: B, reader: structured}", "plus: {arm: B, reader: structured, ⟦day: 1}", "$.effects.diag.plus.day", "day is no factor and no reading"),
    Case("sides that fix other factors", "minus: {arm: B, reader: transcript}", "minus: ⟦{arm: B}", "$.effects.diag.minus", "fix the same factors"),
    Case("side that the population leaves out", "dc: {contrast: D - C, join: [family, seed], population: change", "dc: {plus: {arm: D, family: stale_door}, minus: {arm: D, family: ⟦noise}, join: [seed], population: change", "$.effects.dc.minus.family", "leaves out family noise"),
    Case("sides that are equal", "minus: {arm: B, reader: transcript}", "minus: ⟦{arm: B, reader: structured}", "$.effects.diag.minus", "both sides are the same"),
    Case("reading not taken in the arm", "minus: {arm: B, reader: transcript}", "minus: {arm: C, reader: ⟦transcript}", "$.effects.diag.minus.reader", "taken in the arms A, B, not in C"),
    Case("undeclared population", "population: noise,", "population: ⟦nose,", "$.effects.noise.population", "no population is called nose"),
    Case("undeclared method", "population: noise, method: paired", "population: noise, method: ⟦pared", "$.effects.noise.method", "no method is called pared; there are paired, rate, mean; did you mean paired?"),
    Case("undeclared metric of an effect", "metric: stale, p", "metric: ⟦stail, p", "$.effects.oracle_stale.metric", "no metric is called stail", "dry-run"),
    Case("single effect without an arm", "{of: {arm: oracle}, metric: stale", "{of: ⟦{family: noise}, metric: stale", "$.effects.oracle_stale.of.arm", "it does not say which arm", "dry-run"),
    Case("single effect on no cells", "of: {arm: tracker}, metric: noise_flip", "of: {arm: tracker, family: unobservable}, metric: noise_flip", "", "rests on no cells", "dry-run"),
    Case("ratio of no metric", "of: input_tokens, over: acts", "of: ⟦tokens, over: acts", "$.metrics.tokens_per_act.of", "no metric is called tokens", "everything"),
    Case("ratio to itself", "of: input_tokens, over: acts", "of: acts, over: ⟦acts", "$.metrics.tokens_per_act.over", "a ratio of a metric to itself", "everything"),
    Case("ratio of a score", "of: input_tokens, over: acts", "of: ⟦quality, over: acts", "$.metrics.tokens_per_act.of", "quality is no count", "everything"),
    Case("metric read by nothing", "read_by: reader}\n  named:", "read_by: ⟦eye}\n  named:", "$.metrics.named_and_timed.read_by", "no reading is called eye"),
    Case("measure of a reading and of the judge", "extra_faults: {kind: count, better: lower, read_by", "extra_faults: {kind: count, better: lower, measure: stale, read_by", "$.metrics.extra_faults.read_by", "stale is read by reader here, and stale takes it from the judge"),
    Case("unit that is a factor", "unit: fault, read_by: reader}\n  named:", "unit: ⟦family, read_by: reader}\n  named:", "$.metrics.named_and_timed.unit", "family is a factor"),
    Case("repetitions of nothing", "measure: acts}", "measure: acts, repetitions: ⟦{kind: mean}}", "$.metrics.turns.repetitions", "nothing is repeated"),
    Case("repetitions not combined", "repetitions: 1", "repetitions: 2", "", "nothing says how they become one value"),
    Case("any of a count", "acts: {kind: count, better: lower, most: 15, repetitions: {kind: mean}}", "acts: {kind: count, better: lower, most: 15, repetitions: ⟦{kind: any}}", "$.metrics.acts.repetitions", "any is for binary metrics", "everything"),
    Case("pass at more than there are", "k: 2", "k: ⟦4", "$.metrics.at_two.repetitions.k", "pass at 4 of 3 repetitions", "everything"),
    Case("strata by no factor", "by: family, weights", "by: ⟦reader, weights", "$.effects.strata.strata.by", "reader is no factor of the scenario", "everything"),
    Case("strata of other levels", "weights: {x: 0.25, z: 0.75}", "weights: ⟦{x: 0.25, w: 0.75}", "$.effects.strata.strata.weights", "the population holds x, z", "everything"),
    Case("weights that do not add up", "weights: {x: 0.25, z: 0.75}", "weights: ⟦{x: 0.25, z: 0.70}", "$.effects.strata.strata.weights", "the weights add up to 0.95", "everything"),
    Case("difference of no effect", "difference: own - models", "difference: ⟦own - model", "$.effects.change.difference", "no effect is called model", "everything"),
    Case("difference of a single effect", "difference: own - models", "difference: ⟦own - alone", "$.effects.change.difference", "alone is no comparison of pairs", "everything"),
    Case("difference of an effect with itself", "difference: own - models", "difference: ⟦own - own", "$.effects.change.difference", "own minus itself", "everything"),
    Case("difference on another metric", "difference: own - models, method: boot, metric: rate", "difference: own - strata, method: boot, metric: ⟦quality", "$.effects.change.metric", "strata is on the metric rate", "everything"),
    Case("family with one effect twice", "multiplicity: {kind: none}", "multiplicity: {kind: holm, test: sign_flip, members: [{effect: dc, metric: success}, ⟦{effect: dc, metric: success}]}", "$.multiplicity.members[1]", "dc on success stands twice"),
    Case("report split by arm", "split: [family]}\n  - {effects: [diag]", "split: [⟦arm]}\n  - {effects: [diag]", "$.reported_only[2].split[0]", "arms are apart already"),
    Case("correction of no effect", "[{effect: own, metric: rate}]", "[{effect: ⟦won, metric: rate}]", "$.multiplicity.families[0][0].effect", "no effect is called won", "everything"),
    Case("correction twice", "{effect: models, metric: quality}]", "⟦{effect: own, metric: quality}]", "$.multiplicity.families[1][1]", "own on quality stands twice", "everything"),
    Case("report of no effect", "effects: [dc, ca, task], metrics: [success", "effects: [⟦cd, ca, task], metrics: [success", "$.reported_only[0].effects[0]", "no effect is called cd"),
    Case("report of no metric", "metrics: [success, false_completion]}", "metrics: [⟦sucess, false_completion]}", "$.reported_only[0].metrics[0]", "no metric is called sucess"),
    Case("report split by no factor", "split: [family]}\n  - {effects: [diag]", "split: [⟦day]}\n  - {effects: [diag]", "$.reported_only[2].split[0]", "no factor, reading or unit is called day"),
    Case("report of no arm", "arms: [base, own]", "arms: ⟦[base, won]", "$.reported_only[1].arms", "no arm is called won", "everything"),
]

USES = [
    Case("join without a factor", "join: [family, seed], population: noise", "join: ⟦[seed], population: noise", "$.effects.noise.join", "several cells share a key without family"),
    Case("join on the arm", "join: [family, seed], population: noise", "join: ⟦[arm, family, seed], population: noise", "$.effects.noise.join", "the effect fixes arm on each side"),
    Case("join on no factor", "join: [family, seed], population: noise", "join: ⟦[family, seed, fault], population: noise", "$.effects.noise.join", "fault is no factor and no unit of"),
    Case("join on the repetition", "own: {contrast: own - base, join: [", "own: {contrast: own - base, join: ⟦[repetition, ", "$.effects.own.join", "repetitions are combined before", "everything"),
    Case("join without the unit", "join: [family, seed, fault]", "join: ⟦[family, seed]", "$.effects.diag.join", "share a key without fault"),
    Case("unit without a cluster", "    cluster: [family, seed]\n", "", "$.effects.diag.cluster", "they are not independent"),
    Case("cluster by the unit", "    cluster: [family, seed]\n", "    cluster: ⟦[fault]\n", "$.effects.diag.cluster", "fault is inside the episode"),
    Case("cluster outside the join", "    cluster: [family, seed]\n", "    cluster: ⟦[arm]\n", "$.effects.diag.cluster", "arm is not in the join"),
    Case("method for another form", "population: noise, method: paired}", "population: noise, method: ⟦rate}", "$.effects.noise.method", "wilson is for single effects on binary metrics"),
    Case("method for another metric", "oracle_stale: {of: {arm: oracle}, metric: stale, population: everything, method: tally}", "oracle_stale: {of: {arm: oracle}, metric: stale, population: everything, method: ⟦rate}", "$.effects.oracle_stale.method", "stale here is a count of a single effect", "dry-run"),
    Case("method that knows no strata", "    population: two\n    method: boot", "    population: two\n    method: ⟦law", "$.effects.strata.method", "paired_bootstrap_exact", "everything"),
    Case("strata outside the join", "strata:\n    contrast: own - base\n    join: [family, seed,", "strata:\n    contrast: own - base\n    join: [seed,", "", "share a key without family", "everything"),
    Case("effect on another metric", "{effects: [lawful, risky, scored], metrics: [solved]", "⟦{effects: [lawful, risky, scored, strata], metrics: [solved]", "$.reported_only[4]", "strata is on the metric rate, and is used here on solved", "everything"),
    Case("reading that is not fixed", "{effects: [dc, ca, task], metrics: [false_completion, stale]", "{effects: [dc, ca, task], metrics: [named, stale]", "", "named is read once for each reader"),
    Case("reading that does not matter", "{effects: [diag], metrics: [named]", "{effects: [diag], metrics: [named, stale]", "", "stale does not depend on the reading reader"),
    Case("report of a reading unsplit", "metrics: [extra_faults], split: [reader]", "metrics: [extra_faults], split: ⟦null", "$.reported_only[7].split", "extra_faults is read once for each reader"),
    Case("report by another method", "metrics: [extra_faults], split: [reader], method: mean", "metrics: [extra_faults], split: [reader], method: ⟦rate", "$.reported_only[7].method", "wilson does not fit extra_faults"),
    Case("interval of a ratio without a bootstrap", "  acts: {kind: count, better: lower, most: 15, repetitions: {kind: mean}}", "  ⟦spare: {kind: ratio, of: acts, over: input_tokens, better: lower}\n  acts: {kind: count, better: lower, most: 15, repetitions: {kind: mean}}", "$.metrics.spare", "nothing uses the metric spare", "everything"),
    Case("test of counts", "{test: mcnemar_exact, effects: [dc, ca, task], metrics: [success,", "{test: ⟦mcnemar_exact, effects: [dc, ca, task], metrics: [stale,", "$.reported_only[0].test", "mcnemar_exact is for pairs on binary metrics"),
    Case("margin that no rule reads", "  scored: {contrast: own - log,", "  scored: {margin: ⟦{kind: noninferiority, value: 0.1, why: so}, contrast: own - log,", "$.effects.scored.margin", "no rule reads scored.margin", "everything"),
    Case("equivalence on one side", " && same.upper < same.margin", "", "$.effects.same.margin", "no rule reads same.upper", "everything"),
    Case("correction that no rule reads", "own.p_adjusted <= 0.05\", otherwise: not_shown", "own.lower > 0\", otherwise: not_shown", "$.multiplicity", "own on rate is corrected, and no rule reads", "everything"),
    Case("effect that nothing reads", "  da_all: {", "  ⟦da2: {contrast: D - A, join: [family, seed], population: everything, method: paired}\n  da_all: {", "$.effects.da2", "nothing uses the effect da2"),
    Case("method that nothing uses", "  rate: {kind: wilson, level: 0.95}", "  rate: {kind: wilson, level: 0.95}\n  ⟦rate2: {kind: wilson, level: 0.9}", "$.methods.rate2", "nothing uses the method rate2"),
    Case("population that nothing uses", "  noise: {family: [noise]}", "  noise: {family: [noise]}\n  ⟦calm: {family: [noise]}", "$.populations.calm", "nothing uses the population calm"),
    Case("metric that nothing uses", "  input_tokens: {", "  ⟦spare: {kind: count, better: lower}\n  input_tokens: {", "$.metrics.spare", "nothing uses the metric spare"),
    Case("reading that nothing uses", "readings: ", "readings:\n  ⟦second: {of: diagnosis, levels: {rule: {model: null, arms: all}}}\n  # ", "$.readings.second", "nothing uses the reading second"),
]

H2 = '"diag.lower > 0 && task.lower <= 0 && task.upper >= 0"'
H3 = '"gains.lower > 0 && noise.estimate < gains.estimate"'
RULES = [
    Case("rules that are not total", f"supported: {H3}\n      otherwise: not_shown", f"⟦supported: {H3}\n      no_gain: \"gains.upper < 0\"", "$.hypotheses.H3.verdict", "the rules are not total"),
    Case("otherwise before the end", f"supported: {H2}\n      otherwise: not_shown", f"⟦otherwise: not_shown\n      supported: {H2}", "$.hypotheses.H2.verdict.otherwise", "write it last"),
    Case("otherwise with a rule", f"supported: {H2}\n      otherwise: not_shown", f"supported: {H2}\n      otherwise: ⟦supported", "$.hypotheses.H2.verdict.otherwise", "supported has a rule above"),
    Case("otherwise that is no name", f"supported: {H2}\n      otherwise: not_shown", f"supported: {H2}\n      otherwise: ⟦not shown", "$.hypotheses.H2.verdict.otherwise", "'not shown' is no verdict that a claim can rest on; name it supported, partly, not_shown or contradicted"),
    Case("verdict that no claim knows", f"supported: {H2}", f"⟦shown: {H2}", "$.hypotheses.H2.verdict.shown", "'shown' is no verdict that a claim can rest on"),
    Case("worst case without a worst value", "acts: {kind: count, better: lower, most: 15,", "⟦acts: {kind: count, better: lower,", "$.metrics.acts", "by sample.missing a slot without an episode counts as its worst case, and acts has no worst value; declare the largest value", "everything"),
    Case("verdict that sealkit gives", f"supported: {H2}", f"⟦not_estimable: {H2}", "$.hypotheses.H2.verdict.not_estimable", "sealkit itself rules not_estimable"),
    Case("rule that is not quoted", f"supported: {H2}", "supported: ⟦false", "$.hypotheses.H2.verdict.supported", "found false, due text"),
    Case("rule that is no rule", f"supported: {H2}", 'supported: ⟦"diag.lower > "', "$.hypotheses.H2.verdict.supported", "(column 14 of the rule)"),
    Case("rule on no effect", f"supported: {H2}", 'supported: ⟦"dig.lower > 0"', "$.hypotheses.H2.verdict.supported", "no name 'dig.lower' is declared here (column 1 of the rule); did you mean 'diag.lower'?"),
    Case("rule on no field", f"supported: {H2}", 'supported: ⟦"task.low > 0"', "$.hypotheses.H2.verdict.supported", "no name 'task.low' is declared here (column 1 of the rule); did you mean 'task.lower'?"),
    Case("rule on a p-value", f"supported: {H2}", 'supported: ⟦"task.p < 0.05"', "$.hypotheses.H2.verdict.supported", "did you mean 'task.p_adjusted'?"),
    Case("rule on a field of other metrics", f"supported: {H3}", 'supported: ⟦"gains.b > gains.c && noise.n > 3"', "$.hypotheses.H3.verdict.supported", "gains.b is not there: on avoidable_stale, gains has n, estimate, lower, upper"),
    Case("rule on a limit without an interval", '"random.x == 0 && random.n == 60"', '⟦"random.x == 0 && oracle_stale.upper < 1"', "$.hypotheses.random.verdict.supported", "choose a method that gives an interval", "dry-run"),
    Case("rule on no margin", f"supported: {H3}", 'supported: ⟦"gains.lower > noise.margin"', "$.hypotheses.H3.verdict.supported", "declare a margin on the effect"),
    Case("rule on an uncorrected p", f"supported: {H3}", 'supported: ⟦"gains.p_adjusted < 0.05 && noise.n > 2"', "$.hypotheses.H3.verdict.supported", "add the effect and metric to multiplicity"),
    Case("hypothesis without a metric", "    metric: {diag: named_and_timed, task: success}\n", "", "$.hypotheses.H2.verdict.supported", "nothing says on which metric"),
    Case("hypothesis on no metric", "task: success}", "task: ⟦sucess}", "$.hypotheses.H2.metric.task", "no metric is called sucess"),
    Case("hypothesis on each of no metric", "    each: {metric: [success, avoidable_stale]}\n    verdict", "    each: {metric: [success, ⟦stail]}\n    verdict", "$.hypotheses.H1.each.metric[1]", "no metric is called stail"),
    Case("each and metric", "    descriptive: true", "    ⟦metric: success\n    descriptive: true", "$.hypotheses.H3.metric", "each and metric both say the metric"),
    Case("metric of an effect that is not read", "task: success}", "task: success, ⟦dc: success}", "$.hypotheses.H2.metric.dc", "no rule reads dc"),
    Case("metric of an effect that has one", 'margins:\n', 'margins:\n    metric: {close: ⟦solved}\n', "$.hypotheses.margins.metric.close", "close is on the metric solved already", "everything"),
]

TRUTH = [
    Case("verdict out of reach", f"supported: {H3}", 'supported: ⟦"gains.lower > gains.upper && noise.n > 0"', "$.hypotheses.H3.verdict.supported", "no outcome reaches supported on success"),
    Case("verdict behind another", f"supported: {H3}", 'partly: "gains.lower >= 0 || noise.estimate > 0"\n      supported: ⟦"gains.lower > 0 && noise.estimate > 0"', "$.hypotheses.H3.verdict.supported", "no outcome reaches supported on success; a rule above takes its cases"),
    Case("verdict beyond the sample", '"random.x == 0 && random.n == 60"', '⟦"random.x == 0 && random.n == 61"', "$.hypotheses.random.verdict.supported", "no outcome reaches supported; random.n is 60 here, and the rule wants random.n == 61", "dry-run"),
    Case("count beyond the sample", '"random.x == 0 && random.n == 60"', '⟦"61 == random.x && random.n > 5"', "$.hypotheses.random.verdict.supported", "random.x is at most 60 here, and the rule wants 61 == random.x", "dry-run"),
    Case("verdict beyond the metric", f"supported: {H3}", 'supported: ⟦"gains.lower > 1.5 && noise.n > 3"', "$.hypotheses.H3.verdict.supported", "no outcome reaches supported on success"),
    Case("otherwise out of reach", f"supported: {H3}", 'supported: "gains.lower > 0 && noise.lower > 0"\n      partly: "gains.lower <= 0 || noise.lower <= 0"', "$.hypotheses.H3.verdict.otherwise", "the rules above cover everything"),
    Case("rule that fails", f"supported: {H3}", 'supported: ⟦"gains.lower / noise.estimate > 1"', "$.hypotheses.H3.verdict.supported", "division by zero"),
    Case("rule that gives a number", f"supported: {H3}", 'supported: ⟦"gains.lower - noise.estimate"', "$.hypotheses.H3.verdict.supported", "gives a value, not yes or no"),
    Case("rules that bring too much together", "(dc.lower > 0 && ca.estimate > 0)", "(dc.lower > ca.upper && dc.upper > ca.estimate && dc.estimate > ca.lower && dc.lower > 0.1 && ca.n > dc.n)", "$.hypotheses.H1.verdict", "split the hypothesis"),
]

CLAIMS = [
    Case("test that knows no clusters", "dc: {contrast: D - C, join: [family, seed],", "dc: {contrast: D - C, join: [family, seed], cluster: [family],", "$.reported_only[0].test", "mcnemar_exact takes every pair to be independent and alike, and dc has clusters; write sign_flip"),
    Case("test that knows no strata", "task: {contrast: B - A, join: [family, seed],", "task: {contrast: B - A, join: [family, seed], strata: {by: family, weights: {stale_door: 0.2, wrong_start: 0.2, delayed_update: 0.2, unobservable: 0.2, double_fault: 0.2}},", "$.reported_only[0].test", "and task has strata; write sign_flip"),
    Case("claim on no hypothesis", "{hypothesis: H2, verdict", "{hypothesis: ⟦H4, verdict", "$.claims.log-helps-diagnosis.needs.hypothesis", "no hypothesis is called H4"),
    Case("claim on a verdict never given", "{hypothesis: H2, verdict: [supported]}", "{hypothesis: H2, verdict: [⟦partly]}", "$.claims.log-helps-diagnosis.needs.verdict[0]", "H2 never rules partly; it rules not_shown, supported"),
    Case("claim on every verdict", "{hypothesis: H2, verdict: [supported]}", "{hypothesis: H2, verdict: ⟦[supported, not_shown]}", "$.claims.log-helps-diagnosis.needs.verdict", "every verdict would do"),
    Case("claim without its metric", "{hypothesis: H1, metric: success, verdict", "⟦{hypothesis: H1, verdict", "$.claims.enforced-revalidation-helps.needs", "say which metric is meant"),
    Case("claim on another metric", "{hypothesis: H1, metric: success, verdict", "{hypothesis: H1, metric: ⟦stale, verdict", "$.claims.enforced-revalidation-helps.needs.metric", "no verdict of its own on stale"),
    Case("confirmatory claim on what is descriptive", "{hypothesis: H1, metric: success, verdict", "{hypothesis: ⟦H3, metric: success, verdict", "$.claims.enforced-revalidation-helps.needs.hypothesis", "which is descriptive"),
    Case("second need of a claim", "{hypothesis: naive, verdict", "{hypothesis: ⟦nave, verdict", "$.claims.house-does-what-it-was-built-to-do.needs[1].hypothesis", "no hypothesis is called nave", "dry-run"),
]

# fmt: on
ALL = [*BYTES, *SHAPES, *RUN, *ANALYSIS, *USES, *RULES, *TRUTH, *CLAIMS]


def refusal(text: str, name: str = "plans/v1.yaml") -> SealkitError:
    with pytest.raises(SealkitError) as caught:
        open_plan_bytes(text.encode(), name)
    return caught.value


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
def test_each_defect_is_refused_where_it_stands(case: Case) -> None:
    plan = PLANS[case.plan]
    assert case.old in plan, "the plan has moved on: adapt the case"
    marked = plan.replace(case.old, case.new, 1)
    before, mark, after = marked.partition("⟦")
    text = before + after if mark else marked
    error = refusal(text)
    assert isinstance(error, UsageError)
    first = str(error).partition("\n")[0]
    assert case.says in first
    place, _, path = error.where.partition(" ")
    name, line, column = place.split(":")
    assert name == "plans/v1.yaml"
    if mark:
        assert (int(line), int(column)) == (before.count("\n") + 1, len(before) - before.rfind("\n"))
    if case.path:
        assert path == case.path
    assert error.remedy


def test_cases_have_names_of_their_own() -> None:
    assert len({case.name for case in ALL}) == len(ALL)


@pytest.mark.parametrize(("scalar", "says"), TWOFOLD.items())
def test_a_scalar_that_readers_take_for_two_things_is_refused(scalar: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_yaml(f"agent:\n  reasoning: {scalar}\n".encode(), "plan.yaml")
    column = 14 if scalar else 3
    assert caught.value.where == f"plan.yaml:2:{column} $.agent.reasoning"
    assert says in caught.value.what
    assert caught.value.remedy


@pytest.mark.parametrize("scalar", [scalar for scalar in TWOFOLD if scalar])
def test_the_same_scalar_in_quotes_is_text(scalar: str) -> None:
    assert read_yaml(f'"{scalar}": "{scalar}"'.encode(), "plan.yaml").value == {scalar: scalar}


def test_all_problems_are_listed_in_the_order_of_the_file() -> None:
    text = PLANS["v1"].replace("seed: [100]", "seed: [3]").replace("[family, seed]", "[family, day]", 1)
    text = text.replace("contrast: D - C", "contrast: D - E")
    lines = str(refusal(text)).split("\n")
    assert [line.partition(" ")[2].partition(":")[0] for line in lines] == [
        "$.sample.block_by",
        "$.sample.smoke.seed",
        "$.effects.dc.contrast",
    ]
    assert all(line.startswith("plans/v1.yaml:") and "; " in line for line in lines)


def test_truth_tables_that_would_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lint_ruling, "MOST_TRIED", 100)
    error = refusal(PLANS["v1"])
    assert error.where.endswith("$.hypotheses.H1.verdict")
    assert "the truth tables of the plan need more than 100 trials" in error.what


def test_more_comparisons_than_anybody_reads_are_refused() -> None:
    names = ",\n ".join(f"a{i}" for i in range(101))
    text = PLANS["external"].replace(
        "reported_only: []", f"reported_only: [{{split: null, effects: [{names}], metrics: [{names}]}}]"
    )
    assert "more than 10000 comparisons" in refusal(text).what


def test_at_most_twenty_problems_are_listed() -> None:
    error = refusal("sealkit: 1\nid: x\n" + "".join(f"k{i}: 1\n" for i in range(40)))
    lines = str(error).split("\n")
    assert len(lines) == 21
    assert lines[-1].startswith("… and ")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "an empty file"),
        (b"# nothing\n", "an empty file"),
        (b"[1, 2]", "found a list, due a mapping"),
        (b"text", "found 'text', due a mapping"),
        (b"a: \xff", "plans/v1.yaml:1:4 $: byte 0xff is not UTF-8"),
        (b"#\n" * 600_000, "due at most 1048576"),
        (b"# " + b"x" * 70_000, "a line of 70002 characters, due at most 65536"),
        (b"[" * 100, "nested deeper than 64"),
        (b"[" + b"1," * 30_000 + b"]", "more than 20000 values"),
        (b"a: 'x\0'", "the character U+0000"),
        (b'a: "\\ud800"', "U+D800"),
    ],
)
def test_other_bytes_are_refused(data: bytes, says: str) -> None:
    with pytest.raises(SealkitError) as caught:
        open_plan_bytes(data, "plans/v1.yaml")
    assert says in str(caught.value)
    assert caught.value.where.startswith("plans/v1.yaml:1:")
