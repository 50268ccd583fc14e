<?php
/* Processes that wait, and processes that compute, in known places of PHP. Each writes its stack, as PHP itself tells it
 * while it is there. The first one collects them as JSON: {"waiting": {pid: stack}, "running": {pid: stack}}, where a
 * stack is a list of [function, file, line], innermost first, and functions in C have no file. The stack of a process that
 * computes is without the function spin and what it calls.
 *
 *     php_frames.php FILE SECONDS
 */

/* ---- what PHP says ---- */

const OF_FILES = ['include', 'include_once', 'require', 'require_once'];

function is_internal(array $call): bool
{
    if (in_array($call['function'], OF_FILES) || $call['function'] === 'eval' || str_contains($call['function'], '{closure'))
        return false;
    $of = isset($call['class']) ? new ReflectionMethod($call['class'], $call['function']) : new ReflectionFunction($call['function']);
    return $of->isInternal();
}

function name_of(array $call): string
{
    $name = in_array($call['function'], OF_FILES) ? '{main}' : ($call['function'] === 'eval' ? '{eval}' : $call['function']);
    return isset($call['class']) ? strtok($call['class'], "\0") . '::' . $name : $name;
}

/* The calls lead from each function to where it was called, and that is in the next one. */
function say(array $calls, int $line, array $inside = []): void
{
    $stack = array_map(fn($name) => [$name, '', 0], $inside);
    $at = [__FILE__, $line];
    foreach ([...$calls, ['function' => 'include']] as $call) {
        $stack[] = is_internal($call) ? [name_of($call), '', 0] : [name_of($call), ...$at];
        $at = [$call['file'] ?? '', $call['line'] ?? 0];
    }
    fwrite($GLOBALS['said'], json_encode($stack) . "\n");
}

/* ---- how they wait and compute ---- */

function rest()
{
    say(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS), __LINE__, ['fgets']); fgets($GLOBALS['never']); exit(0);
}

function spin()
{
    $sum = 0;
    for (;;) {
        for ($i = 0; $i < 200000; $i++)
            $sum = ($sum + $i) & 0xffff;
        $read = [$GLOBALS['never']]; $write = $except = null; if (stream_select($read, $write, $except, 0)) return $sum;
    }
}

/* Its caller's stack is said: the loop's own line differs. */
function compute()
{
    say(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS), __LINE__); return spin();
}

/* ---- places to wait in ----  */

function in_sleep() { rest(); }

function in_recursion(int $depth = 150)
{
    return $depth === 0 ? rest() : in_recursion($depth - 1) ?? $depth;
}

trait Resting
{
    public function of_trait() { rest(); }
}

class Base
{
    public function inherited() { rest(); }
    public static function of_class() { rest(); }
}

class Shop extends Base implements IteratorAggregate, ArrayAccess, JsonSerializable, Countable
{
    use Resting;
    public function __construct(bool $rests = false) { if ($rests) rest(); }
    public function __get($name) { rest(); }
    public function __call($name, $arguments) { rest(); }
    public static function __callStatic($name, $arguments) { rest(); }
    public function __toString(): string { rest(); }
    public function __invoke() { rest(); }
    public function __destruct() { if ($this->ends ?? false) rest(); }
    public function getIterator(): Iterator { rest(); }
    public function offsetGet(mixed $at): mixed { rest(); }
    public function offsetSet(mixed $at, mixed $value): void { rest(); }
    public function offsetExists(mixed $at): bool { rest(); }
    public function offsetUnset(mixed $at): void { rest(); }
    public function jsonSerialize(): mixed { rest(); }
    public function count(): int { rest(); }
    public function by_closure() { return array_map(fn($one) => rest(), [1, 2]); }
    public $ends = false;
}

function numbers()
{
    yield 1;
    rest();
    yield 2;
}

function delegate()
{
    yield from numbers();
}

function delegate_more()
{
    yield 0;
    yield from delegate();
}

function in_generator() { foreach (numbers() as $_); }
function in_delegation() { foreach (delegate_more() as $_); }
function in_sent_generator()
{
    $generator = (function () { $got = yield 1; rest(); })();
    $generator->current();
    $generator->send(7);
}
function in_generator_of_c() { iterator_to_array(delegate()); }

function in_new() { new Shop(true); }
function in_inherited() { (new Shop)->inherited(); }
function in_static() { Shop::of_class(); }
function in_trait() { (new Shop)->of_trait(); }
function in_get() { return (new Shop)->nothing; }
function in_call() { (new Shop)->nothing(1); }
function in_call_static() { Shop::nothing(); }
function in_text() { return 'a' . new Shop; }
function in_invoke() { (new Shop)(); }
function in_iterator() { foreach (new Shop as $_); }
function in_offset() { return (new Shop)['a']; }
function in_json() { return json_encode([new Shop]); }
function in_count() { return count(new Shop); }
function in_method_closure() { return (new Shop)->by_closure(); }
function in_anonymous_class() { (new class { public function run() { rest(); } })->run(); }

function in_destructor()
{
    $shop = new Shop;
    $shop->ends = true;
    unset($shop);
}

function in_closure()
{
    (function () { rest(); })();
}

function in_sort()
{
    $list = [3, 1, 2];
    usort($list, function ($a, $b) { rest(); return $a <=> $b; });
}

function in_callbacks()
{
    array_map(fn($one) => array_filter([$one], fn($two) => call_user_func('rest')), [1]);
}

function in_replace()
{
    preg_replace_callback('/a/', fn($match) => rest(), 'banana');
}

function in_catch()
{
    try {
        throw new LogicException('x');
    } catch (LogicException $exception) {
        rest();
    }
}

function in_finally()
{
    try {
        throw new LogicException('x');
    } finally {
        rest();
    }
}

function in_error_handler()
{
    set_error_handler(function ($level, $message) { rest(); });
    echo $undefined;
}

function in_autoload()
{
    spl_autoload_register(function ($class) { rest(); });
    new Nowhere;
}

function in_output()
{
    ob_start(function ($text) { return $text; });
    rest();
}

function in_include()
{
    include $GLOBALS['included'];
}

function in_eval()
{
    eval("\nrest();\n");
}

function in_fiber()
{
    $fiber = new Fiber(function () { in_sleep(); });
    $fiber->start();
}

function in_resumed_fiber()
{
    $outer = new Fiber(function () {
        $inner = new Fiber(function () { Fiber::suspend(); in_sleep(); });
        $inner->start();
        $inner->resume();
    });
    $outer->start();
}

function in_generator_in_fiber()
{
    (new Fiber(function () { foreach (delegate() as $_); }))->start();
}

function in_sqlite()
{
    $database = new PDO('sqlite::memory:');
    $database->sqliteCreateFunction('rest', 'rest', 0);
    $database->query('SELECT rest()');
}

/* ---- places to compute in ---- */

function runs_here() { compute(); }
function runs_in_map() { array_map(fn($one) => compute(), [1]); }
function runs_in_generator() { foreach ((function () { yield compute(); })() as $_); }
function runs_in_fiber() { (new Fiber(function () { compute(); }))->start(); }
function runs_in_sort() { $list = [2, 1]; usort($list, fn($a, $b) => compute()); }

/* ---- the processes ---- */

/* A process in a place. Returns its pid and what it says. */
function begin(string $place, array $ends): array
{
    [$reads, $writes] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $pid = pcntl_fork();
    if ($pid === 0) {
        fclose($ends[1]); /* it is never written to: it ends with the first process */
        $GLOBALS['said'] = $writes;
        $GLOBALS['never'] = $ends[0];
        $place();
        exit(str_starts_with($place, 'in_') ? 3 : 0);
    }
    fclose($writes);
    $line = fgets($reads);
    if ($line === false) {
        fwrite(STDERR, "$place says nothing\n");
        exit(1);
    }
    return [$pid, json_decode($line)];
}

[, $file, $seconds] = $argv;
$included = "$file.php";
file_put_contents($included, "<?php\n\nrest();\n");
$ends = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
$result = ['waiting' => [], 'running' => []];
foreach (get_defined_functions()['user'] as $place) {
    $what = str_starts_with($place, 'in_') ? 'waiting' : (str_starts_with($place, 'runs_') ? 'running' : null);
    if ($what === null || ($place === 'in_sqlite' && !extension_loaded('pdo_sqlite')))
        continue;
    [$pid, $stack] = begin($place, $ends);
    $result[$what][$pid] = $stack;
}
sleep((int)$seconds);
file_put_contents($file, json_encode($result));
fclose($ends[1]);
while (pcntl_wait($status) > 0);
