/*
 * Offsets and sizes of an ELF file are 64-bit numbers that may be hostile: none is added to another before it
 * is known to be inside the image. Constants bound what is read, so neither memory nor time depends on what a
 * header claims.
 */
#include "elf_image.h"

#include "base/arena.h"
#include "elf.h"
#include "sig/sys/sig_memory.h"
#include "base/raw_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { HOST_ELF_DATA = ELFDATA2LSB };
#else
enum { HOST_ELF_DATA = ELFDATA2MSB };
#endif

enum {
    SECTION_MAX_BYTES = 1 << 30,
    TABLE_PIECE_BYTES = 48 * 1024,
    NOTES_MAX_BYTES = 64 * 1024, /* read of one note section or segment */
    NOTES_MAX_COUNT = 64,        /* sections or segments searched */
    BUILD_ID_MAX_BYTES = 64,
    NOTE_ALIGN_BYTES = 4
};

bool elf_image_read(const struct elf_image *image, uint64_t offset, void *buffer, size_t bytes)
{
    if (offset > image->size_bytes || bytes > image->size_bytes - offset)
        return false;
    if (image->loaded_at) /* through the kernel: a library can be unloaded at any moment */
        return sig_memory_copy(buffer, image->loaded_at + offset, bytes);
    if (image->memory) {
        memcpy(buffer, image->memory + offset, bytes);
        return true;
    }
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(image->fd, (char *)buffer + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* A number that is too large for the header stands in section 0 (gABI, e_shnum). */
static size_t section_count(const struct elf_image *image)
{
    const Elf64_Ehdr *header = &image->header;
    if (header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr) ||
        header->e_shoff > image->size_bytes)
        return 0;
    uint64_t claimed = header->e_shnum, room = (image->size_bytes - header->e_shoff) / sizeof(Elf64_Shdr);
    Elf64_Shdr first;
    if (claimed == 0 && elf_image_read(image, header->e_shoff, &first, sizeof first))
        claimed = first.sh_size;
    if (room > SECTION_MAX_BYTES / sizeof(Elf64_Shdr))
        room = SECTION_MAX_BYTES / sizeof(Elf64_Shdr);
    return claimed < room ? claimed : room;
}

bool elf_header_is_ours(const Elf64_Ehdr *header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
           header->e_ident[EI_DATA] == HOST_ELF_DATA;
}

/* Sections that cannot be read leave an image without names, not an error. */
static int load_headers(struct elf_image *image)
{
    const Elf64_Ehdr *header = &image->header;
    if (!elf_image_read(image, 0, &image->header, sizeof image->header) || !elf_header_is_ours(header))
        return -ENOEXEC;
    size_t count = section_count(image);
    if (count == 0)
        return 0;
    image->sections = scratch_alloc(count * sizeof(Elf64_Shdr));
    if (!image->sections)
        return -ENOMEM;
    image->section_count = count;
    if (!elf_image_read(image, header->e_shoff, image->sections, count * sizeof(Elf64_Shdr)))
        memset(image->sections, 0, count * sizeof(Elf64_Shdr));
    return 0;
}

static int open_regular_file(const char *path, uint64_t *size_bytes)
{
    /* Not blocking: the path may have become a pipe since the program was started. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat status;
    if (fd < 0)
        return -errno;
    int error = raw_fstat(fd, &status) < 0 ? -errno : 0;
    if (error == 0 && !S_ISREG(status.st_mode))
        error = S_ISDIR(status.st_mode) ? -EISDIR : -ENOEXEC;
    if (error < 0) {
        close(fd);
        return error;
    }
    *size_bytes = (uint64_t)status.st_size;
    return fd;
}

int elf_image_open(struct elf_image *image, const char *path)
{
    *image = (struct elf_image){.fd = -1};
    int fd = open_regular_file(path, &image->size_bytes);
    if (fd < 0)
        return fd;
    image->fd = fd;
    int status = load_headers(image);
    if (status < 0)
        elf_image_deinit(image);
    return status;
}

int elf_image_init(struct elf_image *image, const void *memory, size_t size_bytes)
{
    *image = (struct elf_image){.fd = -1, .memory = memory, .size_bytes = size_bytes};
    return load_headers(image);
}

void elf_image_deinit(struct elf_image *image)
{
    if (image->fd >= 0)
        close(image->fd);
    scratch_free(image->sections, image->section_count * sizeof(Elf64_Shdr));
    *image = (struct elf_image){.fd = -1};
}

size_t elf_section_bytes(const struct elf_image *image, const Elf64_Shdr *section)
{
    if (section->sh_type == SHT_NOBITS || (section->sh_flags & SHF_COMPRESSED) ||
        section->sh_offset > image->size_bytes)
        return 0;
    uint64_t bytes = image->size_bytes - section->sh_offset;
    if (bytes > section->sh_size)
        bytes = section->sh_size;
    return bytes < SECTION_MAX_BYTES ? bytes : SECTION_MAX_BYTES;
}

static struct elf_bytes load_bytes(const struct elf_image *image, uint64_t offset, size_t bytes)
{
    struct elf_bytes loaded = {bytes ? scratch_alloc(bytes) : NULL, bytes};
    if (!loaded.data)
        return (struct elf_bytes){NULL, 0};
    if (!elf_image_read(image, offset, loaded.data, bytes))
        elf_bytes_free(&loaded);
    return loaded;
}

struct elf_bytes elf_section_load(const struct elf_image *image, const Elf64_Shdr *section)
{
    if (!section)
        return (struct elf_bytes){NULL, 0};
    return load_bytes(image, section->sh_offset, elf_section_bytes(image, section));
}

void elf_bytes_free(struct elf_bytes *bytes)
{
    scratch_free(bytes->data, bytes->bytes);
    *bytes = (struct elf_bytes){NULL, 0};
}

void elf_table_visit(const struct elf_image *image, const Elf64_Shdr *table, size_t entry_bytes,
                     elf_visit_fn *visit, void *context)
{
    const size_t piece_bytes = TABLE_PIECE_BYTES / entry_bytes * entry_bytes;
    size_t left = elf_section_bytes(image, table) / entry_bytes * entry_bytes;
    char *piece = left ? scratch_alloc(piece_bytes) : NULL;
    for (uint64_t offset = table->sh_offset; piece && left > 0; offset += piece_bytes) {
        size_t bytes = left < piece_bytes ? left : piece_bytes;
        if (!elf_image_read(image, offset, piece, bytes))
            break;
        for (size_t at = 0; at < bytes; at += entry_bytes)
            visit(context, piece + at);
        left -= bytes;
    }
    scratch_free(piece, piece_bytes);
}

const Elf64_Shdr *elf_section_of_type(const struct elf_image *image, uint32_t type, size_t entry_bytes)
{
    for (size_t i = 1; i < image->section_count; i++) {
        if (image->sections[i].sh_type == type && image->sections[i].sh_entsize == entry_bytes)
            return &image->sections[i];
    }
    return NULL;
}

const Elf64_Shdr *elf_section_strings(const struct elf_image *image, const Elf64_Shdr *section)
{
    if (section->sh_link >= image->section_count || image->sections[section->sh_link].sh_type != SHT_STRTAB)
        return NULL;
    return &image->sections[section->sh_link];
}

/* As with e_shnum, a number that is too large for the header stands in section 0. */
const Elf64_Shdr *elf_section_names(const struct elf_image *image)
{
    size_t index = image->header.e_shstrndx;
    if (index == SHN_XINDEX && image->section_count > 0)
        index = image->sections[0].sh_link;
    return index < image->section_count ? &image->sections[index] : NULL;
}

const char *elf_string(const struct elf_bytes *strings, uint64_t offset)
{
    if (offset >= strings->bytes || !memchr((const char *)strings->data + offset, 0, strings->bytes - offset))
        return NULL;
    return (const char *)strings->data + offset;
}

const Elf64_Shdr *elf_section_named(const struct elf_image *image, const char *name)
{
    const Elf64_Shdr *found = NULL;
    struct elf_bytes strings = elf_section_load(image, elf_section_names(image));
    for (size_t i = 1; strings.data && i < image->section_count && !found; i++) {
        const char *candidate = elf_string(&strings, image->sections[i].sh_name);
        if (candidate && !strcmp(candidate, name))
            found = &image->sections[i];
    }
    elf_bytes_free(&strings);
    return found;
}

static size_t note_padded(size_t bytes)
{
    return (bytes + NOTE_ALIGN_BYTES - 1) & ~(size_t)(NOTE_ALIGN_BYTES - 1);
}

/* Notes are padded to 4 bytes; for those padded to 8 (property notes) the result is the same. */
size_t elf_build_id_in_notes(const void *notes, size_t notes_bytes, uint8_t *build_id, size_t capacity)
{
    const unsigned char *at = notes;
    Elf64_Nhdr note;
    while (notes_bytes >= sizeof note) {
        memcpy(&note, at, sizeof note);
        at += sizeof note;
        notes_bytes -= sizeof note;
        size_t name_bytes = note_padded(note.n_namesz), id_bytes = note.n_descsz;
        if (name_bytes > notes_bytes || id_bytes > notes_bytes - name_bytes)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
            memcmp(at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
            if (id_bytes > capacity)
                return 0;
            memcpy(build_id, at + name_bytes, id_bytes);
            return id_bytes;
        }
        if (note_padded(id_bytes) > notes_bytes - name_bytes)
            return 0;
        at += name_bytes + note_padded(id_bytes);
        notes_bytes -= name_bytes + note_padded(id_bytes);
    }
    return 0;
}

static bool notes_match(const struct elf_image *image, uint64_t offset, uint64_t bytes,
                        const uint8_t *build_id, size_t build_id_bytes)
{
    uint8_t found[BUILD_ID_MAX_BYTES];
    struct elf_bytes notes = load_bytes(image, offset, bytes < NOTES_MAX_BYTES ? bytes : NOTES_MAX_BYTES);
    size_t found_bytes = elf_build_id_in_notes(notes.data, notes.bytes, found, sizeof found);
    elf_bytes_free(&notes);
    return found_bytes == build_id_bytes && memcmp(found, build_id, found_bytes) == 0;
}

static bool segments_have_build_id(const struct elf_image *image, const uint8_t *build_id,
                                   size_t build_id_bytes)
{
    size_t looked_at = 0;
    for (size_t i = 0; i < image->header.e_phnum && looked_at < NOTES_MAX_COUNT; i++) {
        Elf64_Phdr segment;
        uint64_t offset = i * sizeof segment;
        if (image->header.e_phoff > image->size_bytes ||
            !elf_image_read(image, image->header.e_phoff + offset, &segment, sizeof segment))
            return false;
        if (segment.p_type != PT_NOTE)
            continue;
        looked_at++;
        if (notes_match(image, segment.p_offset, segment.p_filesz, build_id, build_id_bytes))
            return true;
    }
    return false;
}

/* In a separate debug file the offsets of segments are those of the stripped file: only sections count. */
static bool sections_have_build_id(const struct elf_image *image, const uint8_t *build_id,
                                   size_t build_id_bytes)
{
    size_t looked_at = 0;
    for (size_t i = 1; i < image->section_count && looked_at < NOTES_MAX_COUNT; i++) {
        const Elf64_Shdr *section = &image->sections[i];
        if (section->sh_type != SHT_NOTE)
            continue;
        looked_at++;
        if (notes_match(image, section->sh_offset, elf_section_bytes(image, section), build_id,
                        build_id_bytes))
            return true;
    }
    return false;
}

bool elf_image_has_build_id(const struct elf_image *image, const uint8_t *build_id, size_t build_id_bytes)
{
    if (image->header.e_phentsize == sizeof(Elf64_Phdr) &&
        segments_have_build_id(image, build_id, build_id_bytes))
        return true;
    return sections_have_build_id(image, build_id, build_id_bytes);
}
