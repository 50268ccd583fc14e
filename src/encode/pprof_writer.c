#include "pprof_writer.h"

uint64_t pprof_intern(struct pprof_writer *writer, const char *text)
{
    return string_table_intern(&writer->strings, text);
}

void pprof_flush(struct pprof_writer *writer)
{
    if (writer->output.failed)
        return;
    sink_write(writer->sink, writer->output.bytes, writer->output.used);
    protobuf_clear(&writer->output);
}

void pprof_emit(struct pprof_writer *writer, uint32_t field)
{
    protobuf_message(&writer->output, field, &writer->message);
    protobuf_clear(&writer->message);
    if (writer->output.used > 1 << 16)
        pprof_flush(writer);
}
