"""Rows 5 to 10: what the agent is told, and who it is said to come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace as changed

from sealkit.wire.digest import digest_bytes
from sealkit.wire.episode import Action, Fact, Notice, NotReached, Receipt, Segment, Shown, Text
from sealkit.world.occurred import Occurrence, Restored
from sealkit.world.sdk import Reading, Told, text
from sealkit.world.witness import Recorder
from tests.lies.stage import Evidence, World, lie, stage


def returns(edit: Callable[[int, tuple[Segment, ...]], Sequence[Segment]]) -> type[Recorder]:
    """A recorder whose returns are edited before they are shown and recorded."""

    class Editor(Recorder):
        def _return(self, k: int, told: Sequence[Told]) -> tuple[Segment, ...]:
            return tuple(edit(k, super()._return(k, told)))

    return Editor


def notices(edit: Callable[[Notice], Notice | None], *, receipt: bool = True) -> type[Recorder]:
    """A recorder whose notices are edited, the receipt in keeping with what was shown."""

    class Forger(Recorder):
        def _tell(self, k: int, occurrence: Occurrence) -> Notice:
            notice = edit(super()._tell(k, occurrence))
            assert notice is not None
            if receipt:
                occurrence.shown = Shown(
                    channel=notice.channel, sender=notice.sender, authority=notice.rung, act=k,
                    digest=digest_bytes(notice.text.encode()),
                )  # fmt: skip
            return notice

    return Forger


def dropped(id: str) -> Callable[[int, tuple[Segment, ...]], Sequence[Segment]]:
    """Drops the notices of a contract."""
    return lambda k, segments: [item for item in segments if not (isinstance(item, Notice) and item.contract == id)]


# --- row 5: change made, not told ------------------------------------------------------------------


@lie(5, "witness", "disclosure")
def notice_never_shown() -> Evidence:
    """The receipt says that it was."""
    return stage(recorder=returns(dropped("rain")))


@lie(5, "witness", "disclosure")
def notice_some_acts_later_never_shown() -> Evidence:
    return stage(recorder=returns(dropped("lock")))


@lie(5, "witness", "disclosure")
def letter_never_shown() -> Evidence:
    """The inbox is opened, and the letter is not in it."""
    return stage(recorder=returns(dropped("valve")))


@lie(5, "witness", "disclosure")
def notice_never_shown_and_the_receipt_admits_it() -> Evidence:
    class Frank(returns(dropped("rain"))):  # type: ignore[misc]
        def _receipts(self):  # type: ignore[no-untyped-def]
            for item in self.happened:
                if isinstance(item, Occurrence) and item.contract.id == "rain":
                    item.shown = None
            return super()._receipts()

    return stage(recorder=Frank)


@lie(5, "witness", "disclosure")
def notice_of_a_reading_never_shown() -> Evidence:
    """The reading that discloses the rumour is shown; the notice behind it is not."""
    return stage(recorder=returns(dropped("rumour")))


@lie(5, "witness", "disclosure")
def declared_false_reading_withheld() -> Evidence:
    """Haze is declared to falsify the next reading; the agent is shown the truth."""

    class Clear(Recorder):
        def _read(self, k: int, item: Reading, disclosed: list[Occurrence]) -> Fact:
            fact = super()._read(k, item, disclosed)
            if item.pointer != "/sky/now":
                return fact
            value = self._value(item.pointer)
            return Fact(pointer=item.pointer, value=value, text=item.template.replace("{value}", str(value)))

    return stage(recorder=Clear)


@lie(5, "witness", "disclosure")
def reading_that_discloses_is_denied() -> Evidence:
    """The leak was read off the tank; the receipt says that this was not reached."""

    class Denier(Recorder):
        def _receipt(self, item: Occurrence | Restored, previous: str | None):  # type: ignore[no-untyped-def]
            made = super()._receipt(item, previous)
            if isinstance(made, Receipt) and made.contract.id == "haze":
                return changed(made, projection=NotReached())
            return made

    return stage(recorder=Denier)


@lie(5, "replay", "disclosure")
def reading_withheld_for_empty_words() -> Evidence:
    """A look that says nothing: in the data there is no reading that could be due."""

    class Silent(World):
        def act(self, action: Action) -> Sequence[Told]:
            told = super().act(action)
            return (text("It is misty."),) if self.now == 4 else told

    return stage(Silent, family="calm")


# --- rows 6 and 7: told, not so --------------------------------------------------------------------


def phantom(id: str) -> Callable[[int, tuple[Segment, ...]], Sequence[Segment]]:
    """Shows a notice of a contract at act 3."""
    made = Notice(contract=id, channel="radio", sender="station", rung="A5", text="Evacuate.")
    return lambda k, segments: (*segments, made) if k == 3 else segments


@lie(6, "witness", "disclosure")
def notice_that_no_contract_declares() -> Evidence:
    return stage(recorder=returns(phantom("alarm")))


@lie(6, "witness", "disclosure")
def notice_of_a_contract_not_applied() -> Evidence:
    return stage(recorder=returns(phantom("dusk")))


@lie(6, "witness", "disclosure")
def notice_of_a_contract_that_is_never_told() -> Evidence:
    return stage(recorder=returns(phantom("seedling")))


@lie(7, "replay", "disclosure")
def notice_hidden_in_free_text() -> Evidence:
    class Whisperer(World):
        def act(self, action: Action) -> Sequence[Told]:
            told = tuple(super().act(action))
            return (*told, text("A voice: the valve is shut.")) if self.now == 2 else told

    return stage(Whisperer)


@lie(7, "replay", "disclosure")
def fact_hidden_in_free_text() -> Evidence:
    """The words of a reading, false, without the reading."""
    instead = Text(text="The sky: on fire.")
    return stage(recorder=returns(lambda k, segments: [instead] if k == 4 else segments), family="calm")


# --- row 8: notices altered ------------------------------------------------------------------------


@lie(8, "witness", "disclosure")
def notice_altered() -> Evidence:
    return stage(recorder=notices(lambda notice: changed(notice, text=notice.text.replace("rain", "sun"))))


@lie(8, "witness", "disclosure")
def notice_cut() -> Evidence:
    return stage(recorder=notices(lambda notice: changed(notice, text=notice.text[:9])))


@lie(8, "witness", "disclosure")
def notice_altered_and_the_receipt_does_not_know() -> Evidence:
    return stage(recorder=notices(lambda notice: changed(notice, text="All is well."), receipt=False))


@lie(8, "witness", "disclosure")
def notice_doubled() -> Evidence:
    def double(k: int, segments: tuple[Segment, ...]) -> Sequence[Segment]:
        return [copy for item in segments for copy in ([item, item] if isinstance(item, Notice) else [item])]

    return stage(recorder=returns(double))


@lie(8, "witness", "disclosure")
def notice_stale() -> Evidence:
    """The radio quotes a level that the tank no longer has."""

    class Stale(Recorder):
        def _tell(self, k: int, occurrence: Occurrence) -> Notice:
            if "level" in occurrence.values:
                occurrence.values = {"level": 5}
            return super()._tell(k, occurrence)

    return stage(recorder=Stale)


@lie(8, "witness", "disclosure")
def notice_an_act_late() -> Evidence:
    class Slow(Recorder):
        def _falls_due(self, k: int, occurrence: Occurrence) -> bool:
            return super()._falls_due(k - 1, occurrence)

    return stage(recorder=Slow)


@lie(8, "witness", "disclosure")
def notices_in_another_order() -> Evidence:
    """Gauge and visit are told in one return; the later goes first."""

    def swap(k: int, segments: tuple[Segment, ...]) -> Sequence[Segment]:
        tail = [item for item in segments if isinstance(item, Notice)]
        return [*(item for item in segments if not isinstance(item, Notice)), *tail[::-1]]

    return stage(recorder=returns(swap))


@lie(8, "witness", "disclosure")
def letter_shown_without_opening_the_inbox() -> Evidence:
    class Pushy(Recorder):
        def _falls_due(self, k: int, occurrence: Occurrence) -> bool:
            return occurrence.contract.id == "valve" or super()._falls_due(k, occurrence)

    return stage(recorder=Pushy)


# --- row 9: false facts ----------------------------------------------------------------------------


def facts(edit: Callable[[Fact], Fact]) -> type[Recorder]:
    """A recorder that falsifies readings, receipts in keeping with them."""

    class Falsifier(Recorder):
        def _read(self, k: int, item: Reading, disclosed: list[Occurrence]) -> Fact:
            return edit(super()._read(k, item, disclosed))

    return Falsifier


@lie(9, "witness", "disclosure")
def fact_that_is_not_so() -> Evidence:
    def shut(fact: Fact) -> Fact:
        return changed(fact, value="shut", text="The door is shut.") if fact.pointer == "/shed/door" else fact

    return stage(recorder=facts(shut))


@lie(9, "witness", "disclosure")
def fact_that_is_not_so_while_contracts_count_the_truth() -> Evidence:
    """The door is shown shut once; the rumour, due by two readings of an open door, comes as if it was not."""

    def shut(k: int, segments: tuple[Segment, ...]) -> Sequence[Segment]:
        return [Fact(pointer="/shed/door", value="shut", text="The door is shut.")] if k == 1 else segments

    return stage(recorder=returns(shut))


@lie(9, "witness", "disclosure")
def fact_of_another_type() -> Evidence:
    """A whole number shown as yes or no: Python holds 1 and true equal."""

    def yes(fact: Fact) -> Fact:
        return changed(fact, value=True, text="true") if fact.value == 1 else fact

    return stage(recorder=facts(yes))


@lie(9, "witness", "disclosure")
def fact_whose_words_say_otherwise() -> Evidence:
    def worded(fact: Fact) -> Fact:
        return changed(fact, text="The door is shut.") if fact.pointer == "/shed/door" else fact

    return stage(recorder=facts(worded))


@lie(9, "witness", "disclosure")
def fact_about_nothing() -> Evidence:
    def elsewhere(fact: Fact) -> Fact:
        return changed(fact, pointer="/shed/window") if fact.pointer == "/shed/door" else fact

    return stage(recorder=facts(elsewhere))


@lie(9, "witness", "disclosure")
def declared_false_reading_shown_again() -> Evidence:
    """Haze falsifies the next reading of the sky, and here the one after it too."""

    class Hazy(Recorder):
        hazed = False

        def _read(self, k: int, item: Reading, disclosed: list[Occurrence]) -> Fact:
            if k == 11 and item.pointer == "/sky/now":
                return Fact(pointer="/sky/now", value="clear", text="The sky: clear.")
            return super()._read(k, item, disclosed)

    return stage(recorder=Hazy)


# --- row 10: authority -----------------------------------------------------------------------------


@lie(10, "witness", "authority")
def sender_relabelled() -> Evidence:
    return stage(recorder=notices(lambda notice: changed(notice, sender="government")))


@lie(10, "witness", "authority")
def rung_relabelled() -> Evidence:
    """The neighbour's rumour reads as binding."""
    return stage(recorder=notices(lambda notice: changed(notice, rung="A5")))


@lie(10, "witness", "authority")
def channel_relabelled() -> Evidence:
    return stage(recorder=notices(lambda notice: changed(notice, channel="official journal")))


@lie(10, "witness", "authority")
def sender_relabelled_before_the_agent_only() -> Evidence:
    """The receipt keeps the sender that was declared."""
    return stage(recorder=notices(lambda notice: changed(notice, sender="government"), receipt=False))


@lie(10, "witness", "authority")
def rung_relabelled_in_the_receipt_only() -> Evidence:
    class Bold(Recorder):
        def _receipt(self, item: Occurrence | Restored, previous: str | None):  # type: ignore[no-untyped-def]
            made = super()._receipt(item, previous)
            if isinstance(made, Receipt) and isinstance(made.projection, Shown):
                return changed(made, projection=changed(made.projection, authority="A5"))
            return made

    return stage(recorder=Bold)
