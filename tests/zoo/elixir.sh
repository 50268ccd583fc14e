#!/bin/bash
# Elixir: tasks, an agent, a supervisor that starts what has died again
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() { need elixir; }

run() {
    export ERL_CRASH_DUMP_SECONDS=0
    under elixir -e '
        {:ok, agent} = Agent.start_link(fn -> 0 end)
        1..200 |> Task.async_stream(fn i -> Agent.update(agent, & &1 + Enum.sum(1..i * 50)) end) |> Stream.run()
        {:ok, supervisor} = Task.Supervisor.start_link()
        task = Task.Supervisor.async_nolink(supervisor, fn -> exit(:normal) end)
        IO.inspect(Task.yield(task, 300_000))
        {said, status} = System.cmd("sh", ["-c", "echo from a port; exit 4"])
        IO.puts("#{Agent.get(agent, & &1)} #{inspect(said)} #{status}")
        System.halt(5)'
    echo "status $?"
}

zoo "$@"
