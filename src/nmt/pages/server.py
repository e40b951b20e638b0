"""The attention explorer with a model behind it, for the browsers of this machine alone."""

import json
import logging
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

from nmt.errors import UserError
from nmt.pages.render import explorer_page
from nmt.serving.attention import attend
from nmt.serving.folder import TranslationModel

LOOPBACK = "127.0.0.1"
MOST_BYTES = 10_000  # of a request
NOT_OURS = {"error": "open the address that explore.py prints instead."}


class ExplorerServer(ThreadingHTTPServer):
    """A server that translates one sentence at a time; its page opens with attended examples."""

    def __init__(self, model: TranslationModel, port: int, examples: list[dict]):
        super().__init__((LOOPBACK, port), ExplorerHandler)
        self.model = model
        self.turn = Lock()
        title = model.experiment.title
        models = [{"title": title, "sentences": examples}]
        self.page = explorer_page(title, models, served=model.configuration).encode()
        # Other users of this machine can call it, but do not know this part of the address.
        self.path = f"/{secrets.token_urlsafe()}/"
        # A page from elsewhere may make a browser call this address under a name of its own: the
        # Host header then has that name.
        self.hosts = {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{LOOPBACK}:{self.server_port}{self.path}"

    def translate(self, body: bytes) -> dict:
        """Return what the page shows of the sentence in a request."""
        try:
            sentence = " ".join(str(json.loads(body)["sentence"]).split())
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UserError('the request is not {"sentence": TEXT} as JSON.') from None
        with self.turn:
            return attend(self.model, sentence)


class ExplorerHandler(BaseHTTPRequestHandler):
    """Answers GET with the page, and POST to its `translate` with JSON."""

    server: ExplorerServer
    timeout = 30  # seconds without a byte

    def is_ours(self, name: str) -> bool:
        """Return whether the request comes from the page, or from who has its address."""
        return self.headers.get("Host") in self.server.hosts and secrets.compare_digest(
            self.path.encode(), f"{self.server.path}{name}".encode()
        )

    def do_GET(self) -> None:
        """Answer with the page."""
        if not self.is_ours(""):
            self.answer(HTTPStatus.FORBIDDEN, NOT_OURS)
        else:
            self.answer(HTTPStatus.OK, self.server.page)

    def do_POST(self) -> None:
        """Translate the sentence.

        A page from elsewhere cannot send JSON without asking first, which is not answered.
        """
        length = self.headers.get("Content-Length", "")
        is_json = self.headers.get_content_type() == "application/json"
        if not self.is_ours("translate") or not is_json:
            self.answer(HTTPStatus.FORBIDDEN, NOT_OURS)
        elif not length.isdecimal() or int(length) > MOST_BYTES:
            error = f"a request has at most {MOST_BYTES} bytes."
            self.answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": error})
        else:
            try:
                answer = self.server.translate(self.rfile.read(int(length)))
            except UserError as error:
                self.answer(HTTPStatus.BAD_REQUEST, {"error": str(error)})
            else:
                self.answer(HTTPStatus.OK, answer)

    def answer(self, status: HTTPStatus, content: bytes | dict) -> None:
        """Send the page or JSON, and read no more of the request."""
        if isinstance(content, bytes):
            body, kind = content, "text/html"
        else:
            body, kind = json.dumps(content, ensure_ascii=False).encode(), "application/json"
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log a request among the script's other messages, without the part that is ours alone."""
        logging.info((format % args).replace(self.server.path, "/"))
