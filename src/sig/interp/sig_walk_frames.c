#include "sig_walk_frames.h"

#include "sig_interp_read.h"

bool sig_walk_frames(const struct sig_interp_layout *layout, const struct sig_interp_thread *thread,
                     const struct sig_interp_memory *memory, struct sig_interp_scratch *scratch,
                     struct sig_interp_stack *stack)
{
    const struct sig_interp_walk walk = {thread, memory, scratch, stack};
    sig_interp_begin(&walk);
    switch (layout->language) {
    case SIG_INTERP_PYTHON:
        return sig_python_walk(&layout->of.python, &walk);
    case SIG_INTERP_PHP:
        return sig_php_walk(&layout->of.php, &walk);
    case SIG_INTERP_PERL:
        return sig_perl_walk(&layout->of.perl, &walk);
    default:
        return false;
    }
}
