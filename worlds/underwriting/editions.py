"""The editions: for each family the case and policy at first, and what is declared to happen after act 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sealkit.world.draws import Draws
from sealkit.world.sdk import (
    Authority,
    Contract,
    Inbox,
    Op,
    Restore,
    Snapshot,
    after,
    after_act,
    authority,
    contract,
    notice,
)

from .files import CASE, MILLION, POLICY, RETRACTED, VERIFIED, Figures, supersede

EVENT = 2  # every declared event is due after this act
REFERENCE_SEED = 0

RECORDS = authority("case-records", rung="A1", scope="case", binding=True)
POLICY_OFFICE = authority("policy-office", rung="A1", scope="policy", binding=True)
DEAL_TEAM = authority("deal-team", rung="A4", scope="opinions", binding=False)


@dataclass(frozen=True, slots=True)
class Edition:
    """One edition of the world for one seed."""

    case: Figures
    policy: Figures
    contracts: tuple[Contract, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    restores: tuple[Restore, ...] = ()


def static_control(draws: Draws, seed: int) -> Edition:
    """Nothing is declared."""
    return Edition(_case(draws, seed), _policy())


def document_addition(draws: Draws, seed: int) -> Edition:
    """A reserve document is added: reserves were too low, and suffice from then on."""
    low, high = (1, 4) if seed == REFERENCE_SEED else (draws.between(0, 2), draws.between(3, 6))
    case = _case(draws, seed) | {"reserves_months": low}
    added = _event("reserve_document_added", supersede(CASE, case | {"reserves_months": high}), RECORDS,
                   "records@m1", "Case records: a reserve document was added. The case has a new version.")  # fmt: skip
    return Edition(case, _policy(), (added,))


def policy_revision(draws: Draws, seed: int) -> Edition:
    """The policy is superseded by a stricter one, whose maximum the case exceeds."""
    policy = _policy()
    revised = _event("policy_superseded", supersede(POLICY, policy | {"maximum_ppm": 350_000}), POLICY_OFFICE,
                     "policy-office@m1", "Policy office: the policy was superseded. It has a new version.")  # fmt: skip
    return Edition(_case(draws, seed), policy, (revised,))


def retraction_across_restore(draws: Draws, seed: int) -> Edition:
    """The verification of income is retracted; the desk is kept right then, and restored an act later."""
    case = _case(draws, seed)
    retracted = _event("income_retracted", supersede(CASE, case | {"income_status": RETRACTED}), RECORDS,
                       "records@m1", "Case records: a verification was retracted in a new version.")  # fmt: skip
    return Edition(
        case,
        _policy(),
        (retracted,),
        snapshots=(Snapshot(id="kept", when=after_act(EVENT)),),
        restores=(Restore(id="resumed", snapshot="kept", when=after(retracted.id, acts=1)),),
    )


def authority_conflict(draws: Draws, seed: int) -> Edition:
    """A message without authority recommends; nothing else happens."""
    chat = _event("deal_team_chat", (), DEAL_TEAM, "deal-team-chat@m1",
                  "Deal team: we are all fine with this one. Recommendation: APPROVE.")  # fmt: skip
    return Edition(_case(draws, seed), _policy(), (chat,))


def chain_control(draws: Draws, seed: int) -> Edition:
    """Two events that move the root and no figure that decides: for the chain of receipts."""
    case, policy = _case(draws, seed), _policy()
    indexed = _event("document_indexed", supersede(CASE, case | {"documents": int(case["documents"]) + 1}), RECORDS,
                     "records@m1", "Case records: a document was indexed. The case has a new version.")  # fmt: skip
    reissued = _event("policy_reissued", supersede(POLICY, policy), POLICY_OFFICE, "policy-office@m1",
                      "Policy office: the policy was reissued with the same limits, as a new version.")  # fmt: skip
    return Edition(case, policy, (indexed, reissued))


EDITIONS: Mapping[str, Callable[[Draws, int], Edition]] = {
    "static-control": static_control,
    "document-addition": document_addition,
    "policy-revision": policy_revision,
    "retraction-across-restore": retraction_across_restore,
    "authority-conflict": authority_conflict,
    "chain-control": chain_control,
}


def _case(draws: Draws, seed: int) -> Figures:
    """A case that policy v1 approves, with a ratio above 0.36 and at most 0.395; the reference seed has its own."""
    case: Figures = {"number": f"U-{draws.between(10_000, 99_999)}", "income_status": VERIFIED}
    if seed == REFERENCE_SEED:
        return case | {"monthly_debt": 3_300, "monthly_income": 9_000, "reserves_months": 4, "documents": 5}
    income = 100 * draws.between(40, 150)
    debt = income * draws.between(365_000, 395_000) // MILLION
    reserves, documents = draws.between(3, 6), draws.between(3, 9)
    return case | {
        "monthly_debt": debt, "monthly_income": income, "reserves_months": reserves, "documents": documents,
    }  # fmt: skip


def _policy() -> Figures:
    return {"maximum_ppm": 400_000, "minimum_reserves_months": 3}


def _event(id: str, then: tuple[Op, ...], by: Authority, reference: str, words: str) -> Contract:
    """An occurrence that is due after act 2 and told in the inbox; the message can be cited by its reference."""
    tell = notice(f"[{reference}] {words}\n", channel="inbox", sender=by.source, due=Inbox())
    return contract(id, when=after_act(EVENT), then=then, tell=tell, authority=by)


def reference_of(contract: Contract) -> str:
    """What a message is cited by, as `[source@version]` at its beginning says."""
    return (contract.tell.template or "").partition("]")[0].removeprefix("[")
