## A program in one file that runs a kernel without portmp: C, which is C++ as well.
## part: the platform's HostProgram; text: the kernels; name, symbol: the kernel's name, and in C;
## memory: its BlockMemory, alignment: of the parts of what a call decides; signature, form, block; grid: (whether threads are meant, sizes in C or nothing, values)
<%namespace name="program" file="/programs/parts.mako"/>
<%
    arrays = [p for p in signature.parameters if p.is_array]
    numbers = [p for p in signature.parameters if not p.is_array]
    ends = {"float32": "float", "float64": "double"}
    whole = {"int32": "int", "uint32": "unsigned", "int64": "long long", "uint64": "unsigned long long"}
    parts = lambda p: [p.kind] if p.is_plain else list(p.format(form).parts)
    most = max([len(parts(p)) for p in arrays] or [1])
    words = lambda p: p.format(form).arithmetic
    count = sum(len(parts(p)) for p in arrays) + len(signature.sizes)
    count += sum(1 if p.is_plain else words(p).words for p in numbers)
    size_of = lambda part: 1 if part == "bool" else int(part.lstrip("uintfloa")) // 8
    of_threads, axes, values = grid
    parts_told = ", those of the real part before the others"
%>
/* ${name}, written by portmp: a kernel and a program that runs it once.

   Build:  ${part.build.format(name)}
   Run:    ./${name}${"".join(f" {s}=64" for s in signature.sizes)}
% for p in numbers:
           ${p.name}=${"1" if p.is_plain else "1,1e-20"}: ${f"an integer ({p.kind})" if p.is_plain else f"a number of {words(p).name}: its words, leading one first{parts_told * (words(p).components - 1)}; 1 by default"}
% endfor
% for p in arrays:
% if p.way != "out":
           ${p.name}=FILE: its content, plane by plane (${", ".join(parts(p))}), in C order
% endif
% if p.written:
           ${p.name}.to=FILE: where its content is written
% endif
% endfor
% if not axes:
           grid=X,Y,Z: blocks along each axis (a function of Python says it in portmp)
% else:
           grid=X,Y,Z: blocks along each axis, where they are not what follows from sizes
% endif
           device=1: the second device; without a number the first that works

   Without a file leading words are fractions in [0, 1), and all else is zero. It prints a checksum
   of the bits of each array that is written: the same on every device. */
#ifndef _CRT_SECURE_NO_WARNINGS
#define _CRT_SECURE_NO_WARNINGS
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
${part.headers}
${program.kernels_of(part, [text], [(0, symbol)])}
/* --- the program ------------------------------------------------------------------------------ */

static int host_device = -1;
static size_t host_dynamic = 0; /* bytes of block memory that sizes decide */
static int host_count;
static char **host_given;

static void host_fail(const char *what, const char *why)
{
    fprintf(stderr, "${name}: %s: %s\n", what, why);
    exit(1);
}

<%include file="/programs/${part.functions}.mako" args="part=part"/>

/* the text after name= on the command line, or nothing */
static const char *host_option(const char *name)
{
    const size_t length = strlen(name);
    int i;
    for (i = 1; i < host_count; ++i)
        if (!strncmp(host_given[i], name, length) && host_given[i][length] == '=')
            return host_given[i] + length + 1;
    return 0;
}

static long long host_whole(const char *name, long long otherwise, long long low, long long high)
{
    const char *text = host_option(name);
    char *end;
    long long value;
    if (!text)
        return otherwise;
    value = strtoll(text, &end, 0);
    if (end == text || *end || value < low || value > high)
        host_fail(name, "an integer that fits is needed");
    return value;
}

% if any(not p.is_plain for p in numbers):
/* one word of a number */
static double host_word(const char *name, int word)
{
    const char *text = host_option(name);
    char *end;
    double value = word ? 0.0 : 1.0;
    int i;
    if (!text)
        return value;
    for (i = 0; i <= word; ++i) {
        value = strtod(text, &end);
        if (end == text || (*end && *end != ','))
            host_fail(name, "numbers are needed, with commas between");
        if (!*end)
            return i == word ? value : 0.0;
        text = end + 1;
    }
    return value;
}

% endif
struct host_array {
    const char *name, *target;
    int parts, read, written;
    size_t size[${most}];
    char real[${most}];
    long long count;
    void *content[${most}], *memory[${most}];
};

static struct host_array host_arrays[${max(len(arrays), 1)}] = {
% for p in arrays:
    {"${p.name}", "${p.name}.to", ${len(parts(p))}, ${int(p.way != "out")}, ${int(p.written)},
     {${", ".join(str(size_of(part)) for part in parts(p))}},
     {${", ".join(str(int(part in ends and not (not p.is_plain and i % (len(parts(p)) // p.format(form).components)))) for i, part in enumerate(parts(p)))}}, 0, {0}, {0}},
% endfor
};

static void host_fill(struct host_array *array)
{
    const char *name = array->read ? host_option(array->name) : 0;
    FILE *file = name ? fopen(name, "rb") : 0;
    int part;
    if (name && !file)
        host_fail(name, "cannot be read");
    for (part = 0; part < array->parts; ++part) {
        const size_t size = array->size[part], count = (size_t)array->count;
        void *content = calloc(count + 1, size);
        size_t i;
        if (!content)
            host_fail(array->name, "memory does not suffice");
        for (i = 0; !file && array->read && array->real[part] && i < count; ++i) {
            const unsigned bits = (unsigned)((i * 1103515245ull + 12345ull) >> 8 & 0xffff);
            if (size == 4)
                ((float *)content)[i] = (float)bits / 65536.0f;
            else
                ((double *)content)[i] = (double)bits / 65536.0;
        }
        if (file && fread(content, size, count, file) != count)
            host_fail(name, "is shorter than the array");
        array->content[part] = content;
        array->memory[part] = host_memory(content, (count ? count : 1) * size);
    }
    if (file && fgetc(file) != EOF)
        host_fail(name, "is longer than the array");
    if (file)
        fclose(file);
}

static void host_show(struct host_array *array)
{
    const char *name = host_option(array->target);
    FILE *file = name ? fopen(name, "wb") : 0;
    unsigned long long sum = 14695981039346656037ull; /* FNV-1a */
    int part;
    if (name && !file)
        host_fail(name, "cannot be written");
    for (part = 0; part < array->parts; ++part) {
        const size_t bytes = (size_t)array->count * array->size[part];
        const unsigned char *content = (const unsigned char *)array->content[part];
        size_t i;
        if (bytes)
            host_fetch(array->content[part], array->memory[part], bytes);
        for (i = 0; i < bytes; ++i)
            sum = (sum ^ content[i]) * 1099511628211ull;
        if (file && fwrite(content, 1, bytes, file) != bytes)
            host_fail(name, "cannot be written");
    }
    if (file && fclose(file))
        host_fail(name, "cannot be written");
    printf("%s: %lld elements, checksum %016llx\n", array->name, array->count, sum);
}

/* sizes to the arrays' lengths and the grid */
static void host_measure(
    const long long *host_sizes, const long long *host_numbers, long long *host_grid)
{
% for i, size in enumerate(signature.sizes):
    const long long ${size} = host_sizes[${i}];
% endfor
% for i, p in enumerate(numbers):
% if p.is_plain:
    const long long ${p.name} = host_numbers[${i}];
% endif
% endfor
% for value, number in values.items():
    const long long ${value} = ${number};
% endfor
% for name_ in [*signature.sizes, *(p.name for p in numbers if p.is_plain), *values]:
    (void)${name_};
% endfor
    (void)host_sizes, (void)host_numbers, (void)host_grid;
% for i, p in enumerate(arrays):
    host_arrays[${i}].count = ${" * ".join(f"({size.c_text()})" for size in p.shape)};
% endfor
% for one, size in memory.dynamic:
    host_dynamic += (size_t)((${one} * ${size.c_text()} + ${alignment - 1}) / ${alignment} * ${alignment});
% endfor
% for axis, size in enumerate(axes):
    host_grid[${axis}] = ${f"({size.c_text()} + {block[axis] - 1}) / {block[axis]}" if of_threads else size.c_text()};
% endfor
}

static const char *const host_known[] = {
    "grid", "device",
% for name_ in [*signature.sizes, *(p.name for p in numbers), *(p.name for p in arrays if p.way != "out"), *(p.name + ".to" for p in arrays if p.written)]:
    "${name_}",
% endfor
};

int main(int argc, char **argv)
{
    const size_t block[3] = {${", ".join(map(str, block))}};
    long long sizes[${max(len(signature.sizes), 1)}] = {0}, numbers[${max(len(numbers), 1)}] = {0};
    long long grid[3] = {1, 1, 1};
    void *arguments[${max(count, 1)}];
    size_t bytes[${max(count, 1)}];
    int i, k = 0;
    const char *text;
% for i, p in enumerate(numbers):
% if p.is_plain:
    ${whole[p.kind]} number${i};
% else:
% for limb in range(words(p).words):
    ${ends[words(p).word]} number${i}_${limb};
% endfor
% endif
% endfor
    host_count = argc;
    host_given = argv;
    for (i = 1; i < argc; ++i) {
        size_t j, known = 0;
        const char *end = strchr(argv[i], '=');
        for (j = 0; end && j < sizeof host_known / sizeof *host_known; ++j)
            known |= strlen(host_known[j]) == (size_t)(end - argv[i])
                && !strncmp(host_known[j], argv[i], (size_t)(end - argv[i]));
        if (!known)
            host_fail(argv[i], "is no argument; the head of the source lists them");
    }
    host_device = (int)host_whole("device", -1, 0, 1000);
% for i, size in enumerate(signature.sizes):
    sizes[${i}] = host_whole("${size}", 64, 0, 0x7fffffffffffffffLL);
% endfor
% for i, p in enumerate(numbers):
% if p.is_plain and p.kind == "uint64":
    text = host_option("${p.name}");
    number${i} = text ? strtoull(text, 0, 0) : 1;
    numbers[${i}] = (long long)number${i};
% elif p.is_plain:
    numbers[${i}] = host_whole("${p.name}", 1, ${"0, 0xffffffffLL" if p.kind == "uint32" else "-0x7fffffffLL - 1, 0x7fffffffLL" if p.kind == "int32" else "-0x7fffffffffffffffLL - 1, 0x7fffffffffffffffLL"});
    number${i} = (${whole[p.kind]})numbers[${i}];
% else:
% for limb in range(words(p).words):
    number${i}_${limb} = (${ends[words(p).word]})host_word("${p.name}", ${limb});
% endfor
% endif
% endfor
% if not axes:
    grid[0] = 0;
% endif
    host_measure(sizes, numbers, grid);
    text = host_option("grid");
    for (i = 0; text && i < 3; ++i) {
        char *end;
        grid[i] = strtoll(text, &end, 0);
        if (end == text || grid[i] < 0 || (*end && *end != ','))
            host_fail("grid", "one to three numbers of blocks are needed, with commas between");
        text = *end ? end + 1 : 0;
    }
% if not axes:
    if (!host_option("grid"))
        host_fail("grid", "is needed: blocks along each axis, such as grid=16,1,1");
% endif
    host_start();
% for i, _ in enumerate(arrays):
    host_fill(&host_arrays[${i}]);
% endfor
<% which = {p.name: i for i, p in enumerate(arrays)}; at = {p.name: i for i, p in enumerate(numbers)} %>
% for p in signature.parameters:
% if p.is_array:
    for (i = 0; i < ${len(parts(p))}; ++i, ++k) {
        arguments[k] = &host_arrays[${which[p.name]}].memory[i];
        bytes[k] = sizeof(void *);
    }
% else:
% for variable in ([f"number{at[p.name]}"] if p.is_plain else [f"number{at[p.name]}_{limb}" for limb in range(words(p).words)]):
    arguments[k] = &${variable};
    bytes[k++] = sizeof ${variable};
% endfor
% endif
% endfor
    for (i = 0; i < ${len(signature.sizes)}; ++i, ++k) {
        arguments[k] = &sizes[i];
        bytes[k] = sizeof sizes[i];
    }
    if (grid[0] && grid[1] && grid[2])
        host_launch(0, grid, block, arguments, bytes, k, host_dynamic);
% for i, p in enumerate(arrays):
% if p.written:
    host_show(&host_arrays[${i}]);
% endif
% endfor
    return 0;
}
