"""A client of `wallprof mcp` that knows no library: what runs meanwhile, and what ends with what.

usage: judge_mcp.py WALLPROF DIRECTORY   (TMPDIR is the test's own)
"""

import json
import os
import subprocess
import sys
import time

TOOL, DIRECTORY = sys.argv[1:]


class Server:
    def __init__(self):
        self.process = subprocess.Popen([TOOL, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=DIRECTORY)

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def record(self, number, command, **arguments):
        self.send(id=number, method="tools/call", params={"name": "record", "arguments": {"command": command, **arguments}})

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def end(self):
        """Closes its input. What it still said, and its status."""
        self.process.stdin.close()
        return self.process.stdout.read(), self.process.wait()


def wait_until(is_so):
    while not is_so():
        time.sleep(0.02)


def started(name):
    """A command that writes its pid into a file and then lasts."""
    return ["sh", "-c", f"echo $$ >{name}.new && mv {name}.new {name} && exec sleep 100000"]


def pid_in(name):
    path = os.path.join(DIRECTORY, name)
    wait_until(lambda: os.path.exists(path))
    with open(path) as file:
        return int(file.read())


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def cancelled():
    server = Server()
    server.record(1, started("cancelled"), seconds=3600)
    pid = pid_in("cancelled")
    server.send(id=2, method="ping")
    assert server.receive() == {"jsonrpc": "2.0", "id": 2, "result": {}}, "no ping while a program runs"
    server.send(id=3, method="tools/list")
    server.send(method="notifications/cancelled", params={"requestId": 4})
    server.send(method="notifications/cancelled", params={"requestId": 1})
    answer = server.receive()
    assert answer["id"] == 3 and answer["result"]["tools"], answer
    wait_until(lambda: is_gone(pid))
    assert server.end() == (b"", 0), "it says something after its input's end, or fails"


def killed():
    server = Server()
    server.record(1, started("killed"), seconds=3600)
    pid = pid_in("killed")
    server.process.kill()
    wait_until(lambda: is_gone(pid))
    server.end()


def stubborn():
    """SIGTERM is not enough for this one. Its recording is made all the same, with what it printed last."""
    server = Server()
    server.record(1, ["sh", "-c", "trap '' TERM; echo 1; echo 2; while :; do sleep 0.1; done"], seconds=1,
                  output="stubborn 100%, all.pb.gz")
    said, status = server.end()
    document = json.loads(said)["result"]["structuredContent"]
    assert status == 0 and document["program"] == {"status": None, "signal": "SIGKILL", "reached_time_limit": True}, said
    assert document["output"] == "1\n2\n", document["output"]
    assert document["recording"] == os.path.join(os.path.realpath(DIRECTORY), "stubborn 100%, all.pb.gz"), said
    assert os.path.getsize(document["recording"]) > 0 and document["explanation"]["version"] == 1, said


def directories():
    """Those that were made for recordings."""
    return {name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith("wallprof.")}


def failing():
    before = directories()
    server = Server()
    for number, arguments in enumerate([{"command": ["./no-such-program"]}, {"command": ["true"], "output": "no/such.pb.gz"},
                                        {"command": ["true"], "directory": "no"}]):
        server.record(number, **arguments)
        result = server.receive()["result"]
        assert result["isError"] and "no" in result["content"][0]["text"], result
    assert server.end() == (b"", 0)
    assert directories() == before, "empty directories are left"


for test in cancelled, killed, stubborn, failing:
    print(test.__name__, flush=True)
    test()
