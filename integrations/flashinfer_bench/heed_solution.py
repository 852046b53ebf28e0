"""heed as solutions of flashinfer-bench: one file, with an entry point for each form of its definitions.

scripts/flashinfer_bench.py puts it into the suite's JSON. Outputs are written to the given tensors. The suite's LSEs
are to base 2, heed's are natural. A sequence without keys has the output 0 and the LSE -inf. No call synchronizes with
the device, unless a page table would be larger than TABLE_BYTES. Offsets (..._indptr) begin at 0.
"""

import functools
import math

import torch

import heed

LOG2_E = math.log2(math.e)
TABLE_BYTES = 1 << 28


@functools.lru_cache(maxsize=16)
def steps(count, dtype, device):
    return torch.arange(count, dtype=dtype, device=device)


def page_table(indptr, indices):
    """Returns the pages of each sequence as a row. The host does not have the number of pages of the longest sequence,
    so a row has room for all. Entries after a sequence's pages are neither written nor read. The last row gets indices
    that belong to no sequence."""
    batch, width = indptr.numel() - 1, indices.numel()
    indices = indices.to(torch.int32)
    if batch == 1:
        return indices.view(1, -1)
    if 4 * (batch + 1) * width > TABLE_BYTES:
        indices = indices[: int(indptr[-1])]
        width = max(int(indptr.diff().max()), 1)
    at = steps(indices.numel(), indptr.dtype, indptr.device)
    row = torch.searchsorted(indptr[1:], at, right=True)
    table = indices.new_empty(batch + 1, width)
    table[row, at - indptr[row]] = indices
    return table[:batch]


def key_counts(indptr, page, last):
    """Returns the number of keys of each sequence; @last are those in its last page, None means a full page."""
    pages = indptr.diff()
    if last is not None:
        pages = torch.add(last[: pages.numel()] - page, pages, alpha=page).clamp_(min=0)
    elif page > 1:
        pages = pages * page
    return pages.to(torch.int32)


def attend(q, k, v, sm_scale, output, lse, **words):
    """Computes heed.attention() into @output and @lse; queries are packed if @words have cu_seqlens_q, else one
    each."""
    if not q.numel():
        return
    if not k.numel() or words.get("table", k).numel() == 0:
        output.zero_()
        lse.fill_(-math.inf)
        return
    if "cu_seqlens_q" in words:
        found = heed.attention(q, k, v, causal="bottom-right", scale=float(sm_scale), return_lse=True, out=output,
                               **words)[1].t()
    else:
        found = heed.attention(q.unsqueeze(1), k, v, scale=float(sm_scale), return_lse=True, out=output.unsqueeze(1),
                               **words)[1].squeeze(2)
    torch.mul(found, LOG2_E, out=lse)


def paged(q, k, v, kv_indptr, kv_indices, last, sm_scale, output, lse, **words):
    attend(q, k, v, sm_scale, output, lse, table=page_table(kv_indptr, kv_indices),
           lengths=key_counts(kv_indptr, k.shape[1], last), **words)


def mla_paged(q_nope, q_pe, ckv, kpe, kv_indptr, kv_indices, last, sm_scale, output, lse, **words):
    """The two parts of a key are in separate tensors; heed needs them as one vector, whose first elements are the
    values. So the keys of all sequences are copied, one after another."""
    page, dim_v = ckv.shape[1], ckv.shape[2]
    keys = ckv.new_empty(kv_indices.numel(), page, dim_v + kpe.shape[2])
    torch.index_select(ckv, 0, kv_indices, out=keys[..., :dim_v])
    torch.index_select(kpe, 0, kv_indices, out=keys[..., dim_v:])
    if last is not None:
        words["lengths"] = key_counts(kv_indptr, page, last)
    cu_seqlens_k = kv_indptr * page if page > 1 else kv_indptr
    attend(torch.cat((q_nope, q_pe), -1), keys.view(-1, 1, keys.shape[2]), None, sm_scale, output, lse, dim_v=dim_v,
           cu_seqlens_k=cu_seqlens_k, **words)


# ---- Entry points: the arguments are the definition's inputs, then its outputs ----


def gqa_paged_decode(q, k_cache, v_cache, kv_indptr, kv_indices, sm_scale, output, lse):
    paged(q, k_cache, v_cache, kv_indptr, kv_indices, None, sm_scale, output, lse)


def gqa_paged_decode_last(q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, sm_scale, output, lse):
    paged(q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, sm_scale, output, lse)


def gqa_paged_prefill(q, k_cache, v_cache, qo_indptr, kv_indptr, kv_indices, sm_scale, output, lse):
    paged(q, k_cache, v_cache, kv_indptr, kv_indices, None, sm_scale, output, lse, cu_seqlens_q=qo_indptr)


def gqa_paged_prefill_last(q, k_cache, v_cache, qo_indptr, kv_indptr, kv_indices, kv_last_page_len, sm_scale, output,
                           lse):
    paged(q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, sm_scale, output, lse, cu_seqlens_q=qo_indptr)


def ragged_prefill(q, k, v, qo_indptr, kv_indptr, sm_scale, output, lse):
    attend(q, k, v, sm_scale, output, lse, cu_seqlens_q=qo_indptr, cu_seqlens_k=kv_indptr)


def mla_paged_decode(q_nope, q_pe, ckv_cache, kpe_cache, kv_indptr, kv_indices, sm_scale, output, lse):
    mla_paged(q_nope, q_pe, ckv_cache, kpe_cache, kv_indptr, kv_indices, None, sm_scale, output, lse)


def mla_paged_decode_last(q_nope, q_pe, ckv_cache, kpe_cache, kv_indptr, kv_indices, kv_last_page_len, sm_scale, output,
                          lse):
    mla_paged(q_nope, q_pe, ckv_cache, kpe_cache, kv_indptr, kv_indices, kv_last_page_len, sm_scale, output, lse)


def mla_paged_prefill(q_nope, q_pe, ckv_cache, kpe_cache, qo_indptr, kv_indptr, kv_indices, sm_scale, output, lse):
    mla_paged(q_nope, q_pe, ckv_cache, kpe_cache, kv_indptr, kv_indices, None, sm_scale, output, lse,
              cu_seqlens_q=qo_indptr)


def mla_paged_prefill_last(q_nope, q_pe, ckv_cache, kpe_cache, qo_indptr, kv_indptr, kv_indices, kv_last_page_len,
                           sm_scale, output, lse):
    mla_paged(q_nope, q_pe, ckv_cache, kpe_cache, kv_indptr, kv_indices, kv_last_page_len, sm_scale, output, lse,
              cu_seqlens_q=qo_indptr)
