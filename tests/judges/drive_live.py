#!/usr/bin/env python3
"""Looks at target_live with `wallprof top PID` in a terminal: sends keys, reads the screen, and checks after each ending that the
terminal is as it was.

    drive_live.py keys TOOL PID FILE    every key; FILE: where a profile is written to
    drive_live.py ends TOOL PID HOW     HOW: q, interrupt (Ctrl-C), TERM; recorder: it is killed; end: the caller ends the target when
                                        this has printed "looked"
    drive_live.py nothing TOOL PID      PID does not record yet: that is shown; then it is told to

It waits for what must appear, however long that takes.
"""
import fcntl, os, pty, re, select, signal, struct, subprocess, sys, termios, time

HANG_S = int(os.environ["HANG_S"])
ON, OFF = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """The tool is in a process group of its own that has the terminal, below a leader of a session, as below a shell."""

    def __init__(self, arguments, rows=24, columns=80):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before, self.output = termios.tcgetattr(self.slave), b""
        self.states, states = os.pipe()
        orders, self.orders = os.pipe()
        if os.fork() == 0:
            os.close(self.master)
            os.close(self.orders)
            self.lead(arguments, states, orders)
        os.close(states)
        os.close(orders)
        self.tool = int(self.next_state())

    def lead(self, arguments, states, orders):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        tool = os.fork()
        if tool == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(self.slave, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            for fd in range(3):
                os.dup2(self.slave, fd)
            os.environ["TERM"] = "xterm"
            os.execv(arguments[0], arguments)
        os.write(states, b"%d\n" % tool)
        while True:
            _, status = os.waitpid(tool, os.WUNTRACED)
            os.write(states, b"stopped\n" if os.WIFSTOPPED(status) else b"%d\n" % os.waitstatus_to_exitcode(status))
            if not os.WIFSTOPPED(status) or not self.obey(os.read(orders, 2), tool):
                os._exit(0)

    def obey(self, order, tool):
        """As a shell's bg and fg. While it has the terminal itself, that has the settings of its line editor."""
        settings = [*self.before]
        if order == b"bg":
            settings[3] &= ~(termios.ICANON | termios.ECHO)
        os.tcsetpgrp(self.slave, tool if order == b"fg" else os.getpid())
        termios.tcsetattr(self.slave, termios.TCSADRAIN, settings)
        os.kill(tool, signal.SIGCONT)
        return order

    def next_state(self):
        """Meanwhile what it writes is read: it must not wait for us."""
        line, end = b"", time.monotonic() + HANG_S
        while not line.endswith(b"\n"):
            readable, _, _ = select.select([self.states, self.master], [], [], max(0, end - time.monotonic()))
            if not readable:
                sys.exit("FAIL: it neither ends nor stops\n" + self.screen())
            if self.master in readable:
                self.output += os.read(self.master, 65536)
            if self.states in readable:
                line += os.read(self.states, 1)
        return line.decode().strip()

    def order(self, order):
        os.write(self.orders, order.encode())

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, keys):
        os.write(self.master, keys.encode())

    def screen(self):
        """The last one that is whole, as lines."""
        end = self.output.rfind(b"\x1b[J")
        begin = self.output.rfind(b"\x1b[H", 0, max(end, 0))
        return re.sub(rb"\x1b\[(K|1m|0m)", b"", self.output[begin + 3 : end]).decode().replace("\r", "") if begin >= 0 else ""

    def wait(self, what, is_there):
        end = time.monotonic() + HANG_S
        while not is_there(self.screen()):
            if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
                sys.exit(f"FAIL: {what} does not appear\n" + self.screen())
            self.output += os.read(self.master, 65536)
        print("ok:", what)

    def shows(self, *patterns):
        self.wait(" and ".join(patterns), lambda screen: all(re.search(pattern, screen, re.M) for pattern in patterns))

    def press(self, keys, *patterns):
        self.send(keys)
        self.shows(*patterns)

    def read_until(self, is_there):
        """What is written to a terminal may come after the state of who wrote it."""
        end = time.monotonic() + HANG_S
        while not is_there() and select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
            self.output += os.read(self.master, 65536)

    def assert_restored(self, when):
        self.read_until(lambda: self.output.rfind(OFF) > self.output.rfind(ON))
        if termios.tcgetattr(self.slave) != self.before:
            sys.exit(f"FAIL: {when} the terminal has other settings")
        if self.output.rfind(OFF) < self.output.rfind(ON) or b"\x1b[?25h" not in self.output[self.output.rfind(ON) :]:
            sys.exit(f"FAIL: {when} the screen of before is not back: {self.output[-200:]!r}")
        print("ok: the terminal is as it was", when)

    def ends(self, how, status="0", *messages):
        """After the screen these are all messages, in this order."""
        ended = self.next_state()
        self.assert_restored("after " + how)
        lines = lambda: re.findall(rb"^(?:\x1b\[0m)?wallprof: (.*)\r\n", self.output[self.output.rfind(OFF) :].replace(OFF, b""), re.M)
        self.read_until(lambda: len(lines()) >= len(messages))
        said = [line.decode() for line in lines()]
        if ended != status or len(said) != len(messages) or not all(map(str.startswith, said, messages)):
            sys.exit(f"FAIL: status {ended} after {how}: {said} {self.output[-300:]!r}")


def recorded_s(screen):
    """How long all that is shown took."""
    number, unit = re.search(r"^(?:FROZEN: )?last .+ of ([0-9.]+)(?: (\S+))?,", screen, re.M).groups()
    return float(number) * {None: 1, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}[unit]


def press_all(tool, pid, file):
    terminal = Terminal([tool, "top", "--interval", "200ms", pid])
    terminal.shows(r"^PID %s: .*target_live" % pid, r"functions by wall", r" FUNCTION$", r"lock .* want_lock$", r" burn$", r"^q quit")
    terminal.press("2", r"threads by wall", r"MOSTLY IN$", r"burner \(\d+\) .* burn", r"holder \(\d+\) .* hold_lock \(sleep\)")
    terminal.press("3", r", waits", r"HELD BY$", r"lock +mutex ledger +holder [0-9.]+%$")
    terminal.press("1c", r"functions by cpu", r"^ +CPU ")
    terminal.press("o", r"functions by offcpu")
    terminal.press("/bur\x7fr[n]\r", r"only bur\[n\]", r" burn$")
    terminal.wait("nothing else", lambda screen: "want_lock" not in screen)
    terminal.press("/" + "\x7f" * 9 + "\r", r"by offcpu(?!, only)", r" want_lock$")
    terminal.press("h", r"^space +freeze")
    terminal.press("x", r" FUNCTION$")
    terminal.press(" ", r"^FROZEN: last")
    frozen = terminal.screen()
    terminal.press("w", r"by wall")
    terminal.press("o", r"by offcpu")
    if terminal.screen() != frozen:
        sys.exit("FAIL: a frozen screen has changed\n" + frozen + "\n" + terminal.screen())
    terminal.press(" ", r"^last ")
    before = recorded_s(terminal.screen())
    terminal.send("r")
    terminal.wait("a start anew", lambda screen: recorded_s(screen) < before)
    terminal.resize(31, 100)
    terminal.wait("31 lines", lambda screen: screen.count("\n") == 30)
    terminal.press("s" + "\x7f" * 40 + file + "\r", r"^written: ")
    terminal.press("s" + "\x7f" * 40 + "/nonexistent/x.pb.gz\r", r"^wallprof: /nonexistent/.*: No such file")
    for name in "-", "x.pb.qz":
        terminal.press("s" + "\x7f" * 40 + name + "\r", "^" + re.escape(name) + r": the name must end with \.pb\.gz")
    terminal.send("\x1a")
    if terminal.next_state() != "stopped":
        sys.exit("FAIL: it has not stopped")
    terminal.assert_restored("while it is stopped")
    await_work(pid)  # the recorder is not stopped, and lets every thread go that it looks at
    terminal.order("bg")
    if terminal.next_state() != "stopped":
        sys.exit("FAIL: it goes on without the terminal")
    count = terminal.output.count(ON)
    terminal.order("fg")
    terminal.wait("the screen again", lambda screen: terminal.output.count(ON) > count)
    terminal.press("w", r"functions by wall", r" burn$")
    terminal.send("q")
    terminal.ends("q")


def end_by(tool, pid, how):
    terminal = Terminal([tool, "top", "--interval", "200ms", pid])
    terminal.shows(r" FUNCTION$")
    if how == "end":
        print("looked", flush=True)
    elif how == "TERM":
        os.kill(terminal.tool, signal.SIGTERM)
    elif how == "recorder":
        os.kill(int(open(f"/proc/{terminal.tool}/task/{terminal.tool}/children").read()), signal.SIGKILL)
        return terminal.ends(how, "1", "the recorder was killed by signal 9", f"the recording of process {pid} has ended")
    else:
        terminal.send({"q": "q", "interrupt": "\x03"}[how])
    terminal.ends(how, "0", *[f"process {pid} has ended"] * (how == "end"))


def await_recording(tool, pid):
    terminal = Terminal([tool, "top", "--interval", "200ms", pid])
    terminal.shows(r"^PID %s$" % pid, r"^nothing is recorded yet$", r"^q quit")
    terminal.press("h", r"^space +freeze")
    terminal.press("x", r"^nothing is recorded yet$")
    subprocess.run([tool, "ctl", pid, "start"], check=True)
    terminal.shows(r" FUNCTION$", r" want_lock$")
    terminal.send("q")
    terminal.ends("q")


def cpu_ticks(pid):
    return sum(map(int, open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[11:13]))


def await_work(pid):
    begin, end = cpu_ticks(pid), time.monotonic() + HANG_S
    while cpu_ticks(pid) < begin + 20:
        if time.monotonic() > end:
            sys.exit("FAIL: the target does not run any more")
        time.sleep(0.05)
    print("ok: the target runs")


def assert_free(pid):
    """Nobody traces it, and no thread is stopped."""
    for task in os.listdir(f"/proc/{pid}/task"):
        status = open(f"/proc/{pid}/task/{task}/status").read()
        if not re.search(r"^TracerPid:\t0$", status, re.M) or re.search(r"^State:\t[tT]", status, re.M):
            sys.exit(f"FAIL: thread {task} is traced or stopped\n{status}")
    print("ok: the target is free")


if sys.argv[1] == "keys":
    press_all(*sys.argv[2:])
elif sys.argv[1] == "nothing":
    await_recording(*sys.argv[2:])
else:
    end_by(*sys.argv[2:])
if sys.argv[-1] != "end":
    assert_free(sys.argv[3])
