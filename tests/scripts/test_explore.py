"""explore.py through its command line, and what it serves."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import urljoin, urlsplit

import pytest

from nmt.files import write_json
from nmt.serving.attention import attend
from nmt.serving.folder import TranslationModel
from tests.support import tiny_models
from tests.support.browser import DESKTOP, PHONE, opened
from tests.support.files import SOURCE

EXAMPLE = tiny_models.SOURCE[1]
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a served model."""
    folder = tiny_models.make_model(tmp_path_factory.mktemp("served"), "transformer")
    recorded = attend(TranslationModel(folder), EXAMPLE)
    write_json(folder.parent / "attention.json", {"sentences": [recorded]})
    with served(folder) as printed:
        yield printed


@pytest.fixture(scope="module")
def port(address):
    return urlsplit(address).port


@contextmanager
def served(folder):
    command = [sys.executable, SOURCE / "explore.py", "--model", folder, "--port=0", "--threads=1"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ
    )
    try:
        line = process.stdout.readline()
        yield re.match(r"Open (http://127\.0\.0\.1:\d+/\S{20,}/) in a browser", line)[1]
    finally:
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    assert (process.returncode, rest) == (0, "Ended.\n")


def ask(address, method, name, body=None, headers=None):
    """Return status and text of the answer; name: behind the address, or of the server."""
    parts = urlsplit(urljoin(address, name))
    connection = HTTPConnection(parts.hostname, parts.port, timeout=60)
    try:
        connection.request(method, parts.path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_the_page_and_a_translation(address):
    status, page = ask(address, "GET", "")
    assert (status, page.startswith("<!doctype html>")) == (200, True)
    body = json.dumps({"sentence": tiny_models.SOURCE[0]})
    status, answer = ask(address, "POST", "translate", body, JSON)
    assert status == 200
    answer = json.loads(answer)
    assert answer["sentence"] == tiny_models.SOURCE[0]
    assert list(answer["maps"]) == [
        "cross-attention",
        "encoder self-attention",
        "decoder self-attention",
    ]
    assert len(answer["translations"]) > 1


@pytest.mark.parametrize(
    ("method", "name", "body", "headers", "status"),
    [
        ("GET", "../../etc/passwd", None, {}, 403),
        ("GET", "/", None, {}, 403),
        ("POST", "/translate", '{"sentence": "a"}', JSON, 403),
        ("GET", "", None, {"Host": "evil.example"}, 403),
        ("POST", "translate", "{}", JSON | {"Host": "evil.example:80"}, 403),
        ("POST", "translate", '{"sentence": "a"}', {"Content-Type": "text/plain"}, 403),
        ("POST", "translate", "{", JSON, 400),
        ("POST", "translate", "[" * 9000, JSON, 400),
        ("POST", "translate", b"\xff", JSON, 400),
        ("POST", "translate", '{"sentence": "  "}', JSON, 400),
        ("POST", "translate", 20_000 * "a", JSON, 413),
        ("POST", "translate", None, JSON | {"Content-Length": "-1"}, 413),
    ],
)
def test_bad_requests_get_a_sentence(address, method, name, body, headers, status):
    code, answer = ask(address, method, name, body, headers)
    assert code == status
    assert json.loads(answer)["error"].endswith(".")


def test_a_connection_that_waits_lets_others_pass(address, port):
    with socket.create_connection(("127.0.0.1", port)) as waiting:
        assert ask(address, "GET", "")[0] == 200
        waiting.setblocking(False)
        with pytest.raises(BlockingIOError):  # it is still open
            waiting.recv(1)


def test_only_this_machine_is_served(port):
    if not os.path.exists("/proc/net/tcp"):
        pytest.skip("only Linux lists sockets in /proc.")
    with open("/proc/net/tcp") as file:
        sockets = [line.split()[1] for line in file if f":{port:04X} 00000000:0000" in line]
    assert sockets == [f"0100007F:{port:04X}"]


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_sentence_is_typed_and_explored(browser, address, width):
    with opened(browser, address, width) as page:
        typed = page.get_by_label("A sentence to translate (en to de)")
        assert typed.input_value() == EXAMPLE
        assert page.locator("#keys button").count() > 3
        assert "trained on: Tiny." in page.locator("main").inner_text()
        typed.fill("a dog runs .")
        page.keyboard.press("Enter")
        page.wait_for_url("**sentence=1&*")
        assert page.locator("#sentence option:checked").inner_text() == "a dog runs ."
        assert page.locator("#kind option").count() == 3


def test_a_port_that_is_taken_is_an_error(tmp_path, port, run_failing):
    folder = tiny_models.make_model(tmp_path, "rnnsearch")
    assert f"port {port}" in run_failing("explore", "--model", folder, "--port", port)
