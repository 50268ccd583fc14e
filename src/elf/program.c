/*
 * What is needed lies close together in nearly all files, so three reads of the window are enough. Every
 * offset in the file is untrusted; the kernel refuses what is not there.
 *
 * System calls are made directly. The C library's open is a cancellation point, which posix_spawn is not.
 */
#include "program.h"
#include "elf_exports.h"
#include "file_window.h"
#include "sig/sys/sig_arch.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_PROGRAM_HEADERS = 64,
    MOST_DYNAMIC_ENTRIES = 256,
    MOST_LIBRARIES = 64,
    MOST_LOADER_BYTES = 1 << 20
};

/* The linker's: this library's own header. Its dynamic section is _DYNAMIC. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

/* ---- files ---- */

static bool find_file(int directory_fd, const char *path, int flags, struct stat *ret)
{
    return sig_syscall4(SYS_newfstatat, directory_fd, (long)path, (long)ret, flags) == 0;
}

static int open_to_read(int directory_fd, const char *path, int flags)
{
    return (int)sig_syscall4(SYS_openat, directory_fd, (long)path,
                             O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, 0);
}

static void close_file(int fd)
{
    sig_syscall4(SYS_close, fd, 0, 0, 0);
}

static char *put_number(char *at, unsigned number)
{
    if (number >= 10)
        at = put_number(at, number / 10);
    *at = (char)('0' + number % 10);
    return at + 1;
}

/* A regular file only, because to open another may do something. Returns a negative number otherwise. */
static int open_program(int directory_fd, const char *path, int flags)
{
    struct stat status;
    char entry[40];
    if (!find_file(directory_fd, path, flags, &status) || !S_ISREG(status.st_mode))
        return -1;
    if (!path || !*path) { /* AT_EMPTY_PATH: a descriptor, which may not be open to read */
        *put_number(stpcpy(entry, "/proc/thread-self/fd/"), (unsigned)directory_fd) = '\0';
        path = entry;
    }
    return open_to_read(directory_fd, path, flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0);
}

/* The rights that execve looks for are the effective ones. Before Linux 5.8, and under a sandbox that does
 * not know the call, only the mode tells. */
bool program_can_execute(const char *path, bool asks_kernel)
{
    struct stat status;
    if (!find_file(AT_FDCWD, path, 0, &status) || !S_ISREG(status.st_mode))
        return false;
    if (!asks_kernel)
        return (status.st_mode & 0111) != 0;
    long error = sig_syscall4(SYS_faccessat2, AT_FDCWD, (long)path, X_OK, AT_EACCESS);
    return error == -ENOSYS || error == -EPERM ? (status.st_mode & 0111) != 0 : error == 0;
}

bool program_can_open(const char *path)
{
    int fd = open_to_read(AT_FDCWD, path, 0);
    if (fd >= 0)
        close_file(fd);
    return fd >= 0;
}

/* ---- which C library the interpreter belongs to ---- */

const char *program_own_library(void)
{
    const struct link_map *map = elf_exports_own_object();
    return map ? map->l_name : "";
}

struct program_loader program_own_loader(void)
{
    struct stat status;
    uint64_t base = getauxval(AT_BASE);
    const struct link_map *map = _r_debug.r_map;
    while (map && map->l_addr != base)
        map = map->l_next;
    if (!base || !map || !find_file(AT_FDCWD, map->l_name, 0, &status))
        return (struct program_loader){0};
    return (struct program_loader){.device = status.st_dev, .inode = status.st_ino};
}

static uint64_t own_dynamic(int64_t tag)
{
    uint64_t base = (uint64_t)(uintptr_t)__ehdr_start;
    for (const Elf64_Dyn *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == tag)
            return elf_exports_pointer(base, entry->d_un.d_ptr);
    }
    return 0;
}

static unsigned number_at(const char *text)
{
    unsigned number = 0;
    for (; *text >= '0' && *text <= '9' && number < 1000; text++)
        number = number * 10 + (unsigned)(*text - '0');
    return number;
}

/* The N of the newest version GLIBC_2.N that this library needs. Built with 2.34 or later, it does not load
 * the libraries of threads and of the loader that an older one has. */
static unsigned needed_glibc(void)
{
    const char *strings = (const char *)(uintptr_t)own_dynamic(DT_STRTAB);
    const char *need_at = (const char *)(uintptr_t)own_dynamic(DT_VERNEED);
    unsigned newest = __GLIBC_PREREQ(2, 34) ? 34 : 0;
    while (strings && need_at) {
        const Elf64_Verneed *need = (const Elf64_Verneed *)(const void *)need_at;
        const char *version_at = need_at + need->vn_aux;
        for (unsigned i = 0; i < need->vn_cnt; i++) {
            const Elf64_Vernaux *version = (const Elf64_Vernaux *)(const void *)version_at;
            const char *name = strings + version->vna_name;
            unsigned number = strncmp(name, "GLIBC_2.", 8) == 0 ? number_at(name + 8) : 0;
            newest = number > newest ? number : newest;
            version_at += version->vna_next;
        }
        need_at = need->vn_next ? need_at + need->vn_next : NULL;
    }
    return newest;
}

/* The N of the C library 2.N that a loader is of, by what it says for --version. 0: of another C library, or
 * of one older than 2.33, which had no such text. */
static unsigned glibc_of(struct file_window *loader)
{
    static const char text[] = "stable release version 2.";
    enum { TEXT_LENGTH = sizeof(text) - 1, DIGITS = 3 };
    for (uint64_t offset = 0; offset < MOST_LOADER_BYTES;
         offset += FILE_WINDOW_BYTES - TEXT_LENGTH - DIGITS) {
        const unsigned char *at;
        size_t there = file_window_look_at(loader, offset, FILE_WINDOW_BYTES, &at);
        const unsigned char *found = memmem(at, there, text, TEXT_LENGTH);
        char digits[DIGITS + 1] = {0};
        if (found && file_window_copy(loader, offset + (uint64_t)(found - at) + TEXT_LENGTH, digits, DIGITS))
            return number_at(digits);
        if (there < FILE_WINDOW_BYTES)
            break;
    }
    return 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The C library that a loader is of, where its name tells that it is another one than glibc. */
static const char *other_library_of(const char *loader)
{
    static const char *const names[][2] = {{"ld-musl", "its C library is musl"},
                                           {"ld-uClibc", "its C library is uClibc"},
                                           {"linker", "its C library is Android's"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strncmp(last_part(loader), names[i][0], strlen(names[i][0])) == 0)
            return names[i][1];
    }
    return NULL;
}

static const char *obstacle_of_loader(const struct program_loader *own, const char *path)
{
    struct stat status;
    const char *other = other_library_of(path);
    if (other)
        return other;
    if (own->is_of_any_version || !find_file(AT_FDCWD, path, 0, &status) ||
        (status.st_dev == own->device && status.st_ino == own->inode))
        return NULL;
    struct file_window loader = {.fd = open_program(AT_FDCWD, path, 0)};
    if (loader.fd < 0)
        return NULL;
    unsigned version = glibc_of(&loader);
    close_file(loader.fd);
    return version < needed_glibc() ? "its C library is another or too old" : NULL;
}

/* ---- which libraries it needs ---- */

bool program_is_runtime(const char *name)
{
    return strncmp(name, "libasan.so", 10) == 0 || strncmp(name, "libclang_rt.asan", 16) == 0;
}

/* What is read of an ELF file. */
struct elf_program {
    Elf64_Ehdr header;
    Elf64_Phdr interpreter, dynamic; /* p_type 0: none */
};

/* The offset in the file of an address; the largest number if there is none. */
static uint64_t offset_of(struct file_window *file, const Elf64_Ehdr *header, uint64_t address)
{
    Elf64_Phdr segment;
    for (unsigned i = 0; i < header->e_phnum && i < MOST_PROGRAM_HEADERS; i++) {
        if (file_window_copy(file, header->e_phoff + i * sizeof(segment), &segment, sizeof(segment)) &&
            segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    }
    return UINT64_MAX;
}

/* Finds the runtime among the libraries that the program itself names. */
static void find_runtime(struct file_window *head, const struct elf_program *elf, char *ret)
{
    struct file_window file = {.fd = head->fd}; /* a second one, so that the headers are read once */
    uint64_t names[MOST_LIBRARIES], strings = 0;
    unsigned count = 0;
    Elf64_Dyn entry = {.d_tag = DT_DEBUG};
    for (unsigned i = 0; i < MOST_DYNAMIC_ENTRIES && entry.d_tag != DT_NULL; i++) {
        if (!file_window_copy(&file, elf->dynamic.p_offset + i * sizeof(entry), &entry, sizeof(entry)))
            break;
        if (entry.d_tag == DT_NEEDED && count < MOST_LIBRARIES)
            names[count++] = entry.d_un.d_val;
        if (entry.d_tag == DT_STRTAB)
            strings = entry.d_un.d_ptr;
    }
    strings = offset_of(head, &elf->header, strings);
    for (unsigned i = 0; i < count && strings != UINT64_MAX; i++) {
        char name[PROGRAM_RUNTIME_BYTES];
        if (file_window_copy_string(&file, strings + names[i], name, sizeof(name)) &&
            program_is_runtime(name)) {
            strcpy(ret, name);
            return;
        }
    }
}

/* ---- the program ---- */

static bool find_segments(struct file_window *file, struct elf_program *elf)
{
    Elf64_Phdr segment;
    for (unsigned i = 0; i < elf->header.e_phnum && i < MOST_PROGRAM_HEADERS; i++) {
        if (!file_window_copy(file, elf->header.e_phoff + i * sizeof(segment), &segment, sizeof(segment)))
            return false;
        if (segment.p_type == PT_INTERP)
            elf->interpreter = segment;
        if (segment.p_type == PT_DYNAMIC)
            elf->dynamic = segment;
    }
    return elf->interpreter.p_type == PT_INTERP;
}

static bool has_interpreter_of_32_bits(struct file_window *file)
{
    Elf32_Ehdr header;
    Elf32_Phdr segment;
    if (!file_window_copy(file, 0, &header, sizeof(header)))
        return false;
    for (unsigned i = 0; i < header.e_phnum && i < MOST_PROGRAM_HEADERS; i++) {
        if (file_window_copy(file, header.e_phoff + i * sizeof(segment), &segment, sizeof(segment)) &&
            segment.p_type == PT_INTERP)
            return true;
    }
    return false;
}

/* Machine and class. False if it is no ELF file, or one without a whole header. */
static bool read_header(struct file_window *file, Elf64_Ehdr *header, struct program *ret)
{
    char magic[SELFMAG] = "";
    bool is_elf = file_window_copy(file, 0, magic, SELFMAG) && memcmp(magic, ELFMAG, SELFMAG) == 0;
    ret->form = is_elf ? PROGRAM_CUT : PROGRAM_OTHER;
    if (!is_elf || !file_window_copy(file, 0, header, sizeof(*header)))
        return false;
    ret->form = PROGRAM_STATIC;
    ret->has_32_bits = header->e_ident[EI_CLASS] == ELFCLASS32;
    ret->machine = header->e_machine; /* at the same place in both classes */
    if (header->e_ident[EI_DATA] == ELFDATA2MSB)
        ret->machine = __builtin_bswap16(ret->machine);
    return true;
}

/* A loader can be executed by its name too (ld.so(8)). path: by which the file was opened. */
static void examine_elf(struct file_window *file, const struct program_loader *own, const char *path,
                        struct program *ret)
{
    struct elf_program elf = {.interpreter = {.p_type = PT_NULL}};
    char interpreter[PROGRAM_NAME_BYTES];
    if (!read_header(file, &elf.header, ret))
        return;
    if (elf.header.e_ident[EI_DATA] == ELFDATA2MSB) { /* an emulator may run it; no more of it is read */
        ret->obstacle = "it is for another machine";
        ret->form = PROGRAM_DYNAMIC;
        return;
    }
    if (ret->has_32_bits) {
        ret->obstacle = has_interpreter_of_32_bits(file) ? "it has 32 bits" : NULL;
        ret->form = ret->obstacle ? PROGRAM_DYNAMIC : PROGRAM_STATIC;
        return;
    }
    if (!find_segments(file, &elf)) {
        if (path && strncmp(last_part(path), "ld-", 3) == 0)
            ret->obstacle = obstacle_of_loader(own, path);
        return;
    }
    ret->form = PROGRAM_DYNAMIC;
    if (!file_window_copy_string(file, elf.interpreter.p_offset, interpreter, sizeof(interpreter)))
        return;
    ret->obstacle = ret->machine == PROGRAM_OWN_MACHINE ? obstacle_of_loader(own, interpreter)
                                                        : "it is for another machine";
    if (!ret->obstacle && elf.dynamic.p_type == PT_DYNAMIC)
        find_runtime(file, &elf, ret->runtime);
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t';
}

/* The interpreter of a #! line, as the kernel reads it; after its NUL the argument, blanks in it included.
 * False: it is no script. */
static bool find_interpreter(struct file_window *file, char ret[PROGRAM_NAME_BYTES])
{
    const unsigned char *line;
    size_t there = file_window_look_at(file, 0, PROGRAM_NAME_BYTES, &line), start = 2, length = 2, end;
    if (there < 3 || line[0] != '#' || line[1] != '!')
        return false;
    while (length < there && line[length] && line[length] != '\n')
        length++;
    while (length > start && is_blank(line[length - 1]))
        length--;
    while (start < length && is_blank(line[start]))
        start++;
    for (end = start; end < length && !is_blank(line[end]);)
        end++;
    char *argument = mempcpy(ret, line + start, end - start);
    *argument++ = '\0';
    while (end < length && is_blank(line[end]))
        end++;
    memcpy(argument, line + end, length - end);
    argument[length - end] = '\0';
    return start + strlen(ret) < PROGRAM_NAME_BYTES; /* else it may be longer */
}

void program_examine_file(const struct program_loader *loader, int directory_fd, const char *path, int flags,
                          struct program *ret, char ret_interpreter[PROGRAM_NAME_BYTES])
{
    *ret = (struct program){.obstacle = NULL};
    struct file_window file = {.fd = open_program(directory_fd, path, flags)};
    if (file.fd < 0)
        return;
    if (find_interpreter(&file, ret_interpreter))
        ret->form = PROGRAM_SCRIPT;
    else
        examine_elf(&file, loader, path, ret);
    close_file(file.fd);
}

void program_examine(const struct program_loader *loader, int directory_fd, const char *path, int flags,
                     struct program *ret)
{
    char interpreter[PROGRAM_NAME_BYTES];
    for (int level = 0; level <= PROGRAM_LEVELS; level++) {
        program_examine_file(loader, directory_fd, path, flags, ret, interpreter);
        if (ret->form != PROGRAM_SCRIPT)
            return;
        directory_fd = AT_FDCWD;
        path = interpreter;
        flags = 0;
    }
}
