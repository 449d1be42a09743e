"""An attempt's replies from its recorded bodies: the same episode again, without a network.

    recorded = Recorded(spec, blobs.get, calls)
    line = answered(play(world, player, trusted, endings, reads_truth=False), recorded.answer)

Each question is encoded again and must have the digest of the request that was recorded at its place; each body is
read again and asserted against the plan. So a changed prompt, arm, model or setting is found at the first call that
it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sealkit.agents.models.reply import read_reply
from sealkit.agents.models.request import FORMS, encode_request, model_of
from sealkit.agents.turns import Ask, Reply
from sealkit.plan.schema import Spec
from sealkit.wire.calls import CALL_STATUSES, Call
from sealkit.wire.digest import digest_bytes, short
from sealkit.wire.errors import UntrustedError


class Recorded:
    """Answers the questions of one attempt from `calls`, its lines in order; `bodies` gives the body of a digest."""

    def __init__(self, spec: Spec, bodies: Callable[[str], bytes], calls: Iterable[Call]) -> None:
        self._spec = spec
        self._bodies = bodies
        self._calls = tuple(calls)
        self._next = 0
        self._n = 0

    def answer(self, ask: Ask) -> Reply:
        """The recorded reply; `UntrustedError` if it was to another question, `WithheldError` if its body is gone."""
        self._n += 1
        call = self._answering()
        model = model_of(self._spec, ask.role, call.slot)
        asked = {digest_bytes(encode_request(ask, model, form)) for form in FORMS}
        if call.role != ask.role or call.request not in asked:
            what = f"found the request {short(call.request)} to {call.role}, and the episode asks {ask.role} another"
            raise UntrustedError(what, where=self._where, remedy="prompt, arm, model or settings differ")
        body = self._bodies(call.response or "")
        read = read_reply(body, model)
        if read.status != call.status:
            what = f"recorded as {call.status}, and its body reads {read.status}"
            raise UntrustedError(what, where=self._where)
        return Reply(text=read.text, status=read.status, call=call.response or "")  # type: ignore[arg-type]

    def finish(self) -> None:
        """Raise `UntrustedError` if calls are recorded that the episode did not ask for."""
        left = len(self._calls) - self._next
        if left:
            self._n += 1
            raise UntrustedError(f"{left} recorded requests that the episode does not make", where=self._where)

    @property
    def _where(self) -> str:
        return f"call {self._n}"

    def _answering(self) -> Call:
        """The line that answers call number `n`, after those of the requests that were made for it in vain."""
        for http_try, call in enumerate(self._calls[self._next :], start=1):
            if (call.n, call.http_try) != (self._n, http_try):
                what = f"found request {call.http_try} of call {call.n}, due request {http_try} of call {self._n}"
                raise UntrustedError(what, where=self._where)
            self._next += 1
            then = CALL_STATUSES[call.status]
            if then == "answer":
                return call
            if then != "again":
                break
        raise UntrustedError("no reply is recorded", where=self._where)
