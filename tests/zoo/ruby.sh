#!/bin/bash
# Ruby: threads, timeouts, traps, forks, a compacting collector, fibres
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() { need ruby; }

run() {
    # shellcheck disable=SC2016 # ruby's
    under ruby -rtimeout -rfiber -e '
        sums = 4.times.map { |i| Thread.new { (1..200_000).inject { |a, b| (a * 31 + b + i) % 1_000_003 } } }.map(&:value)
        puts sums.inspect
        begin Timeout.timeout(0.1) { sleep } rescue puts "timeout: #{$!.class}" end
        seen = Queue.new
        trap("USR1") { seen << 1 }
        5.times { Process.kill("USR1", Process.pid); seen.pop }
        children = 10.times.map { |i| fork { GC.start; exit!(i) } }
        puts children.map { |child| Process.wait2(child)[1].exitstatus }.inspect
        puts 5.times.map { |i| fork { sleep 0.15; exit i } }.map { |child| Process.wait2(child)[1].exitstatus }.inspect
        GC.compact if GC.respond_to?(:compact)
        puts `echo backticks`, system("exit 3").inspect, $?.exitstatus
        fibre = Fiber.new { 3.times { |i| Fiber.yield i } }
        puts 3.times.map { fibre.resume }.inspect
        reader, writer = IO.pipe
        Thread.new { sleep 0.05; writer << "from a thread"; writer.close }
        puts reader.read
        exit 6'
    echo "status $?"
}

zoo "$@"
