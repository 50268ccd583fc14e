#include "live_terminal.h"
#include "base/clock.h"
#include "live_messages.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { DEFAULT_ROWS = 24, DEFAULT_COLUMNS = 80, ROWS_MIN = 6, COLUMNS_MIN = 20 };

static const char screen_on[] = "\033[?1049h\033[?25l", screen_off[] = "\033[?25h\033[?1049l";

static void fill_signals(sigset_t *ret)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
    sigemptyset(ret);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(ret, numbers[i]);
}

static void put(const char *text)
{
    fputs(text, stdout);
    fflush(stdout);
}

/* ---- the screen, and the lines of before ---- */

static void switch_on(struct live_terminal *terminal)
{
    struct termios keys = terminal->before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_iflag &= ~(tcflag_t)ICRNL;
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
    put(screen_on);
    terminal->is_on = true;
}

static void switch_off(struct live_terminal *terminal)
{
    if (!terminal->is_on)
        return;
    put(screen_off);
    tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->before);
    terminal->is_on = false;
}

/* The terminal's settings are another one's as long as that one has the terminal, as a shell has while we run
 * in the background. Stops until we are in the foreground. False: nobody stops us, as our group is orphaned
 * or ignores the signal. The signals that we take are blocked, so a SIGCONT tells that we were stopped. */
static bool await_foreground(void)
{
    const struct timespec at_once = {0};
    sigset_t continued;
    sigemptyset(&continued);
    sigaddset(&continued, SIGCONT);
    for (;;) {
        const pid_t foreground = tcgetpgrp(STDIN_FILENO);
        if (foreground < 0 || foreground == getpgrp())
            return true;
        while (sigtimedwait(&continued, NULL, &at_once) > 0)
            continue;
        kill(0, SIGTTIN); /* stops here */
        if (sigtimedwait(&continued, NULL, &at_once) < 0)
            return false;
    }
}

static void redirect_stderr(struct live_terminal *terminal)
{
    terminal->messages = live_messages_open();
    terminal->stderr_before = terminal->messages < 0 ? -1 : dup(STDERR_FILENO);
    if (terminal->stderr_before >= 0)
        dup2(terminal->messages, STDERR_FILENO);
}

int live_terminal_begin(struct live_terminal *terminal, bool has_screen)
{
    sigset_t signals;
    *terminal =
        (struct live_terminal){.has_screen = has_screen, .signals = -1, .messages = -1, .stderr_before = -1};
    fill_signals(&signals);
    sigprocmask(SIG_BLOCK, &signals, &terminal->mask_before);
    terminal->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (terminal->signals < 0)
        return -errno;
    if (has_screen && !await_foreground())
        return -EIO;
    if (has_screen && tcgetattr(STDIN_FILENO, &terminal->before) < 0)
        return -errno;
    if (has_screen) {
        redirect_stderr(terminal);
        switch_on(terminal);
    }
    return 0;
}

void live_terminal_end(struct live_terminal *terminal)
{
    switch_off(terminal);
    if (terminal->stderr_before >= 0) {
        fflush(stderr);
        dup2(terminal->stderr_before, STDERR_FILENO);
        close(terminal->stderr_before);
        terminal->stderr_before = -1;
    }
    live_messages_say(terminal->messages);
    if (terminal->signals >= 0)
        close(terminal->signals);
    terminal->messages = terminal->signals = -1;
    sigprocmask(SIG_SETMASK, &terminal->mask_before, NULL);
}

void live_terminal_size(int *ret_rows, int *ret_columns)
{
    struct winsize size;
    const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col;
    *ret_rows = is_known ? size.ws_row : DEFAULT_ROWS;
    *ret_columns = is_known ? size.ws_col : DEFAULT_COLUMNS;
    *ret_rows = *ret_rows < ROWS_MIN ? ROWS_MIN : *ret_rows;
    *ret_columns = *ret_columns < COLUMNS_MIN ? COLUMNS_MIN : *ret_columns;
}

/* Each line is written over that of before, so nothing flickers. The last one has no line end, which would
 * move all up. */
void live_terminal_show(const char *text)
{
    fputs("\033[H", stdout);
    while (*text) {
        const size_t length = strcspn(text, "\n");
        fwrite(text, 1, length, stdout);
        fputs("\033[K", stdout);
        text += length + (text[length] == '\n');
        if (*text)
            fputs("\r\n", stdout);
    }
    put("\033[J");
}

void live_terminal_take_message(const struct live_terminal *terminal, char *ret, int bytes)
{
    fflush(stderr);
    live_messages_take(terminal->messages, ret, bytes);
}

/* ---- waiting ---- */

/* As if we had not taken it. When we go on, the shell may have changed the terminal. False: it is another
 * one's.
 */
static bool stop(struct live_terminal *terminal)
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGTSTP);
    switch_off(terminal);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &only, NULL); /* stops here */
    sigprocmask(SIG_BLOCK, &only, NULL);
    if (!terminal->has_screen)
        return true;
    if (!await_foreground())
        return false;
    tcgetattr(STDIN_FILENO, &terminal->before);
    switch_on(terminal);
    return true;
}

/* False: there was none. */
static bool take_signal(struct live_terminal *terminal, enum live_event *ret)
{
    struct signalfd_siginfo info;
    if (read(terminal->signals, &info, sizeof info) != (ssize_t)sizeof info)
        return false;
    const int number = (int)info.ssi_signo;
    const bool goes_on = number == SIGTSTP ? stop(terminal) : number == SIGCONT || number == SIGWINCH;
    *ret = goes_on ? LIVE_RESIZE : LIVE_END;
    return true;
}

/* False: there is none at the moment, or the terminal has gone, which the next wait says. */
static bool read_at_once(unsigned char *ret)
{
    struct pollfd more = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&more, 1, 0) > 0 && read(STDIN_FILENO, ret, 1) == 1;
}

/* Keys that send more than one byte, as the arrows do, mean nothing: they are ESC [ or ESC O, and end with
 * the first byte from @ on. Another byte after an ESC is the next key. */
static enum live_event take_key(struct live_terminal *terminal, int *ret)
{
    unsigned char byte, next;
    const ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got != 1)
        return got < 0 && errno == EINTR ? LIVE_RESIZE : LIVE_END;
    *ret = byte;
    if (byte != '\033' || !read_at_once(&next))
        return LIVE_KEY;
    if (next != '[' && next != 'O') {
        terminal->next_key = next;
        return LIVE_KEY;
    }
    while (read_at_once(&next) && next < '@')
        continue;
    return LIVE_RESIZE;
}

enum live_event live_terminal_wait(struct live_terminal *terminal, int ended, uint64_t deadline_ns,
                                   int *ret_key)
{
    struct pollfd fds[] = {{.fd = terminal->signals, .events = POLLIN},
                           {.fd = terminal->has_screen ? STDIN_FILENO : -1, .events = POLLIN},
                           {.fd = ended, .events = POLLIN}};
    enum live_event event;
    if (terminal->next_key) {
        *ret_key = terminal->next_key;
        terminal->next_key = 0;
        return LIVE_KEY;
    }
    for (;;) {
        const uint64_t now_ns = clock_monotonic_ns();
        const bool is_time = now_ns >= deadline_ns;
        const struct timespec left = clock_ns_timespec(is_time ? 0 : deadline_ns - now_ns);
        if (ppoll(fds, sizeof fds / sizeof *fds, &left, NULL) <= 0) {
            if (is_time)
                return LIVE_TIME;
            continue;
        }
        if (fds[0].revents && take_signal(terminal, &event) && (event == LIVE_END || terminal->has_screen))
            return event;
        if (fds[1].revents)
            return take_key(terminal, ret_key);
        if (fds[2].revents)
            return LIVE_ENDED;
    }
}
