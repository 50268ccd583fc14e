// include/wallprof.h in C++: scopes that end by return and by exception. Prints what the header says of it.
#include "target.h"
#include "wallprof.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace
{

// Before main, in a constructor that the header's own must come before.
const int first_token = wallprof_push(wallprof_label("begun", "early"));

KEEP_FRAME void spin(uint64_t ms)
{
    work_ms(ms);
    KEEP_CALL();
}

void request(const std::string &tenant, uint64_t ms)
{
    wallprof::label_scope scope("tenant", tenant.c_str());
    {
        wallprof::label_scope inner(WALLPROF_LABEL("step", "read"));
        spin(ms);
    }
    WALLPROF_SCOPE("step", "write");
    spin(ms);
    throw std::runtime_error("no more");
}

} // namespace

int main(int argc, char **argv)
{
    const uint64_t ms = argc > 1 ? strtoull(argv[1], nullptr, 10) : 0;
    wallprof_pop(first_token);
    for (int i = 0; i < 4; i++) {
        try {
            request(i % 2 ? "odd" : "even", ms);
        } catch (const std::runtime_error &) {
        }
    }
    spin(ms);
    printf("%s\n", first_token > 0 ? "recorded" : first_token == 0 ? "alone" : "an error");
    return 0;
}
