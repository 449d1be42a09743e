"""The llama.cpp server of `local.serving`: the package's own, and it also does what `tool_choice: required` asks for.

llama-cpp-python's server takes no heed of it: a template without tools, as small models have, is given none, and its
format for calls of tools does not know the word, nor the request's bound on tokens. So where a call of a tool is
required, the tools are told in the system message, the reply is held by a grammar to one call of one of them, and comes
back as a call. Servers for large models do the same. Temperature and bound are the request's.

A bound of more than 1,000 letters on a text is left out of the grammar, also of one for a JSON reply: the server would
end over so many repetitions. Whether the bound is kept the world looks at anyway.

>>> tools = [{"type": "function", "function": {"name": "go", "description": "Go.", "parameters": {"type": "object"}}}]
>>> one_call(tools)["anyOf"][0]["properties"]
{'name': {'const': 'go'}, 'arguments': {'type': 'object'}}
>>> reply = {"choices": [{"message": {"content": '{"name": "go", "arguments": {}}'}, "finish_reason": "stop"}]}
>>> as_call(reply)["choices"][0]["message"]["tool_calls"][0]["function"]
{'name': 'go', 'arguments': '{}'}
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

Object: TypeAlias = Mapping[str, Any]

TOLD: Final = '\n\nCall one of these tools: reply with {"name": its name, "arguments": its arguments} alone.\n'

LONGEST: Final = 1000  # letters of a text that a grammar bounds


def one_call(tools: Sequence[Object]) -> Object:
    """The JSON Schema of one call of one of `tools`."""
    return {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "name": {"const": tool["function"]["name"]},
                    "arguments": tool["function"]["parameters"],
                },
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
            for tool in tools
        ]
    }


def bearable(schema: Any) -> Any:
    """The schema without the bounds that are too long for a grammar."""
    if isinstance(schema, list):
        return [bearable(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: bearable(part) for key, part in schema.items() if not (key == "maxLength" and _is_long(part))}


def _is_long(bound: Any) -> bool:
    return isinstance(bound, int) and bound > LONGEST


def told(messages: Sequence[Object], tools: Sequence[Object]) -> list[Object]:
    """The messages, with the tools told at the end of the system message, which stands first."""
    told = TOLD + "".join(f"{json.dumps(tool['function'])}\n" for tool in tools)
    first, *others = messages
    if first["role"] != "system":
        return [{"role": "system", "content": told.strip()}, *messages]
    return [{**first, "content": first["content"] + told}, *others]


def as_call(reply: Object) -> Object:
    """The chat completion with its text as a call of a tool; as it is, where the bound cut it off."""
    (choice,) = reply["choices"]
    if choice["finish_reason"] != "stop":
        return reply
    called = json.loads(choice["message"]["content"])
    function = {"name": called["name"], "arguments": json.dumps(called["arguments"])}
    call = {"id": f"call_{function['name']}", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {**reply, "choices": [{**choice, "message": message, "finish_reason": "tool_calls"}]}


def main() -> None:
    """Serve as `python -m llama_cpp.server` does, with the same options."""
    llama: Any = importlib.import_module("llama_cpp").Llama
    plain = llama.create_chat_completion

    def answer(self: Any, messages: Sequence[Object], **asked: Any) -> Any:
        tools, form = asked.get("tools"), asked.get("response_format")
        if tools and asked.get("tool_choice") == "required":
            held = {"type": "json_object", "schema": bearable(one_call(tools))}
            rest = {key: value for key, value in asked.items() if key not in ("tools", "tool_choice")}
            return as_call(plain(self, messages=told(messages, tools), **{**rest, "response_format": held}))
        return plain(self, messages=messages, **{**asked, "response_format": bearable(form)})

    llama.create_chat_completion = answer
    importlib.import_module("llama_cpp.server.__main__").main()


if __name__ == "__main__":
    main()
