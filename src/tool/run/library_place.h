/* Where `make install` has put the library: it links the tool with a library_place.o of its own. */
#ifndef WALLPROF_LIBRARY_PLACE_H
#define WALLPROF_LIBRARY_PLACE_H

/* A directory; "" in a tool that was not installed. */
extern const char library_place[];

#endif
