#!/bin/bash
# tmux: a server that becomes a daemon, shells on terminals of its own, what they show, its end
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() { need tmux; }

client() { tmux -S "$PWD/socket" "$@"; }

run() {
    under tmux -S "$PWD/socket" -f /dev/null new-session -d -x 80 -y 24 "PS1='> ' exec bash --norc --noprofile -i"
    echo "status $?"
    until client capture-pane -p | grep -q '^>'; do sleep 0.05; done
    client send-keys "echo \$((6 * 7)); stty size; sleep 0.2; jobs; (exit 3); echo ended \$?" Enter
    until client capture-pane -p | grep -q '^ended'; do sleep 0.05; done
    client capture-pane -p | grep -v '^$'
    client split-window "for i in 1 2 3; do echo \$i; sleep 0.05; done; exec tmux -S '$PWD/socket' wait-for -S ended"
    client wait-for ended
    under tmux -S "$PWD/socket" kill-server
    echo "status $?"
    while [ -S socket ] && client list-sessions 2>/dev/null; do sleep 0.05; done
}

zoo "$@"
