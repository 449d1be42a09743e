"""The contract that every world and every verifier must keep, a user's own too.

findings = examine_world(study, "house")        # one Finding for each clause, passed or not
findings = examine_verifier(study, "witness")
"""

from sealkit.verify.conformance.finding import Finding as Finding
from sealkit.verify.conformance.of_verifier import examine_verifier as examine_verifier
from sealkit.verify.conformance.of_world import examine_world as examine_world
