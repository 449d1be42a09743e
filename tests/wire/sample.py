"""One small episode, put together by hand: a record of every published kind, each fitting the others.

A toy house of three components. Act 1 picks up the key, at which the contract `lock` locks the door and says so
one act later. Act 2 meets the notice, a fee grows by a rule, and a restore brings the state after act 0 back.
Act 3 ends it. `tests/vectors/v1` holds the canonical lines of these records; `python -m tests.wire.sample` writes
them, into a folder that holds none yet.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sealkit.wire.calls import Call
from sealkit.wire.canon import decode_record, digest_record, encode_record
from sealkit.wire.chain import Entry, extend
from sealkit.wire.declared import (
    ActSight,
    ActsLater,
    After,
    AfterAct,
    Authority,
    Contract,
    CountSight,
    Distort,
    Inbox,
    Never,
    On,
    Restore,
    Scenario,
    Snapshot,
    StateSight,
    Tell,
    ThisReturn,
    WhenShown,
)
from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import (
    Act,
    Action,
    Boundary,
    Closing,
    Component,
    ContractRef,
    Counts,
    Delta,
    Episode,
    Fact,
    Generation,
    Head,
    InboxOpened,
    Judged,
    NeverShown,
    Notice,
    NotReached,
    Receipt,
    RestoreReceipt,
    Root,
    Roots,
    Segment,
    Shown,
    Start,
    Text,
    Trusted,
)
from sealkit.wire.events import EpisodeKept, Sealed
from sealkit.wire.journal_head import EMPTY, JournalHead
from sealkit.wire.patch import apply
from sealkit.wire.recorded import (
    Answer,
    AssignedModel,
    Assignment,
    BinaryForm,
    FromCommand,
    Recorded,
    ScoreForm,
    Usage,
    record_answer,
)
from sealkit.wire.records import Add, Json, Patch, Record, Remove, Replace

VECTORS = Path(__file__).parent.parent / "vectors" / "v1"

PIN = digest_bytes(b"a seal")
JUDGE = digest_bytes(b"a judge")
SLOT: dict[str, int | str] = {"arm": "naive", "family": "storm", "seed": 7}
HOUSE = Authority(source="house", rung="A1", scope="doors", binding=True)
NOTE = "Note \u2192 the door is locked.\n\tSigned: \u201cthe house\u201d \U0001f511"

LOCK = Contract(
    id="lock",
    times=1,
    sees={"held": StateSight(pointer="/items/k1/held"), "name": ActSight(pointer="/name")},
    when=On(rule="held && name == 'pick'"),
    then=(Replace(path="/doors/d0", value="locked"), Add(path="/doors/log/-", value=[True, None, -1])),
    tell=Tell(channel="letter", sender="house", template=NOTE, due=ActsLater(acts=1), distort=None),
    authority=HOUSE,
)
FEE = Contract(
    id="fee",
    times=1,
    sees={"cost": StateSight(pointer="/fees/entry"), "seen": CountSight(pointer="/doors/d0", equals="open")},
    when=After(contract="lock", acts=1),
    then=(Replace(path="/fees/entry", value={"cel": "115 * cost / 100 + seen"}), Remove(path="/fees/waived")),
    tell=Tell(channel="none", sender="none", template=None, due=Never(), distort=None),
    authority=Authority(source="registry", rung="A3", scope="fees", binding=False),
)
FALSE_READING = Contract(
    id="glare",
    times=1,
    sees={},
    when=AfterAct(act=9),
    then=(),
    tell=Tell(
        channel="observation",
        sender="world",
        template=None,
        due=WhenShown(pointer="/doors/d0", rule="true"),
        distort=Distort(pointer="/doors/d0", reading="shut"),
    ),
    authority=HOUSE,
)
LETTER = Contract(
    id="letter",
    times=1,
    sees={},
    when=AfterAct(act=3),
    then=(),
    tell=Tell(channel="inbox", sender="house", template="Farewell.", due=Inbox(), distort=None),
    authority=HOUSE,
)
BELL = Contract(
    id="bell",
    times=1,
    sees={},
    when=AfterAct(act=0),
    then=(),
    tell=Tell(channel="bell", sender="house", template="A bell rings.", due=ThisReturn(), distort=None),
    authority=HOUSE,
)
GENESIS: dict[str, Json] = {
    "doors": {"d0": "open", "log": []},
    "fees": {"entry": 1000, "waived": False},
    "items": {"k1": {"held": False}},
}
SCENARIO = Scenario(
    world="toy",
    family="storm",
    seed=7,
    params={"noise": {"level": "0.25", "on": [True, False, None]}},
    genesis=GENESIS,
    briefing='Bring the key "k1" home \\ and tell no one.',
    contracts=(LOCK, FEE, FALSE_READING, LETTER, BELL),
    snapshots=(Snapshot(id="dawn", when=AfterAct(act=0)),),
    restores=(Restore(id="again", snapshot="dawn", when=After(contract="lock", acts=1)),),
    footprints={"pick": ("/items/*/held",), "read": (), "leave": ()},
    finals=("leave",),
    max_acts=9,
)


def root_of(state: Json) -> Root:
    assert isinstance(state, dict)
    return Root(components={name: digest_record(Component(name=name, value=value)) for name, value in state.items()})


def act(n: int, action: Action, prev: str, *deltas: Delta, delta: Patch, root: str, said: tuple[Segment, ...]) -> Act:
    head = digest_record(Head(n=n, action=action, delta=delta, prev=prev))
    return Act(
        n=n, action=action, delta=delta, head=head, deltas=deltas, root=root, segments=said, calls=(), memory={},
        prev=prev,
    )  # fmt: skip


PICK: Patch = (Replace(path="/items/k1/held", value=True),)
LOCKED: Patch = (Replace(path="/doors/d0", value="locked"), Add(path="/doors/log/0", value=[True, None, -1]))
DEARER: Patch = (Replace(path="/fees/entry", value=1151), Remove(path="/fees/waived"))
BACK: Patch = (
    *(Replace(path="/doors/d0", value="open"), Remove(path="/doors/log/0"), Replace(path="/fees/entry", value=1000)),
    *(Add(path="/fees/waived", value=False), Replace(path="/items/k1/held", value=False)),
)
picked = apply(GENESIS, PICK)
locked = apply(picked, LOCKED)
dearer = apply(locked, DEARER)
assert apply(dearer, BACK) == GENESIS

ROOT = root_of(GENESIS)
START = Start(pin=PIN, slot=SLOT, scenario=digest_bytes(encode_record(SCENARIO)), genesis=digest_record(ROOT))
ACT_0 = act(
    0,
    Action(name="begin", args={}),
    digest_record(START),
    Delta(cause="contract:bell", ops=()),
    delta=(),
    root=START.genesis,
    said=(
        Fact(pointer="/doors/d0", value="open", text="The door is open."),
        Notice(contract="bell", channel="bell", sender="house", rung="A1", text="A bell rings."),
    ),
)
ACT_1 = act(
    1,
    Action(name="pick", args={"item": "k1", "how": {"hands": 2, "care": "\u00e9lan"}}),
    digest_record(ACT_0),
    Delta(cause="contract:lock", ops=LOCKED),
    delta=PICK,
    root=digest_record(root_of(locked)),
    said=(Text(text="You pick up the key."), Fact(pointer="/items/k1/held", value=True, text="Key held: true.")),
)
ACT_2 = act(
    2,
    Action(name="read", args={}),
    digest_record(ACT_1),
    Delta(cause="contract:fee", ops=DEARER),
    Delta(cause="restore:again", ops=BACK),
    delta=(),
    root=START.genesis,
    said=(InboxOpened(), Notice(contract="lock", channel="letter", sender="house", rung="A1", text=NOTE)),
)
ACT_3 = act(
    3,
    Action(name="leave", args={}),
    digest_record(ACT_2),
    Delta(cause="contract:letter", ops=()),
    delta=(),
    root=START.genesis,
    said=(),
)


def receipt(
    contract: Contract,
    at: Act,
    states: tuple[Json, Json],
    moved: tuple[str, ...],
    projection: Shown | NotReached | NeverShown,
    generation: Generation,
    previous: Record | None,
) -> Receipt:
    before, after = states
    return Receipt(
        episode=digest_record(START),
        contract=ContractRef(id=contract.id, digest=digest_record(contract), occurrence=1),
        boundary=Boundary(due=at.n, applied=at.n, head=at.head),
        roots=Roots(before=digest_record(root_of(before)), after=digest_record(root_of(after)), moved=moved),
        projection=projection,
        restore=generation,
        previous=None if previous is None else digest_record(previous),
    )


def shown(text: str, channel: str, at: int) -> Shown:
    return Shown(channel=channel, sender="house", authority="A1", act=at, digest=digest_bytes(text.encode()))


FIRST = Generation(generation=0, snapshot=None)
SECOND = Generation(generation=1, snapshot="dawn")
RECEIPT_0 = receipt(BELL, ACT_0, (GENESIS, GENESIS), (), shown("A bell rings.", "bell", 0), FIRST, None)
RECEIPT_1 = receipt(LOCK, ACT_1, (picked, locked), ("doors",), shown(NOTE, "letter", 2), FIRST, RECEIPT_0)
RECEIPT_2 = receipt(FEE, ACT_2, (locked, dearer), ("fees",), NeverShown(), FIRST, RECEIPT_1)
RESTORED = RestoreReceipt(
    episode=digest_record(START),
    id="again",
    boundary=Boundary(due=2, applied=2, head=ACT_2.head),
    roots=Roots(before=digest_record(root_of(dearer)), after=START.genesis, moved=("doors", "fees", "items")),
    restore=SECOND,
    previous=digest_record(RECEIPT_2),
)
RECEIPT_3 = receipt(LETTER, ACT_3, (GENESIS, GENESIS), (), NotReached(), SECOND, RESTORED)
JUDGED = Judged(scenario=START.scenario, trace=digest_record(ACT_3), root=ACT_3.root)


def episode(record: str) -> Episode:
    return Episode(
        pin=PIN,
        slot=SLOT,
        scenario=START.scenario,
        genesis=START.genesis,
        acts=(ACT_0, ACT_1, ACT_2, ACT_3),
        receipts=(RECEIPT_0, RECEIPT_1, RECEIPT_2, RESTORED, RECEIPT_3),
        closing=Closing(
            root=ACT_3.root,
            judge=JUDGE,
            judged=digest_record(JUDGED),
            ended="final",
            why="",
            counts=Counts(acts=3, occurrences=4, restores=1, notices=2),
            record=record,
        ),
    )


EPISODE = episode(digest_bytes(encode_record(episode("")).replace(b'"record":"",', b"")))


def journal() -> tuple[Entry, JournalHead]:
    """The second entry of a journal, and the head after it."""
    _, head = extend(EMPTY, Sealed(plan="toy", pin=PIN), "2026-03-01T09:00:00Z")
    line = encode_record(EPISODE)
    kept = EpisodeKept(
        stage="confirmatory", pin=PIN, slot=SLOT, attempt=1, digest=digest_bytes(line), bytes=len(line), calls=None
    )
    entry = Entry(seq=1, prev=head.digest, time="2026-03-01T09:00:07Z", event=kept)
    return entry, extend(head, kept, entry.time)[1]


ENTRY, JOURNAL_HEAD = journal()

ASSIGNMENT = Assignment(
    plan="toy",
    slot=SLOT,
    options={"prompt": "prompts/short.txt"},
    models={"solver": AssignedModel(id="toy-1", temperature="0.5", max_output_tokens=40, reasoning="off")},
    measures={"correct": (BinaryForm(unit=None),), "share": (ScoreForm(unit="part", low="0", high="1", step="0.5"),)},
    endings={"final": "judged", "refusal": "failure", "provider_error": "missing"},
)
ANSWER = Answer(
    transcript=({"role": "user", "content": NOTE}, {"role": "assistant", "content": "42", "tries": [1, None]}),
    measures={"correct": 1, "share": {"first": "0.5", "last": None}},
    usage=Usage(calls=2, input_tokens=17, output_tokens=None),
    models={"solver": "toy-1"},
    ended="final",
    why="",
)
RECORDED = decode_record(
    record_answer(
        Trusted(pin=PIN, judge="", slot=SLOT, scenario=encode_record(ASSIGNMENT)),
        ANSWER,
        FromCommand(answer=digest_bytes(b"an answer")),
    ),
    Recorded,
)
# One request for a reply to the agent of another episode: this one is of a scripted agent, and asked nobody.
CALL = Call(
    pin=PIN,
    stage="confirmatory",
    slot={"arm": "C", "family": "noise", "seed": 3},
    attempt=1,
    n=2,
    purpose="act",
    role="agent",
    http_try=3,
    request=digest_bytes(b'{"messages":[],"model":"m"}'),
    response=digest_bytes(b'{"choices":[],"model":"m"}'),
    status="empty_reply",
    model="m",
    fingerprint="fp_44",
    input_tokens=812,
    output_tokens=0,
    charged_tokens=812,
    cost_microusd=122,
    latency_ms=950,
    waited_ms=2000,
    why="it has no choice",
)

RECORDS: dict[str, Record] = {
    "act": ACT_1,
    "assignment": ASSIGNMENT,
    "call": CALL,
    "component": Component(name="doors", value=GENESIS["doors"]),
    "contract": LOCK,
    "entry": ENTRY,
    "episode": EPISODE,
    "head": Head(n=1, action=ACT_1.action, delta=PICK, prev=ACT_1.prev),
    "journal-head": JOURNAL_HEAD,
    "judged": JUDGED,
    "receipt": RECEIPT_1,
    "recorded": RECORDED,
    "restore-receipt": RESTORED,
    "root": ROOT,
    "scenario": SCENARIO,
    "start": START,
}


def write(folder: Path) -> None:
    """Freeze the records above; a folder that holds vectors already is left alone."""
    if any(folder.glob("*.jsonl")):
        sys.exit(f"{folder} holds vectors already, and vectors are never edited")
    digests = {}
    for kind, record in RECORDS.items():
        line = encode_record(record)
        (folder / f"{kind}.jsonl").write_bytes(line + b"\n")
        digests[kind] = digest_bytes(line)
    (folder / "index.json").write_text(json.dumps(digests, indent=2) + "\n")


if __name__ == "__main__":
    write(VECTORS)
