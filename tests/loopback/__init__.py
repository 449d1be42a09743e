"""A model's endpoint on 127.0.0.1: a real HTTP server that plays a policy, keeps a log, and fails on demand.

    with Loopback(policy) as server:
        ...                                   # server.url is the base address, as for `--endpoint`
        server.requests                       # every request it got, in order of arrival

A policy is a function of the request's JSON and gives the text of the reply. The same request has the same reply,
byte for byte, so that what runs against it can be compared. `faults` names what goes wrong, by number of request from
1, or as a function of number and request (`tests.loopback.faults`).

    python -m tests.loopback MODULE:POLICY --log FILE      the same in a process of its own; prints its address
"""

from tests.loopback.faults import Answer, Fault
from tests.loopback.server import Loopback, Policy, Received

__all__ = ("Answer", "Fault", "Loopback", "Policy", "Received")
