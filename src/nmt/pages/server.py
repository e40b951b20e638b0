"""The attention explorer with a model behind it, for the browsers of this machine alone."""

import json
import logging
import unicodedata
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

from nmt.errors import UserError
from nmt.pages.explorer import live_page
from nmt.serving.attention import attend
from nmt.serving.folder import TranslationModel

LOOPBACK = "127.0.0.1"
MOST_BYTES = 10_000  # of a request
MOST_CHARACTERS = 1_000  # of a sentence
NO_TEXT = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, ends of lines and paragraphs


class ExplorerServer(ThreadingHTTPServer):
    """A server that translates one sentence at a time with its model.

    Browsers open connections that they use later: each has a thread, so that none waits for it.
    """

    def __init__(self, model: TranslationModel, port: int):
        super().__init__((LOOPBACK, port), ExplorerHandler)
        self.model = model
        self.turn = Lock()
        self.page = live_page(model).encode()
        # A page from elsewhere may make a browser call this address under a name of its own: the
        # Host header then has that name.
        self.hosts = {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def translate(self, body: bytes) -> dict:
        """Return what the page shows of the sentence in a request.

        Raises UserError for a request that makes no sense.
        """
        try:
            sentence = json.loads(body)["sentence"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UserError('the request is not {"sentence": TEXT} as JSON.') from None
        if not isinstance(sentence, str):
            raise UserError("the sentence is no text.")
        if len(sentence) > MOST_CHARACTERS:
            raise UserError(
                f"the sentence has {len(sentence)} characters: {MOST_CHARACTERS} are the most."
            )
        if any(unicodedata.category(character) in NO_TEXT for character in sentence):
            raise UserError("the sentence has line ends or control characters: take one line.")
        with self.turn:
            return attend(self.model, sentence)


class ExplorerHandler(BaseHTTPRequestHandler):
    """Answers GET / with the page, and POST /translate with JSON."""

    server: ExplorerServer
    timeout = 30  # seconds that a request may take to arrive

    def do_GET(self) -> None:
        """Answer with the page."""
        if not self.allowed():
            return
        if self.path != "/":
            self.refuse(HTTPStatus.NOT_FOUND, "there is only the page at /.")
            return
        self.answer(HTTPStatus.OK, self.server.page, "text/html")

    def do_POST(self) -> None:
        """Translate the sentence."""
        if not self.allowed():
            return
        length = self.headers.get("Content-Length", "")
        if self.path != "/translate":
            self.refuse(HTTPStatus.NOT_FOUND, "sentences are translated at /translate.")
        elif self.headers.get_content_type() != "application/json":
            # A page from elsewhere cannot send this type without asking first.
            self.refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the request is not JSON.")
        elif not length.isdecimal():
            self.refuse(HTTPStatus.LENGTH_REQUIRED, "the request has no length.")
        elif int(length) > MOST_BYTES:
            self.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the sentence is too long.")
        else:
            self.translate(self.rfile.read(int(length)))

    def translate(self, body: bytes) -> None:
        """Answer with what the page shows, or with what is wrong."""
        try:
            answer = self.server.translate(body)
        except UserError as error:
            self.refuse(HTTPStatus.BAD_REQUEST, str(error))
        else:
            self.send_json(HTTPStatus.OK, answer)

    def allowed(self) -> bool:
        """Return whether the request is for this server, or refuse it."""
        if self.headers.get("Host") in self.server.hosts:
            return True
        self.refuse(HTTPStatus.FORBIDDEN, f"open {self.server.address} instead.")
        return False

    def refuse(self, status: HTTPStatus, sentence: str) -> None:
        """Answer with a sentence, and read no more of the request."""
        self.close_connection = True
        self.send_json(status, {"error": sentence})

    def send_json(self, status: HTTPStatus, value: dict) -> None:
        """Answer with JSON."""
        self.answer(status, json.dumps(value, ensure_ascii=False).encode(), "application/json")

    def answer(self, status: HTTPStatus, body: bytes, content_type: str) -> None:
        """Send a whole answer, which no other page may show inside itself."""
        self.send_response(status)
        self.send_header("Content-Type", f"{content_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log a request among the script's other messages."""
        logging.info(format % args)
