#include "library_place.h"

#ifdef WALLPROF_LIBDIR
const char library_place[] = WALLPROF_LIBDIR;
#else
const char library_place[] = "";
#endif
