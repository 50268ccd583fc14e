# Processes and threads that wait, and processes that compute, in known places of Perl. Each writes its stack, as caller() tells
# it while it is there. The first one collects them as JSON: {"waiting": {tid: stack}, "running": {tid: stack}}, where a stack
# is a list of [function, file, line], innermost first. The stack of a process that computes is without the function spin.
#
#     perl_frames.pl FILE SECONDS
use strict;
use warnings;
no warnings qw(recursion once);
use threads;
use Config;
use JSON::PP ();
use List::Util ();
use POSIX ();
use Socket qw(AF_UNIX SOCK_STREAM PF_UNSPEC);

our ($said, $never, $begun);

# ---- what Perl says ----

# caller() has no blocks that are called natively. %blocks: by the function that stands in one, its name and the line of what
# calls it.
our %blocks;

# eval {...} is no frame. Frames have the line where they are, and caller() the one where they were called.
sub say_stack {
    my ($has_main) = @_;
    my (@stack, @at);
    for (my $i = 0; my @call = caller($i); $i++) {
        my ($file, $line, $sub, $text, $is_require) = @call[1, 2, 3, 6, 7];
        my $name = $sub ne '(eval)' ? $sub : $is_require ? '{main}' : defined $text ? '{eval}' : undef;
        push @stack, [$name, @at] if $i > 0 && defined $name;
        @at = ($file, $line) if defined $name;
        if (my $block = $i > 0 && $blocks{$name // ''}) {
            push @stack, [$block->[0], @at];
            @at = ($file, $block->[1]);
        }
    }
    push @stack, ['{main}', @at] if $has_main;
    syswrite $said, JSON::PP::encode_json([tid(), \@stack]) . "\n";
}

sub tid { syscall($Config{archname} =~ /^aarch64/ ? 178 : 186) }

# ---- how they wait and compute ----

sub rest {
    say_stack(!$main::at_end && !threads->tid); sysread $never, my $none, 1; POSIX::_exit(0);
}

# In a block: its name, and the line that it is called from.
sub rest_in { my ($name, $line) = @_; $blocks{'main::rest_in'} = [$name, $line]; rest() }

sub spin {
    my $sum = 0;
    for (;;) {
        for (my $i = 0; $i < 20000; $i++) {
            $sum = ($sum + $i) & 0xffff;
        }
        my $bits = ''; vec($bits, fileno $never, 1) = 1; POSIX::_exit(0) if select($bits, undef, undef, 0);
    }
}

# Its caller's stack is said: the loop's own line differs.
sub compute {
    say_stack(1); spin();
}

# ---- places to wait in ----

my %places;

$places{in_function} = sub { rest() };

sub recurse { my $depth = shift; return $depth ? recurse($depth - 1) : rest() }
$places{in_recursion} = sub { my $rested = recurse(150); };

package Shop {
    our $AUTOLOAD;
    sub new { my ($class, %fields) = @_; return bless {%fields}, $class }
    sub method { my $self = shift; main::rest(); }
    sub DESTROY { my $self = shift; main::rest() if $self->{ends} }
    sub AUTOLOAD { main::rest(); }
}
package Shop::Child {
    our @ISA = ('Shop');
    sub method { my $self = shift; $self->SUPER::method(1); }
}
package Overloaded {
    use overload '""' => sub { main::rest() }, '+' => \&plus, 'bool' => sub { 1 };
    sub plus { main::rest(); }
}
package Tied {
    sub TIESCALAR { bless [] } sub FETCH { main::rest() } sub STORE { main::rest() }
    sub TIEHASH { bless [] }
}
package Tied::Child { our @ISA = ('Tied'); }

$places{in_method} = sub { Shop->new->method };
$places{in_super} = sub { Shop::Child->new->method(2) };
$places{in_autoload} = sub { Shop->new->nothing };
$places{in_destructor} = sub { my $shop = Shop->new(ends => 1); undef $shop; };
$places{in_scope_end} = sub { { my $shop = Shop->new(ends => 1); } };
$places{in_text_of_object} = sub { my $text = 'a' . bless([], 'Overloaded'); };
$places{in_sum_of_object} = sub { my $sum = 1 + bless([], 'Overloaded'); };
$places{in_tied_fetch} = sub { tie my $tied, 'Tied'; my $copy = $tied; };
$places{in_tied_store} = sub { tie my $tied, 'Tied::Child'; $tied = 1; };
$places{in_tied_hash} = sub { tie my %tied, 'Tied'; my $copy = $tied{a}; };

$places{in_closure} = sub { my $one = shift; (sub { $one = 1; rest() })->(); };
$places{in_named_closure} = sub { no strict 'refs'; *{'main::named_later'} = sub { rest() }; main::named_later(); };
sub jumps { goto &jumped_to }
sub jumped_to { rest() }
$places{in_goto} = sub { jumps() };
$places{in_map} = sub { my @all = map { rest() } 1, 2; };
$places{in_grep} = sub { my @all = grep { $_ > 1 && rest() } 1, 2; };
$places{in_loops} = sub { for my $i (1 .. 3) { while (1) { for (my $j = 0;; $j++) { rest() if $j == 2; } } } };

sub by_number { rest(); $a <=> $b }
$places{in_sort} = sub { my @all = sort by_number 3, 1, 2; };
$places{in_sort_of_closure} = sub { my $by = sub { rest(); $a <=> $b }; my @all = sort $by 3, 1, 2; };
$places{in_sort_block} = sub { my @all = sort { rest_in('{sort}', 0 + __LINE__); $a <=> $b } 3, 1, 2; };
$places{in_end_of_sort_block} = sub { my @all = sort { rest_in('{sort}', 0 + __LINE__) } 3, 1, 2; };
$places{in_first} = sub { List::Util::first { rest() } 1, 2 };
$places{in_reduce} = sub { List::Util::reduce { rest() } 1, 2 };
$places{in_nested_callbacks} = sub { List::Util::first { my @all = sort by_number 2, 1; } 1; };

$places{in_eval} = sub { eval { rest() } };
$places{in_eval_of_callback} = sub {
    List::Util::first {
        eval {
            eval { rest(); };
        };
    } 1;
};
$places{after_eval_of_callback} = sub {
    List::Util::first {
        eval { die "x\n" };
        eval { 1 };
        rest();
    } 1;
};
$places{in_eval_of_destructor} = sub { my $x = Ends->new(sub { eval { rest() } }); undef $x; };
package Ends { sub new { bless [$_[1]] } sub DESTROY { $_[0][0]->() } }
$places{in_text} = sub { eval "\nrest();\n1" or die };
$places{in_text_of_callback} = sub { List::Util::first { eval "\nrest();\n1" or die } 1 };
$places{in_begin_of_text} = sub { eval "\nBEGIN { rest() }\n1" or die };
$places{in_function_of_text} = sub { eval "package Made;\nsub made {\n  main::rest() }\n1" or die; Made::made(); };
$places{in_required_file} = sub { require $main::included };
$places{in_required_file_of_callback} = sub { List::Util::first { require $main::included } 1 };
$places{in_done_file} = sub { do $main::included };
$places{in_used_file} = sub { eval "use lib '$main::directory';\nuse Included;\n1" or die $@ };

$places{in_warning} = sub { local $SIG{__WARN__} = sub { rest() }; warn "x\n"; };
$places{in_error} = sub { local $SIG{__DIE__} = sub { rest() }; eval { die "x\n" }; };
$places{in_signal} = sub { local $SIG{USR1} = sub { rest() }; kill 'USR1', $$; sleep 1 while 1; };
$places{in_pattern} = sub {
    my $text = 'aab';
    $text =~ /a+(?{ rest_in('{regex}', 0 + __LINE__); 1 })b/;
};
$places{in_end_of_pattern} = sub { my $text = 'aab'; $text =~ /a+(?{ rest_in('{regex}', 0 + __LINE__) })b/; };
$places{in_kept_pattern} = sub { my $found = qr/a+(?{ rest() })b/; 'aab' =~ /x?$found/; };
$places{in_replacement} = sub { my $text = 'aab'; $text =~ s/(a)/rest()/e; };
$places{in_list_hook} = sub { local @INC = (sub { rest() }, @INC); require Nowhere; };
$places{in_lines_of_another_file} = sub {
#line 7 "elsewhere.tt"
    rest();
};
$places{in_thread} = sub { threads->create(sub { rest() })->join };
$places{in_eval_of_thread} = sub { threads->create(sub { List::Util::first { eval { rest() } } 1 })->join };
$places{in_end} = sub { $main::at_end = 1; exit 0 };
END { if ($main::at_end) { rest(); } }

# ---- places to compute in ----

my %spins;
$spins{here} = sub { compute() };
$spins{in_map} = sub { my @all = map { compute() } 1 };
sub by_work { compute() }
$spins{in_sort} = sub { my @all = sort by_work 2, 1; };
$spins{in_first} = sub { List::Util::first { compute() } 1 };
$spins{in_eval_of_callback} = sub { List::Util::first { eval { compute() } } 1 };
$spins{in_text} = sub { eval 'compute(); 1' or die };

# ---- the processes ----

my ($file, $seconds) = @ARGV;
our $directory = "$file.d";
our $included = "$directory/included.pl";
mkdir $directory;
for my $name ($included, "$directory/Included.pm") {
    open my $out, '>', $name or die $!;
    print $out "package main;\n\nmain::rest();\n1;\n";
    close $out;
}
socketpair $never, my $end, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die $!;
my %result = (waiting => {}, running => {});

# What the one that has begun says: its tid and its stack.
sub listen_to {
    my ($from, $place) = @_;
    my $line = readline $from;
    defined $line or die "$place says nothing\n";
    return @{JSON::PP::decode_json($line)};
}

# How often the thread that samples a process has run; undef where there is none.
sub runs_of_sampler {
    my ($pid) = @_;
    my $first_line = sub { open my $in, '<', $_[0] or return ''; my $line = readline $in; return $line // '' };
    for my $task (glob "/proc/$pid/task/*") {
        return (split ' ', $first_line->("$task/schedstat"))[2] if $first_line->("$task/comm") eq "wallprof\n";
    }
    return undef;
}

my @pids;

# Until each process was sampled where it is: on a busy machine that may take long.
sub wait_for_samples {
    my $more = 5;
    return unless defined runs_of_sampler($$);
    my %runs = map { $_ => runs_of_sampler($_) // 0 } @pids;
    for my $pid (@pids) {
        select undef, undef, undef, 0.01 until (runs_of_sampler($pid) // 0) >= $runs{$pid} + $more;
    }
}

# A process in a place.
sub begin {
    my ($place, $code) = @_;
    socketpair my $reads, my $writes, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die $!;
    defined(my $pid = fork) or die $!;
    if (!$pid) {
        close $end;    # it is never written to: it ends with the first process
        $said = $writes;
        $code->();
        POSIX::_exit(3);
    }
    close $writes;
    push @pids, $pid;
    return listen_to($reads, $place);
}

sub keep { my ($what, $tid, $stack) = @_; $result{$what}{$tid} = $stack }
keep('waiting', begin($_, $places{$_})) for sort keys %places;
keep('running', begin($_, $spins{$_})) for sort keys %spins;

open my $out, '>', $file or die $!;
print $out JSON::PP::encode_json(\%result);
close $out;
wait_for_samples();
sleep $seconds;
close $end;
1 while wait > 0;
