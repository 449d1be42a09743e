"""A key goes to its own endpoint, in one header, and nowhere else."""

from __future__ import annotations

import json
import logging
import pickle
import ssl
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sealkit.agents.models.endpoint import Endpoint, Key, read_endpoints
from sealkit.agents.models.secrets import Watch
from sealkit.wire.canon import encode_record
from sealkit.wire.errors import HarnessError, UsageError
from tests.agents.models.bench import KEY, PATIENT, QUICK, Bench, policy, say
from tests.loopback import Fault, Loopback, faults

ROLES = ("agent", "diagnoser")


@pytest.mark.parametrize(
    "fault",
    [
        None, faults.unauthorised, faults.http_error(400, f"bad key {KEY}"), faults.echoes_key(KEY),
        faults.escapes_key(KEY), faults.reset, faults.redirect(f"http://127.0.0.1:9/?{KEY}"), faults.drip,
    ],
)  # fmt: skip
def test_no_trace_of_it_is_left(bench: Bench, fault: Fault | None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Loopback(policy, {} if fault is None else {1: fault, 2: fault, 3: fault}) as server:
        outcome, calls = bench.ask(server, patience=QUICK if fault is faults.drip else PATIENT)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    left = [repr(outcome), str(outcome), caplog.text, *(encode_record(call).decode() for call in calls)]
    left += [bench.blobs.get(f"sha256:{path.stem}").decode() for path in bench.folder.glob("blobs/*/*.gz")]
    assert left and not [text for text in left if KEY in text or KEY[3:] in text]
    chain = outcome if isinstance(outcome, Exception) else None
    while chain is not None:
        assert KEY not in repr(chain) + str(vars(chain))
        chain = chain.__cause__ or chain.__context__  # type: ignore[assignment]


def test_without_a_key_no_header_is_sent(bench: Bench) -> None:
    with Loopback(policy) as server:
        bench.ask(server, key="")
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("text", [KEY, "gsk_" + "A1b2" * 8])
def test_a_prompt_that_holds_one_is_not_sent(bench: Bench, text: str) -> None:
    with Loopback(policy) as server:
        error, calls = bench.ask(server, say(f"the word is {text}"))
    assert isinstance(error, HarnessError) and "looks like a key" in str(error)
    assert text not in str(error)
    assert (server.requests, calls) == ((), ()) and not (bench.folder / "blobs").exists()


def test_a_redirect_does_not_carry_it_on(bench: Bench) -> None:
    with Loopback(policy) as other, Loopback(policy, {1: faults.redirect(other.url + "/chat/completions")}) as server:
        bench.ask(server)
    assert len(server.requests) == 1 and other.requests == ()


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"])
def test_a_proxy_has_no_say_on_this_machine(bench: Bench, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback(policy) as proxy, Loopback(policy) as server:
        monkeypatch.setenv(variable, proxy.url.removesuffix("/v1"))
        bench.ask(server)
    assert len(server.requests) == 1 and proxy.connections == 0


def test_an_endpoint_that_is_not_who_it_says_gets_nothing(bench: Bench, tmp_path: Path) -> None:
    """A certificate that nobody vouches for."""
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "2")
    subprocess.run(
        [*made, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "key", "-out", tmp_path / "certificate"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    with Loopback(policy, tls=context) as server:
        _, calls = bench.ask(server)
    assert {call.status for call in calls} == {"no_connection"}
    assert "CERTIFICATE_VERIFY_FAILED" in calls[0].why and server.requests == ()


# --- endpoints -----------------------------------------------------------------------------------


def read(*texts: str, **environ: str) -> dict[str, Endpoint]:
    return dict(read_endpoints(texts, roles=ROLES, environ=environ))


def test_each_role_may_have_its_own() -> None:
    found = read(
        "https://a.example/v1/", "diagnoser=http://127.0.0.1:80/v1#effort", SEALKIT_API_KEY="for-all",
        SEALKIT_API_KEY_DIAGNOSER="its-own",
    )  # fmt: skip
    assert found["agent"].completions == "https://a.example/v1/chat/completions"
    assert (found["diagnoser"].url, found["diagnoser"].form) == ("http://127.0.0.1:80/v1", "effort")
    assert [found[role].key.header() for role in ROLES] == ["Bearer for-all", "Bearer its-own"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ((), "no endpoint serves the model role agent"),
        (("agent=https://a.example/v1",), "no endpoint serves the model role diagnoser"),
        (("judge=https://a.example/v1",), "no model role 'judge'"),
        (("https://a.example/v1", "https://b.example/v1"), "given twice for every role"),
        (("https://me:hunter22@a.example/v1",), "a name, password or query"),
        (("https://a.example/v1?key=hunter22",), "a name, password or query"),
        (("ftp://a.example/v1",), "found 'ftp://a.example/v1'"),
        (("a.example/v1",), "found 'a.example/v1'"),
        (("https://[::1/v1",), "cannot be read"),
        (("https://a.example:port/v1",), "cannot be read"),
        (("https://a.example/v1#gpt",), "no form of requests is called 'gpt'"),
    ],
)
def test_an_endpoint_that_cannot_be_meant(texts: tuple[str, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says.replace("?", r"\?")) as caught:
        read(*texts)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("host", ["gpu.example", "192.168.1.7"])
def test_a_key_does_not_travel_in_clear(host: str) -> None:
    assert read(f"http://{host}:8000/v1")["agent"].key is None
    with pytest.raises(UsageError, match="in clear") as caught:
        read(f"http://{host}:8000/v1", SEALKIT_API_KEY=KEY)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.8.8.8"])
def test_this_machine_is_not_the_network(host: str) -> None:
    assert read(f"http://{host}:8000/v1", SEALKIT_API_KEY=KEY)["agent"].is_loopback


@pytest.mark.parametrize("text", ["sk-with a space", "sk-line\nbreak", "sk-ключ"])
def test_a_key_that_no_header_can_hold_is_not_quoted(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read("https://a.example/v1", SEALKIT_API_KEY=text)
    assert text not in str(caught.value) and "SEALKIT_API_KEY" in str(caught.value)


def test_a_key_is_not_written() -> None:
    key = Key("SEALKIT_API_KEY", KEY)
    assert KEY not in repr(key) + str(key) + repr(Endpoint(url="http://127.0.0.1", form="vllm", key=key))
    with pytest.raises(TypeError, match="never written"):
        pickle.dumps(key)


# --- what looks like a key -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-" + "a1B2_-" * 6, "sk-ant-api03-" + "x9" * 20, "hf_" + "aB" * 17, "AKIA" + "ABCD" * 4,
        "ghp_" + "aB1" * 12, "github_pat_" + "a1_" * 20, "glpat-" + "a1" * 10, "AIza" + "aB1_-" * 7,
        "xoxb-123456789012-abc", "Bearer " + "ab12" * 6, "-----BEGIN RSA PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    ],
)  # fmt: skip
@pytest.mark.parametrize("around", [('{"content":"', '"}'), ("", ""), ("key=", "&x=1")])
def test_common_keys_are_found(text: str, around: tuple[str, str]) -> None:
    assert Watch(()).found_in(text.join(around).encode())


@pytest.mark.parametrize(
    "text",
    [
        "ask-" + "about" * 6, "task-" + "a" * 30, "bearer of news", "Bearer short", "AKIA is a word", "sk-1",
        "the chatcmpl-0123456789abcdef0123456789abcdef", "-----BEGIN CERTIFICATE-----",
    ],
)  # fmt: skip
def test_what_is_none_is_not_found(text: str) -> None:
    assert not Watch(()).found_in(text.encode())


def test_what_local_servers_take_for_a_key_is_no_secret() -> None:
    assert not Watch((b"EMPTY", b"none")).found_in(b"the box is EMPTY, none is here")


@pytest.mark.parametrize(
    "body",
    [
        rb'{"content":"hunter2\u002dhunter2"}',
        rb'{"content":"hunter2\u002dhunter2", "odd":"\ud83d"}',  # no JSON as Unicode has it
        rb'cut {"content":"hunter2\u002Dhunter2',
    ],
)
def test_an_escape_hides_nothing(body: bytes) -> None:
    assert Watch((b"hunter2-hunter2",)).found_in(body)
    assert not Watch((b"hunter3-hunter3",)).found_in(body)


def test_an_escaped_slash_hides_nothing() -> None:
    assert Watch((b"a/b/c/d/e/f",)).found_in(rb'{"content":"a\/b\/c\/d\/e\/f"}')


@given(
    st.text(st.characters(codec="utf-8"), min_size=8, max_size=12)
    | st.text('"\\/\n-aé😀\x7f<', min_size=8, max_size=12),
    st.lists(st.booleans(), max_size=3),
)
@example('qu"ote\\back', [False, False, False])
def test_nor_does_text_in_json_in_json(key: str, escapes: list[bool]) -> None:
    text = f"my key is {key}."
    for ascii_only in escapes:
        text = json.dumps({"content": text}, ensure_ascii=ascii_only)
    assert Watch((key.encode(),)).found_in(text.encode())
    assert Watch((key.encode(),)).found_in(text.replace("/", r"\/").encode()) or not escapes
    assert not Watch((b"another-key-" + key.encode(),)).found_in(text.encode())


@pytest.mark.parametrize(
    "body", [rb'{"a":"qu\u0022ote\u005Cback"}', rb'{"a":"{\"b\":\"qu\\\u0022ote\\u005cback"', rb"qu\u0022ote\\back"]
)
def test_quotes_and_backslashes_have_more_spellings_than_one(body: bytes) -> None:
    assert Watch((rb'qu"ote\back',)).found_in(body)


def test_escapes_that_are_cut_or_halved_are_no_error() -> None:
    for much in (b"\\" * 10_001, rb"\u0041" * 5_000, rb"\ud83d" * 5_000, b"\\u" * 10_000):
        assert not Watch((b"hunter2-hunter2",)).found_in(much + rb"\u00")
