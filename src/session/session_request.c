#include "session_request.h"
#include "base/clock.h"
#include "base/raw_calls.h"
#include "base/futex.h"
#include "session_internal.h"
#include "sig/signal/sig_control.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a thread of the program waits. The sampler may be waiting for that thread. */
static const uint64_t patience_ns = 10 * (uint64_t)NS_PER_S;

/* How often a waiting thread checks whether the recording ends meanwhile. */
static const uint64_t check_ns = 100 * NS_PER_MS;

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* ---- in threads of the program ---- */

void session_wake(struct session_requests *requests)
{
    uint32_t *word = &requests->page->wake;
    sig_add_seq_cst(word, 1);
    futex_wake_all_shared(word);
}

/* This process's, while it is recorded. */
static struct session *recorded_session(void)
{
    struct session *session = session_own();
    return session && !session_state_is_final(&session->handshake.state) ? session : NULL;
}

/* Gets the right to send a request. A handler within its own thread's request would wait for ever. */
static int take_turn(struct session_request *request, const uint32_t *state, uint64_t deadline_ns)
{
    uint32_t tid = (uint32_t)sig_syscall4(SYS_gettid, 0, 0, 0, 0), turn = 0;
    while (!sig_cas_acq_rel(&request->turn, &turn, tid)) {
        uint64_t now_ns = clock_monotonic_ns();
        if (turn == tid)
            return CONTROL_BUSY;
        if (session_state_is_final(state))
            return CONTROL_NOT_RECORDED;
        if (now_ns >= deadline_ns)
            return CONTROL_TIMED_OUT;
        futex_wait(&request->turn, turn, now_ns + check_ns);
        turn = 0;
    }
    return 0;
}

static void end_turn(struct session_request *request)
{
    sig_store_seq_cst(&request->state, REQUEST_NONE);
    sig_store_seq_cst(&request->turn, 0);
    futex_wake_all(&request->turn);
}

/* A request that is being carried out goes on without this thread; then the sampler ends the turn. */
static int abandon(struct session_request *request, bool is_final)
{
    uint32_t sent = REQUEST_SENT, taken = REQUEST_TAKEN;
    int result = is_final ? CONTROL_NOT_RECORDED : CONTROL_TIMED_OUT;
    if (sig_cas_acq_rel(&request->state, &taken, REQUEST_ABANDONED))
        return result;
    if (!sig_cas_acq_rel(&request->state, &sent, REQUEST_NONE) && sent == REQUEST_DONE)
        result = request->result;
    end_turn(request);
    return result;
}

static int wait_for_reply(struct session_request *request, const uint32_t *state, uint64_t deadline_ns)
{
    uint32_t now;
    while ((now = sig_load_seq_cst(&request->state)) != REQUEST_DONE) {
        uint64_t now_ns = clock_monotonic_ns();
        bool is_final = session_state_is_final(state);
        if (now_ns >= deadline_ns || (now == REQUEST_SENT && is_final))
            return abandon(request, is_final);
        futex_wait(&request->state, now, now_ns + check_ns);
    }
    int result = request->result;
    end_turn(request);
    return result;
}

int session_send_request(enum control_kind kind, const char *path)
{
    struct session *session = recorded_session();
    if (!session)
        return CONTROL_NOT_RECORDED;
    if (session_is_held_here()) /* this handler interrupts a fork: the sampler could not reply */
        return CONTROL_BUSY;
    uint64_t deadline_ns = clock_monotonic_ns() + patience_ns;
    struct session_request *request = &session->requests.request;
    int status = take_turn(request, &session->handshake.state, deadline_ns);
    if (status < 0)
        return status;
    request->kind = kind;
    strcpy(request->path, path ? path : "");
    sig_store_seq_cst(&request->state, REQUEST_SENT);
    session_wake(&session->requests);
    return wait_for_reply(request, &session->handshake.state, deadline_ns);
}

int session_is_active(void)
{
    struct session *session = recorded_session();
    return session ? !sig_load_relaxed(&session->recording.is_stopped) : CONTROL_NOT_RECORDED;
}

/* ---- the life of a session ---- */

int session_requests_init(struct session_requests *requests)
{
    requests->page = scratch_alloc(CONTROL_PAGE_BYTES);
    return requests->page ? 0 : -ENOMEM;
}

void session_requests_discard(struct session_requests *requests)
{
    scratch_free(requests->page, CONTROL_PAGE_BYTES);
}

/* A nameless file that nobody can make smaller while it is mapped. Kernels before 6.3 refuse MFD_NOEXEC_SEAL;
 * later ones complain if it is missing. */
static int open_page(void)
{
    int fd = raw_memfd_create(CONTROL_PAGE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0)
        fd = raw_memfd_create(CONTROL_PAGE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, CONTROL_PAGE_BYTES) == 0 &&
        raw_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
        fchmod(fd, S_IRUSR | S_IWUSR) == 0)
        return fd;
    close(fd);
    return -1;
}

/*
 * The file takes the place of the memory that was there, so the address stays. A wake at this moment may be
 * lost with the old memory. That does no harm, because the state and the requests are read after this. The
 * tool finds the page by the descriptor, which stays open.
 */
void session_requests_open(struct session_requests *requests)
{
    struct control_page *page = requests->page;
    int fd = open_page();
    if (fd < 0)
        return;
    if (mmap(page, CONTROL_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        close(fd);
        return;
    }
    requests->replied = 0;
    sig_store_seq_cst(&page->layout, CONTROL_PAGE_LAYOUT);
}

bool session_requests_are_pending(const struct session_requests *requests)
{
    return sig_load_seq_cst(&requests->request.state) == REQUEST_SENT ||
           sig_load_seq_cst(&requests->page->request_number) != requests->replied ||
           sig_control_count() != requests->toggles;
}

/* ---- in the sampler ---- */

static int carry_out(struct session *session, enum control_kind kind, const char *path)
{
    uint64_t now_ns = clock_monotonic_ns();
    switch (kind) {
    case CONTROL_START:
        return session_control_start(session, now_ns);
    case CONTROL_STOP:
        return session_control_stop(session, now_ns);
    case CONTROL_DUMP:
        if (!session->recording.has_begun)
            return CONTROL_NOTHING;
        return -session_write_dump(session, path, now_ns);
    default:
        return kind == CONTROL_STATUS ? 0 : EINVAL;
    }
}

static bool take_request(struct session_request *request)
{
    uint32_t sent = REQUEST_SENT;
    return sig_cas_acq_rel(&request->state, &sent, REQUEST_TAKEN);
}

static void reply(struct session_request *request, int result)
{
    uint32_t taken = REQUEST_TAKEN;
    request->result = result;
    if (!sig_cas_acq_rel(&request->state, &taken, REQUEST_DONE))
        end_turn(request); /* nobody waits any more */
    futex_wake_all(&request->state);
}

static void act_on_request(struct session *session)
{
    struct session_request *request = &session->requests.request;
    if (take_request(request))
        reply(request, carry_out(session, request->kind, request->path));
}

static void act_on_signal(struct session *session)
{
    struct session_requests *requests = &session->requests;
    uint32_t count = sig_control_count(), times = count - requests->toggles;
    bool is_stopped = sig_load_relaxed(&session->recording.is_stopped);
    requests->toggles = count;
    if (times % 2 == 1)
        carry_out(session, is_stopped ? CONTROL_START : CONTROL_STOP, NULL);
    if (sig_control_is_given_back() && !requests->is_loss_reported) {
        requests->is_loss_reported = true;
        log_add(&session->log, LOG_WARNING,
                "the program uses signal %d itself: it does not start and stop the recording any more",
                session->config->control_signal);
    }
}

static void tell_status(const struct session *session, struct control_status *ret)
{
    const struct session_recording *recording = &session->recording;
    const struct profile_path *output = &session->outputs.paths[0];
    const struct sampler *sampler = &session->sampler;
    char buffer[PATH_MAX];
    ret->pid = session->birth.pid;
    ret->is_recording = !sig_load_relaxed(&recording->is_stopped);
    ret->since_utc_ns = recording->changed_utc_ns ? recording->changed_utc_ns : session->birth.start_utc_ns;
    ret->recorded_ns = session_recorded_ns(recording, clock_monotonic_ns());
    ret->threads_live = sampler->threads->live_count;
    ret->threads_seen = (uint32_t)thread_records_seen(&sampler->records);
    ret->samples = sampler->account.fold.samples;
    ret->files = session->intervals.files;
    snprintf(ret->program, sizeof(ret->program), "%s", profile_path_program_name(buffer, sizeof(buffer)));
    snprintf(ret->out, sizeof(ret->out), "%.*s/%s", PATH_MAX - NAME_MAX - 2, output->directory, output->name);
}

/* The request is read once: the other process may go on writing to it. */
static void act_on_page(struct session *session)
{
    struct control_page *page = session->requests.page;
    char path[PATH_MAX];
    uint32_t number = sig_load_seq_cst(&page->request_number);
    if (number == session->requests.replied)
        return;
    uint32_t kind = sig_load_relaxed(&page->kind);
    memcpy(path, page->path, sizeof(path));
    path[sizeof(path) - 1] = '\0';
    bool is_bad = kind == CONTROL_DUMP && *path && *path != '/';
    page->result = is_bad ? EINVAL : carry_out(session, (enum control_kind)kind, path);
    tell_status(session, &page->status);
    session->requests.replied = number;
    sig_store_seq_cst(&page->reply_number, number);
    futex_wake_all_shared(&page->reply_number);
}

void session_requests_act(struct session *session)
{
    act_on_signal(session);
    act_on_request(session);
    act_on_page(session);
}

void session_requests_end(struct session_requests *requests)
{
    if (take_request(&requests->request))
        reply(&requests->request, CONTROL_NOT_RECORDED);
}
