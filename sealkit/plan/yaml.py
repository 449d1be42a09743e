"""Strict YAML 1.2: one document in which every scalar means one thing to every reader.

>>> document = read_yaml(b"sample: {seed: 0..9, cap: 0.05, note: 'off'}", "plan.yaml")
>>> document.value
{'sample': {'seed': Range(low=0, high=9), 'cap': Decimal('0.05'), 'note': 'off'}}
>>> document.positions.where(("sample", "cap"))
'plan.yaml:1:27 $.sample.cap'
>>> read_yaml(b"a: ~", "plan.yaml")
Traceback (most recent call last):
    ...
sealkit.wire.errors.UsageError: plan.yaml:1:4 $.a: ~ stands for nothing; write null, or "" for empty text

Quoted and block scalars are text. A plain scalar is a whole number, a decimal (read digit by digit, never as a
float), a range `0..9`, `true`, `false`, `null`, or else text.

Refused: anchors, aliases, tags, directives, merge keys, a second document; tabs, byte order marks, control and
bidirectional characters; text that is not NFC; duplicate keys and keys that are not text; scalars that readers of
YAML 1.1 and 1.2 take for different things (`no`, `~`, `010`, `1_000`, `1e3`, `.5`, `0x10`, `.inf`, `12:30:00`,
an empty value); times without a zone; files over 1 MiB, 20,000 values or 64 levels, lines over 65,536 characters.
"""

from __future__ import annotations

import io
import unicodedata
from typing import Final, TypeAlias

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import Reader

from sealkit.plan.problems import MOST, Flaw, KeyPath, Position, Positions, cut, text_error
from sealkit.plan.scalars import Ambiguous, Range, Value, plain_value, unseen_character

MAX_BYTES: Final = 1024 * 1024
MAX_DEPTH: Final = 64
MAX_VALUES: Final = 20_000
MAX_LINE: Final = 65_536  # characters; the scanner's time grows with the square of a long tag

Tree: TypeAlias = "Value | tuple[Tree, ...] | dict[str, Tree]"
__all__ = ["Document", "Range", "Tree", "read_yaml"]


class Document(msgspec.Struct, frozen=True):
    """A file's content as plain values, and where each of them stands."""

    value: Tree
    positions: Positions


def read_yaml(data: bytes, name: str) -> Document:
    """The one document in `data`; `UsageError` lists everything in it that is refused, with positions."""
    builder = _Builder(name)
    text = _text(data, builder)
    try:
        for event in _parser().parse(io.StringIO(text, newline="")):
            builder.take(event)
    except MarkedYAMLError as error:
        builder.refuse(_marked(error), _words(error), "see the YAML around this place")
        builder.stop()
    except (YAMLError, ValueError, OverflowError) as error:  # ruamel lets chr() fail on \UFFFFFFFF
        builder.refuse(builder.last, f"not YAML ({error})".replace("\n", " "), "see the YAML around this place")
        builder.stop()
    return builder.document()


class _Yaml(YAML):
    """A reader of YAML that looks for no plug-ins: what is installed beside it decides nothing."""

    def official_plug_ins(self) -> list[str]:
        return []


class _Reader(Reader):
    """Does not search again for what `unseen_character` refuses: that pattern is slow to make."""

    def check_printable(self, data: object) -> None:
        pass


def _parser() -> YAML:
    yaml = _Yaml(typ="safe", pure=True)
    yaml.Reader = _Reader
    return yaml


def _text(data: bytes, builder: _Builder) -> str:
    if len(data) > MAX_BYTES:
        builder.refuse((1, 1), f"a plan of {len(data)} bytes, due at most {MAX_BYTES}", "move data out of the plan")
        builder.stop()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        position = _position(data[: error.start].decode(), error.start)
        builder.refuse(position, f"byte 0x{data[error.start]:02x} is not UTF-8", "save the file as UTF-8")
        builder.stop()
    for index, what, remedy in unseen_character(text):
        builder.refuse(_position(text, index), what, remedy)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_LINE:
            builder.refuse((number, 1), f"a line of {len(line)} characters, due at most {MAX_LINE}", "break it up")
    if builder.flaws:
        builder.stop()
    return text


def _position(text: str, index: int) -> Position:
    before = text[:index]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _marked(error: MarkedYAMLError) -> Position:
    # What is not closed is missed only where something else begins: it is where it was opened.
    unclosed = error.problem in ("could not find expected ':'", "found unexpected end of stream")
    mark = (unclosed and error.context_mark) or error.problem_mark or error.context_mark
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def _words(error: MarkedYAMLError) -> str:
    return f"not YAML: {error.problem or error.context or 'it cannot be read'}".replace("\n", " ")


class _Open(msgspec.Struct):
    """A mapping or sequence whose end is not read yet."""

    path: KeyPath
    entries: dict[str, Tree] | list[Tree]
    key: str | None = None
    keys: dict[str, Position] = msgspec.field(default_factory=dict)
    skipped: int = 0


class _Builder:
    """Takes parser events one by one; a flaw is noted and reading goes on where it can."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.flaws: list[Flaw] = []
        self.values: dict[KeyPath, Position] = {}
        self.keys: dict[KeyPath, Position] = {}
        self.open: list[_Open] = []
        self.documents = 0
        self.root: Tree = None
        self.last: Position = (1, 1)

    def refuse(self, position: Position, what: str, remedy: str, path: KeyPath | None = None) -> None:
        self.flaws.append(Flaw(position, self.path() if path is None else path, what, remedy))
        if len(self.flaws) > MOST:
            self.stop()

    def stop(self) -> None:
        raise text_error(self.flaws, self.name)

    def document(self) -> Document:
        if not self.documents:
            self.refuse((1, 1), "an empty file", "start from `sealkit init`")
        if self.flaws:
            self.stop()
        return Document(self.root, Positions(self.name, self.values, self.keys))

    def path(self) -> KeyPath:
        """The path of the value that is due next."""
        if not self.open:
            return ()
        top = self.open[-1]
        if isinstance(top.entries, list):
            return (*top.path, len(top.entries))
        return top.path if top.key is None else (*top.path, top.key)

    def take(self, event: Event) -> None:
        mark = event.start_mark
        self.last = (mark.line + 1, mark.column + 1)
        match event:
            case DocumentStartEvent():
                self.start_document(event)
            case AliasEvent():
                self.refuse(self.last, f"an alias, *{cut(event.anchor)}", "write the value out where it is used")
                self.put(None)
            case ScalarEvent():
                self.plain_only(event)
                self.scalar(event)
            case MappingStartEvent() | SequenceStartEvent():
                self.plain_only(event)
                self.start(event)
            case MappingEndEvent() | SequenceEndEvent():
                self.end()

    def start_document(self, event: DocumentStartEvent) -> None:
        self.documents += 1
        if self.documents > 1:
            self.refuse(self.last, "a second document", "one plan a file: drop `---` and what follows", path=())
            self.stop()
        if event.version or event.tags:
            self.refuse(self.last, "a % directive", "drop it: plans are YAML 1.2", path=())

    def plain_only(self, event: ScalarEvent | CollectionStartEvent) -> None:
        if event.anchor is not None:
            self.refuse(self.last, f"an anchor, &{cut(event.anchor)}", "write the value out where it is used")
        if event.tag is not None:
            self.refuse(self.last, f"a tag, {cut(str(event.tag))}", "drop it: quote what is text, leave the rest plain")

    def start(self, event: CollectionStartEvent) -> None:
        path = self.path()
        if self.wants_key():
            self.refuse(self.last, "a key that is no plain text", "write keys as names")
            self.stop()
        if len(self.open) >= MAX_DEPTH:
            self.refuse(self.last, f"nested deeper than {MAX_DEPTH}", "flatten it")
            self.stop()
        self.note(path)
        self.open.append(_Open(path, {} if isinstance(event, MappingStartEvent) else []))

    def end(self) -> None:
        closed = self.open.pop()
        self.put(tuple(closed.entries) if isinstance(closed.entries, list) else closed.entries)

    def wants_key(self) -> bool:
        return bool(self.open) and isinstance(self.open[-1].entries, dict) and self.open[-1].key is None

    def note(self, path: KeyPath) -> None:
        self.values.setdefault(path, self.last)
        if len(self.values) > MAX_VALUES:
            self.refuse(self.last, f"more than {MAX_VALUES} values", "move data out of the plan")
            self.stop()

    def scalar(self, event: ScalarEvent) -> None:
        value = self.read(event)
        if not self.wants_key():
            self.note(self.path())
            self.put(value)
        else:
            self.start_entry(self.open[-1], value, event)

    def read(self, event: ScalarEvent) -> Value:
        text: str = event.value
        for _, what, remedy in unseen_character(text):
            self.refuse(self.last, what, remedy)
        if not unicodedata.is_normalized("NFC", text):
            self.refuse(self.last, f"{cut(text)!a} is not in Unicode form NFC{self.twin(text)}", "save it as NFC")
        if event.style:
            return text
        if not text and self.open and not self.wants_key():  # nothing stands there: point at the key
            self.last = self.keys.get(self.path(), self.last)
        try:
            return plain_value(text)
        except Ambiguous as error:
            self.refuse(self.last, error.what, error.remedy)
            return text

    def twin(self, text: str) -> str:
        """Names the label beside `text` to which it is equal after NFC."""
        normal = unicodedata.normalize("NFC", text)
        siblings = self.open[-1].entries if self.open else ()
        return ", and equals a label beside it after NFC" if normal in siblings else ""

    def start_entry(self, top: _Open, key: Value, event: ScalarEvent) -> None:
        if key == "<<" and not event.style:
            self.refuse(self.last, "a merge key, <<", "write the entries out")
        elif not isinstance(key, str):
            self.refuse(self.last, f"the key {cut(event.value)} reads as no text", f'write "{cut(event.value)}"')
        text = key if isinstance(key, str) else str(event.value)
        if text in top.keys:
            line, column = top.keys[text]
            self.refuse(self.last, f"the key {cut(text)} stands twice, first at {line}:{column}", "keep one")
            top.skipped += 1
            text = f"{text} ({top.skipped} more)"  # read on under a name of its own; the flaw is noted
        top.keys[text] = self.last
        top.key = text
        self.keys[(*top.path, text)] = self.last

    def put(self, value: Tree) -> None:
        if not self.open:
            self.root = value
            return
        top = self.open[-1]
        if isinstance(top.entries, list):
            top.entries.append(value)
        elif top.key is None:  # an alias as a key, noted above
            top.key = "*"
        else:
            top.entries[top.key] = value
            top.key = None
