## The kernels of a program: texts, which are modules, and (module, name) of each kernel.
## quoted: a line as a string of C.
<%!
    def quoted(line):
        return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'
%>
<%def name="kernels_of(part, texts, kernels)">\
% if part.embedded:
% for m, text in enumerate(texts):
static const char *const host_source${m}[] = {
% for line in text.splitlines():
    ${quoted(line)},
% endfor
};
% endfor
static const struct host_module {
    const char *const *lines;
    unsigned count;
} host_modules[] = {
% for m, text in enumerate(texts):
    {host_source${m}, ${len(text.splitlines())}},
% endfor
};
static const struct host_entry {
    int module;
    const char *name;
} host_entries[] = {
% for m, name in kernels:
    {${m}, "${name}"},
% endfor
};
#define HOST_MODULES ${len(texts)}
#define HOST_KERNELS ${len(kernels)}
% else:
% for m, text in enumerate(texts):
% if len(texts) > 1:
namespace module${m} { // modules have kernels of one name, which C's linkage would not tell apart
${text.replace('extern "C" ', "")}
}
% else:
${text}
% endif
% endfor
static const void *const host_kernels[] = {
% for m, name in kernels:
    (const void *)${f"module{m}::" if len(texts) > 1 else ""}${name},
% endfor
};
% endif
</%def>
