#!/bin/bash
# Mono: compiles C#; and the program: threads that its collector stops by signals, timers, tasks, a child, exceptions
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    need mcs mono
    cat >"$ZOO_MADE/Zoo.cs" <<'END'
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

static class Zoo {
    static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }

    static int Main() {
        var tasks = Enumerable.Range(22, 6).Select(n => Task.Run(() => Fib(n))).ToArray();
        Task.WaitAll(tasks);
        Console.WriteLine(string.Join(" ", tasks.Select(t => t.Result)));
        var garbage = Enumerable.Range(0, 3).Select(n => new Thread(() => {
            for (int i = 0; i < 200; i++) { var l = new List<string>(); for (int j = 0; j < 200; j++) l.Add(j.ToString()); }
        })).ToList();
        garbage.ForEach(t => t.Start());
        for (int i = 0; i < 10; i++) { GC.Collect(); Thread.Sleep(5); }
        garbage.ForEach(t => t.Join());
        int rung = 0;
        using (new Timer(x => Interlocked.Increment(ref rung), null, 5, 5)) while (Thread.VolatileRead(ref rung) < 5) Thread.Sleep(1);
        Console.WriteLine("rung");
        using (var child = Process.Start(new ProcessStartInfo("/bin/sh", "-c \"exit 3\"") { UseShellExecute = false })) {
            child.WaitForExit();
            Console.WriteLine("child " + child.ExitCode);
        }
        try { object o = null; Console.WriteLine(o.ToString()); } catch (NullReferenceException) { Console.WriteLine("null reference"); }
        return 6;
    }
}
END
}

run() {
    cp "$ZOO_MADE/Zoo.cs" .
    under mcs -out:zoo.exe Zoo.cs
    echo "compiled: $?"
    under mono zoo.exe
    echo "status $?"
}

zoo "$@"
