## What a user's kernels need before them: arithmetic of their formats, constants, functions.
## arithmetics: (Writer, networks) of each format; mixed: functions of complex and real values;
## words: the module; p: its platform
<%namespace file="/arithmetic/arithmetic.mako" import="arithmetic"/>
<%namespace name="lanes" file="/kernels/lanes.mako"/>
<%namespace name="atomics" file="/kernels/atomics.mako"/>
<%namespace name="bytes" file="/kernels/bytes.mako"/>
<%
    parts = {
        "shuffle": lanes.shuffle,
        "warp_reduce": lanes.warp_reduce,
        "warp_scan": lanes.warp_scan,
        "atomic": atomics.atomic,
        "permute_bytes": bytes.permute_bytes,
        "dot4": bytes.dot4,
    }
    used = {part for part, _ in words.functions.values()}
%>
% for extension in words.extensions:
${extension}
% endfor
% for w, networks in arithmetics:
${arithmetic(w, networks)}
% endfor
% for one in mixed:
${p.overloaded}${p.function} ${one.gives} ${one.name}(const ${one.takes[0]} x, const ${one.takes[1]} y)
{
    return ${one.call};
}

% endfor
% if any(m.dynamic for m in words.memory.values()) and p.dynamic_shared:
${p.dynamic_shared}

% endif
% for declared in words.constants.values():
${declared}

% endfor
% if "shuffle" in used:
${lanes.exchange(words)}
% endif
% for name, (part, facts) in words.functions.items():
${parts[part](words, name, **facts)}
% endfor
