#!/bin/bash
# Erlang: processes, messages, a table, ports, timers, both schedulers
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() { need erl; }

run() {
    export ERL_CRASH_DUMP_SECONDS=0
    under erl +S 2:2 -noshell -noinput -eval '
        Self = self(),
        Fib = fun F(N) when N < 2 -> N; F(N) -> F(N - 1) + F(N - 2) end,
        Table = ets:new(t, [public]),
        [spawn(fun() -> ets:insert(Table, {I, Fib(18)}), Self ! {done, I} end) || I <- lists:seq(1, 400)],
        Sum = lists:sum([receive {done, I} -> I end || I <- lists:seq(1, 400)]),
        timer:sleep(100),
        {ok, Regex} = re:compile("(a|b)*c"),
        {match, _} = re:run(lists:duplicate(20000, 97) ++ "c", Regex),
        Said = [string:trim(os:cmd("echo port " ++ integer_to_list(I))) || I <- lists:seq(1, 5)],
        io:format("~p ~p ~p ~p~n", [Sum, ets:info(Table, size), Fib(24), Said]),
        halt(3).'
    echo "status $?"
}

zoo "$@"
