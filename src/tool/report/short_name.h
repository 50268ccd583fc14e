/*
 * A function's name in few columns: what says least goes first. Arguments, then template arguments, then
 * namespaces from the outermost on. The last part stays.
 *
 *     Journal::append(std::vector<Entry> const&)     Journal::append
 *     std::map<int, Row>::find(int const&)           map<>::find
 *     JS:*handle /srv/app/server.js:2:21             handle server.js:2
 *     py::fetch.<locals>.get:/srv/app/shop.py        fetch.get shop.py
 *     fetch.<locals>.get shop.py:21                  fetch.get shop.py:21
 *
 * Called from: reports. Names as demanglers of C++, Rust and Go write them.
 */
#ifndef WALLPROF_SHORT_NAME_H
#define WALLPROF_SHORT_NAME_H

enum { SHORT_NAME_BYTES = 512 };

/* At most `columns` columns if that is possible without cutting the last part; negative: the name as it is.
 * Returns ret. */
const char *short_name(const char *name, int columns, char ret[SHORT_NAME_BYTES]);

#endif
