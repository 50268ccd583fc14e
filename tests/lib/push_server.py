#!/usr/bin/python3
"""A server for profiles on loopback, for e2e_push.sh: push_server.py DIRECTORY [ANSWER...] [--tls CERTIFICATE KEY]

Writes its port, SERVER_PORT or one that is free, to DIRECTORY/port. Answers the first requests as it is told, all others with 200:
    404            that status                     429:7     with Retry-After: 7
    302:URL        to another place                echo:500  with what authorized the request as the text
    cut            hangs up in the middle of the request
    stall          takes the request and says nothing for a minute
Each request is checked as the real server reads it: a line of DIRECTORY/requests, in JSON, has its path, query,
labels, and what is wrong with it; the profile is DIRECTORY/profile.N.pb.gz.
"""

import base64
import http.server
import json
import os
import re
import ssl
import sys
import threading
import time
import urllib.parse
import uuid


def parse_name(text):
    """As Pyroscope's labelset.Parse: name{key=value,...}"""
    service, brace, rest = text.partition("{")
    assert re.fullmatch(r"[A-Za-z0-9_./-]+", service), f"service {service!r}"
    labels = {"service_name": service}
    if brace:
        assert rest.endswith("}") and "}" not in rest[:-1], f"labels {rest!r}"
        for pair in filter(None, rest[:-1].split(",")):
            key, equals, value = pair.partition("=")
            assert equals and value == value.strip(), f"label {pair!r}"
            add_label(labels, key, value)
    return labels


def add_label(labels, key, value):
    """As Prometheus' rules, which both servers go by."""
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", key), f"label {key!r}"
    assert key not in labels, f"label {key} twice"
    labels[key] = value


def read_ingest(handler, url, body):
    query = dict(urllib.parse.parse_qsl(url.query, strict_parsing=True))
    assert set(query) == {"name", "from", "until", "format"}, f"query {sorted(query)}"
    assert query["format"] == "pprof"
    assert re.fullmatch(r"\d{10}", query["from"]) and re.fullmatch(r"\d{10}", query["until"])
    assert int(query["from"]) < int(query["until"]), "from is not before until"
    return {"labels": parse_name(query["name"]), "from": int(query["from"]), "until": int(query["until"])}, body


def read_json(handler, body):
    assert handler.headers["Content-Type"] == "application/json"
    (series,) = json.loads(body)["series"]
    (sample,) = series["samples"]
    return series, sample


def labels_of(pairs):
    labels = {}
    for pair in pairs:
        assert set(pair) == {"name", "value"}
        add_label(labels, pair["name"], pair["value"])
    return labels


def read_push(handler, url, body):
    series, sample = read_json(handler, body)
    assert set(sample) == {"ID", "rawProfile"} and str(uuid.UUID(sample["ID"])) == sample["ID"]
    labels = labels_of(series["labels"])
    assert labels.pop("__name__") == "wall"
    return {"labels": labels, "id": sample["ID"]}, base64.b64decode(sample["rawProfile"], validate=True)


def read_parca(handler, url, body):
    series, sample = read_json(handler, body)
    assert set(sample) == {"rawProfile"} and set(series["labels"]) == {"labels"}
    labels = labels_of(series["labels"]["labels"])
    assert labels.pop("__name__") == "wallprof"
    return {"labels": labels}, base64.b64decode(sample["rawProfile"], validate=True)


INTERFACES = {
    "/ingest": read_ingest,
    "/push.v1.PusherService/Push": read_push,
    "/api/profiles/writeraw": read_parca,
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *ignored):
        pass

    def do_GET(self):
        self.server.record({"path": self.path, "problem": "a GET"}, b"")
        self.answer(405, "")

    def do_POST(self):
        url = urllib.parse.urlsplit(self.path)
        script = self.server.next_answer()
        length = int(self.headers["Content-Length"])
        if script == "cut":
            self.rfile.read(min(length, 10))
            self.server.record({"path": url.path, "answer": script}, b"")
            self.close_connection = True
            self.connection.close()
            return
        body = self.rfile.read(length)
        entry, profile = {"problem": None}, b""
        try:
            more, profile = INTERFACES[url.path.removeprefix("/base")](self, url, body)
            entry.update(more)
        except Exception as error:  # said by the test
            entry["problem"] = repr(error)
        entry.update(
            path=url.path, answer=script, host=self.headers["Host"], authorization=self.headers["Authorization"]
        )
        self.server.record(entry, profile)
        if script == "stall":
            time.sleep(60)
        self.answer_as(script)

    def answer_as(self, script):
        code, _, more = script.partition(":")
        if code == "echo":
            self.answer(int(more), self.headers["Authorization"] or "nobody")
        elif code.startswith("3"):
            self.answer(int(code), "", Location=more)
        elif more:
            self.answer(int(code), "busy", **{"Retry-After": more})
        else:
            self.answer(int(code), "" if code == "200" else "what the server says\nsecond line")

    def answer(self, code, text, **headers):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, directory, script):
        super().__init__(("127.0.0.1", int(os.environ.get("SERVER_PORT", 0))), Handler)
        self.directory, self.script, self.count = directory, script, 0
        self.lock = threading.Lock()

    def handle_error(self, request, client_address):
        pass

    def next_answer(self):
        with self.lock:
            return self.script.pop(0) if self.script else "200"

    def record(self, entry, profile):
        with self.lock:
            self.count += 1
            entry["when"] = time.monotonic()
            if profile:
                with open(f"{self.directory}/profile.{self.count}.pb.gz", "wb") as file:
                    file.write(profile)
            with open(f"{self.directory}/requests", "a") as file:
                print(json.dumps(entry), file=file)


def main():
    directory, *script = sys.argv[1:]
    tls = None
    if "--tls" in script:
        at = script.index("--tls")
        tls = script[at + 1 : at + 3]
        script = script[:at]
    server = Server(directory, script)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(f"{directory}/port.new", "w") as file:
        print(server.server_port, file=file)
    os.rename(f"{directory}/port.new", f"{directory}/port")
    server.serve_forever()


if __name__ == "__main__":
    main()
