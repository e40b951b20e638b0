"""The attention explorer with a model behind it, for the browsers of this machine alone."""

import json
import logging
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

from nmt.errors import UserError
from nmt.pages.render import explorer_page
from nmt.serving.attention import attend
from nmt.serving.folder import TranslationModel

LOOPBACK = "127.0.0.1"
MOST_BYTES = 10_000  # of a request


class ExplorerServer(ThreadingHTTPServer):
    """A server that translates one sentence at a time with its model."""

    def __init__(self, model: TranslationModel, port: int):
        super().__init__((LOOPBACK, port), ExplorerHandler)
        self.model = model
        self.turn = Lock()
        title = model.experiment.title
        languages = (model.configuration["source"], model.configuration["target"])
        models = [{"title": title, "sentences": []}]
        self.page = explorer_page(title, models, languages).encode()
        # A page from elsewhere may make a browser call this address under a name of its own: the
        # Host header then has that name.
        self.hosts = {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{LOOPBACK}:{self.server_port}/"

    def translate(self, body: bytes) -> dict:
        """Return what the page shows of the sentence in a request."""
        try:
            sentence = " ".join(str(json.loads(body)["sentence"]).split())
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UserError('the request is not {"sentence": TEXT} as JSON.') from None
        with self.turn:
            return attend(self.model, sentence)


class ExplorerHandler(BaseHTTPRequestHandler):
    """Answers GET / with the page, and POST /translate with JSON."""

    server: ExplorerServer
    timeout = 30  # seconds that a request may take to arrive

    def do_GET(self) -> None:
        """Answer with the page."""
        if self.headers.get("Host") not in self.server.hosts:
            self.answer(HTTPStatus.FORBIDDEN, {"error": f"open {self.server.address} instead."})
        elif self.path != "/":
            self.answer(HTTPStatus.NOT_FOUND, {"error": "there is only the page at /."})
        else:
            self.answer(HTTPStatus.OK, self.server.page)

    def do_POST(self) -> None:
        """Translate the sentence.

        A page from elsewhere cannot send JSON without asking first, which is not answered.
        """
        length = self.headers.get("Content-Length", "")
        from_here = self.headers.get("Host") in self.server.hosts
        if not from_here or self.headers.get_content_type() != "application/json":
            self.answer(HTTPStatus.FORBIDDEN, {"error": f"open {self.server.address} instead."})
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
        """Log a request among the script's other messages."""
        logging.info(format % args)
