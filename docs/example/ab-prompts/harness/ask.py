"""A script of one's own: reads one slot from standard input, asks the model, writes one record to standard output.

It calls nothing outside: the model is `toy_model`, which is as good as the prompt that it is given.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    from toy_model import MODEL, complete

    slot = json.load(sys.stdin)
    questions = [json.loads(line) for line in (HERE / "questions.jsonl").read_text().splitlines()]
    asked = questions[slot["slot"]["seed"]]
    system = (HERE / slot["options"]["prompt"]).read_text()
    reply, tokens_in, tokens_out = complete(system, asked["question"])
    record = {
        "transcript": [
            {"role": "system", "content": system},
            {"role": "user", "content": asked["question"]},
            {"role": "assistant", "content": reply},
        ],
        "measures": {"correct": int(reply.split()[-1] == asked["answer"])},
        "usage": {"calls": 1, "input_tokens": tokens_in, "output_tokens": tokens_out},
        "models": {"solver": MODEL},
        "ended": "final",
        "why": "",
    }
    json.dump(record, sys.stdout)


if __name__ == "__main__":
    main()
