/*
 * config_specs.c - problems and devices for which every config is tried
 */
#include "config_specs.h"

const char *const config_specs[CONFIG_SPECS] = {
    "b4 h16 s4096 d32 f16 causal",
    "b4 h16 s4096 d64 f16",
    "b4 h16 s4096 d64 f16 causal",
    "b4 h16 s4096 d96 f16 causal",
    "b4 h16 s4096 d128 f16",
    "b4 h16 s4096 d128 f16 causal",
    "b4 h16 s4096 d160 f16 causal",
    "b4 h16 s4096 d192 f16 causal",
    "b4 h16 s4096 d224 f16 causal",
    "b4 h16 s4096 d256 f16",
    "b4 h16 s4096 d256 f16 causal",
    "b4 h16 s4096 d64 bf16 causal",
    "b4 h16 s4096 d128 bf16",
    "b4 h16 s4096 d192/128 bf16 causal",
    "b4 h16 s4096 d80 bf16 causal",
    "b4 h16 s4096 d64 f16 causal acc=f16",
    "b4 h16 s4096 d64 f32",
    "b4 h16 s4096 d64 f32 causal",
    "b4 h16 s4096 d128 f32",
    "b4 h16 s4096 d128 f32 causal alibi sinks",
    "b4 h16 s4096 d256 f32 causal",
    "b4 h16 s4096 d512 f32 causal",
    "b4 h16 s4096 d192/128 f32 shared causal",
    "b4 h16 s4096 d576/512 bf16 shared causal",
    "b4 h16 s4096 d512/128 f16",
    "b4 h16 s4096 d1024 f16 causal",
    "b4 h16 s4096 d256 bf16 causal softcap=50",
    "b4 h16 s4096 d128 bf16 causal softcap=30",
    "b4 h16 s4096 d64 bf16 causal softcap=30",
    "b4 h16 s4096 d128 bf16 causal alibi sinks",
    "b4 h16 s4096 d64 bf16 bias=bf16",
    "b4 h16 s4096 d64 bf16 shown=bytes:h",
    "b4 h16 s4096 d128 f16 shown=bits causal",
    "b4 h16 s4096 d128 bf16 causal window=1024: starts softcap=30 bias=f16:hq",
    ("b4 h16 s4096 d128 bf16 causal array=slope:f32:16 array=doc:i32:4x4096 "
     "score=s*0.5+tanh(s)-slope[head]*float(q-k)*0.25 visible=doc[batch,q]==doc[batch,k]"),
};

const int config_archs[CONFIG_ARCHS] = { 80, 89, 90 };
