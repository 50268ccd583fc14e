"""
Runs a command with no descriptor open but 0, 1 and 2, and no signal ignored: exec_alone.py [OPTION] COMMAND...

    --broken-stderr   descriptor 2 is a pipe without a reader
    --closed          descriptors 0 to 2 are closed
    --full-stderr=N   descriptor 2 is an empty file, and no file may have more than N bytes
"""

import os
import resource
import signal
import sys

command = sys.argv[1:]
os.closerange(3, 1024)
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
option = command.pop(0) if command[0].startswith("--") else ""
if option == "--broken-stderr":
    reader, writer = os.pipe()
    os.dup2(writer, 2)
    os.closerange(3, 1024)
elif option == "--closed":
    os.closerange(0, 3)
elif option.startswith("--full-stderr="):
    file = os.open("stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 2)
    os.close(file)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(option.split("=")[1]),) * 2)
os.execvp(command[0], command)
