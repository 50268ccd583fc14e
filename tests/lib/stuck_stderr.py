"""
Runs a command with a stderr that takes nothing: stuck_stderr.py KIND COMMAND...

    pipe         a pipe that is full, and nobody reads it
    foreign      the same, made by another user, so that it cannot be opened again (for root)
    socket       a socket that is full
    terminal     a terminal whose output is stopped (Ctrl-S)
    master       the side of a terminal that its emulator has, and the other side is not read
    background   a terminal with tostop, and the command is a job in its background

Prints the command's status, "stopped" or "hangs"; whether O_NONBLOCK has come to the open file; and, after a
blank line, what stderr was given by the command.
"""

import fcntl
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import tty

READ_BUFFER = 4095  # what a terminal keeps of its input for who reads it (drivers/tty/n_tty.c)
PATIENCE_S = 60  # a command needs less than a second; a stuck one never ends


def fill(fd):
    os.set_blocking(fd, False)
    try:
        while True:
            os.write(fd, b"." * 4096)
    except BlockingIOError:
        pass
    try:
        while True:
            os.write(fd, b".")
    except BlockingIOError:
        pass
    os.set_blocking(fd, True)


def full_pipe():
    reader, writer = os.pipe()
    fill(writer)
    return reader, writer


def foreign_pipe():
    os.seteuid(65534)
    pipe = full_pipe()
    os.seteuid(0)
    return pipe


def full_socket():
    reader, writer = (one.detach() for one in socket.socketpair())
    fill(writer)
    return reader, writer


def stopped_terminal():
    master, slave = pty.openpty()
    termios.tcflow(slave, termios.TCOOFF)
    return master, slave


def full_master():
    master, slave = pty.openpty()
    tty.setraw(slave)
    fill(master)
    while struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, b"....")) < (READ_BUFFER,):
        time.sleep(0.01)  # until the kernel has handed on what it can
    fill(master)
    return slave, master


def waited(process):
    """The status of a child, "stopped", or "hangs"."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        pid, status = os.waitpid(process.pid, os.WNOHANG | os.WUNTRACED)
        if pid and os.WIFSTOPPED(status):
            break
        if pid:
            return str(os.waitstatus_to_exitcode(status))
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    os.waitpid(process.pid, 0)
    return "stopped" if time.monotonic() < end else "hangs"


def in_background(command):
    """In the child of pty.fork, which leads the terminal's session."""
    settings = termios.tcgetattr(0)
    settings[3] |= termios.TOSTOP
    termios.tcsetattr(0, termios.TCSANOW, settings)
    job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=os.setpgrp)
    return waited(job)


def background(command):
    reader, writer = os.pipe()
    pid, master = pty.fork()
    if pid == 0:
        os.write(writer, in_background(command).encode())
        os._exit(0)
    os.close(writer)
    print(os.read(reader, 100).decode())
    os.waitpid(pid, 0)
    return master


def drain(fd):
    os.set_blocking(fd, False)
    text = b""
    try:
        while piece := os.read(fd, 1 << 16):
            text += piece
    except OSError:
        pass
    return text.decode().strip(".").replace("\r", "")


def main():
    kind, command = sys.argv[1], sys.argv[2:]
    if kind == "background":
        reader = background(command)
    else:
        kinds = {
            "pipe": full_pipe,
            "foreign": foreign_pipe,
            "socket": full_socket,
            "terminal": stopped_terminal,
            "master": full_master,
        }
        reader, writer = kinds[kind]()
        become = {"user": 65533, "group": 65533, "extra_groups": []} if kind == "foreign" else {}
        print(waited(subprocess.Popen(command, stderr=writer, **become)))
        if fcntl.fcntl(writer, fcntl.F_GETFL) & os.O_NONBLOCK:
            print("O_NONBLOCK was set")
        if kind == "terminal":
            termios.tcflow(writer, termios.TCOON)
    print()
    sys.stdout.write(drain(reader))


main()
